#include "rewrite/rules.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace ptxlab::rewrite {

// The one place that knows every rule, in the order in which a proposer tries them.
std::span<const Rule* const> all_rules() {
  static const std::array rules{vectorise_rule(), unswitch_rule(), unroll_rule(), promote_rule(),  invariant_rule(),
                                address_rule(),   narrow_rule(),   cse_rule(),    dead_rule(),     contract_rule(),
                                readonly_rule(),  cache_rule(),    block_rule(),  registers_rule()};
  return rules;
}

const Rule* rule_named(std::string_view name) {
  for (const Rule* rule : all_rules())
    if (rule->name() == name) return rule;
  return nullptr;
}

base::Finding refusal(std::string code, std::string message, std::string hint) {
  return base::error(code, std::move(message), std::move(hint));
}

bool may_change_rounding(const Subject& subject) {
  if (!subject.task || subject.task->tolerances.empty()) return false;
  for (const auto& argument : subject.task->arguments) {
    if (!argument.output()) continue;
    auto it = subject.task->tolerances.find(argument.name);
    if (it == subject.task->tolerances.end()) return false;
    switch (it->second.kind) {
      case task::Tolerance::Kind::exact:
      case task::Tolerance::Kind::unordered: return false;
      case task::Tolerance::Kind::floating:
      case task::Tolerance::Kind::absolute: break;
    }
  }
  return true;
}

std::vector<std::string> launched_entries(const Subject& subject) {
  std::vector<std::string> names;
  for (const auto& launch : subject.plan->launches)
    if (const auto* entry = subject.module->entry(launch.entry); entry && entry->has_body)
      if (std::find(names.begin(), names.end(), entry->name) == names.end()) names.push_back(entry->name);
  return names;
}

}  // namespace ptxlab::rewrite
