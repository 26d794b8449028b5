// Rule "block": another number of threads a CTA, for kernels that ask %ntid how many they are. The code stays as it is; what
// changes is how registers, shared memory and the grid fill the machine.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "analysis/registers.h"
#include "ptx/printer.h"
#include "rewrite/finish.h"
#include "rewrite/flow.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::opcode_of;

std::optional<int64_t> constant(const launch::Expression& expression) {
  auto value = expression.evaluate([](std::string_view) { return std::nullopt; });
  return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
}

// "ceildiv(X, 1024)": X and 1024.
std::optional<std::pair<std::string, int64_t>> ceildiv(const std::string& text) {
  if (!text.starts_with("ceildiv(") || !text.ends_with(")")) return std::nullopt;
  int depth = 0;
  size_t comma = std::string::npos;
  for (size_t i = 7; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0 && i + 1 < text.size()) return std::nullopt;
    if (text[i] == ',' && depth == 1) comma = i;
  }
  if (comma == std::string::npos) return std::nullopt;
  auto number = text.substr(comma + 1, text.size() - comma - 2);
  number.erase(0, number.find_first_not_of(' '));
  if (number.empty() || number.size() > 9 || !std::all_of(number.begin(), number.end(), ::isdigit)) return std::nullopt;
  return std::pair{text.substr(8, comma - 8), std::stol(number)};
}

bool reads_cta_size(const ptx::Function& entry) {
  const auto specials = isa::special_registers();
  for (const auto& statement : entry.body)
    if (const auto* instruction = statement.instruction())
      for (const auto& operand : instruction->operands)
        if (operand.kind == ptx::Operand::Kind::special && specials[operand.id].name == "%ntid" &&
            operand.component == 0)
          return true;
  return false;
}

// Numbers that may be the CTA's size in disguise.
bool has_size_built_in(const ptx::Function& entry, int64_t size) {
  for (const auto& statement : entry.body)
    if (const auto* instruction = statement.instruction())
      for (const auto& operand : instruction->operands) {
        if (operand.kind != ptx::Operand::Kind::integer) continue;
        if (operand.bits == static_cast<uint64_t>(size)) return true;
        if (opcode_of(*instruction) == "shl" && operand.bits < 32 && int64_t{1} << operand.bits == size) return true;
      }
  return false;
}

// Is the element's index made of the CTA's number times its size? Then the grid has to follow.
bool indexes_by_cta_size(const Flow& flow) {
  auto ctaid = flow.values.special_atom("%ctaid", 0), ntid = flow.values.special_atom("%ntid", 0);
  if (!ctaid || !ntid) return false;
  for (uint32_t s = 0; s < flow.function.body.size(); ++s) {
    const auto* instruction = flow.function.body[s].instruction();
    if (!instruction) continue;
    for (uint32_t reg : analysis::register_use(*instruction).writes)
      if (auto value = flow.values.written(s, reg))
        for (const auto& term : flow.values.value(*value).terms)
          if (std::count(term.factors.begin(), term.factors.end(), *ctaid) &&
              std::count(term.factors.begin(), term.factors.end(), *ntid))
            return true;
  }
  return false;
}

bool exchanges(const ptx::Function& entry) {
  for (const auto& statement : entry.body)
    if (const auto* instruction = statement.instruction(); instruction && instruction->form.row) {
      const auto& e = instruction->form.row->effects;
      if (e.barrier || e.warp_sync || e.atomic) return true;
    }
  return false;
}

// Shared arrays indexed by the thread must have room for all of them.
std::string check_shared(const Flow& flow, int64_t threads) {
  for (const auto& access : flow.accesses) {
    if (access.space != isa::Space::shared || !access.thread_stride || *access.thread_stride <= 0) continue;
    uint64_t bytes = 0;
    for (const auto& variable : flow.function.variables)
      if (access.variable && variable.name == *access.variable) bytes = variable.bytes();
    if (static_cast<uint64_t>(*access.thread_stride * threads) > bytes)
      return fmt::format("shared memory has no room for {} threads", threads);
  }
  return "";
}

class Block final : public Rule {
 public:
  std::string_view name() const override { return "block"; }
  Family family() const override { return Family::launch; }
  std::string_view description() const override { return "launches CTAs of another size"; }

  std::vector<Choice> choices(const Subject& subject) const override {
    std::vector<Choice> found;
    if (subject.plan->launches.size() != 1 || subject.plan->launches[0].block.empty()) return found;
    auto now = constant(subject.plan->launches[0].block[0]);
    if (!now || *now <= 0) return found;
    for (int64_t threads : {*now * 2, *now / 2, *now * 4})
      if (threads >= 64 && threads <= 1024 && threads % 32 == 0) found.push_back({std::to_string(threads), threads});
    return found;
  }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    launch::Plan plan = *subject.plan;
    if (plan.launches.size() != 1) return refusal("RW0030", "a plan of several launches is left alone");
    auto& launch = plan.launches[0];
    const auto* entry = subject.module->entry(launch.entry);
    auto now = launch.block.empty() ? std::nullopt : constant(launch.block[0]);
    if (!entry || !now) return refusal("RW0031", "the plan's block is not a constant");
    if (auto why = check(subject, *entry, *now, choice.value); !why.empty()) return refusal("RW0032", why);
    Flow flow(*entry);
    if (!flow.complete()) return refusal("RW0032", "the kernel is too large to look at");
    if (auto why = check_shared(flow, choice.value); !why.empty()) return refusal("RW0032", why);
    if (indexes_by_cta_size(flow)) {
      auto grid = launch.grid.empty() ? std::nullopt : ceildiv(launch.grid[0].text());
      if (!grid || grid->second % *now != 0)
        return refusal("RW0033", "how the grid follows from the block is not plain");
      auto follows =
          launch::Expression::parse(fmt::format("ceildiv({}, {})", grid->first, grid->second / *now * choice.value));
      if (!follows.ok()) return follows.findings();
      launch.grid[0] = *follows;
    }
    launch.block[0] = launch::Expression::constant(choice.value);
    Rewritten result;
    result.name = "block-" + choice.name;
    result.idea = fmt::format("CTAs of {} threads instead of {}", choice.value, *now);
    return finish(*subject.module, &plan, std::move(result));
  }

 private:
  static std::string check(const Subject& subject, const ptx::Function& entry, int64_t now, int64_t threads) {
    const auto& launch = subject.plan->launches[0];
    if (!subject.plan->lets.empty() || !subject.plan->scratch.empty() || constant(launch.shared) != 0)
      return "what else in the plan follows from the block is not plain";
    for (size_t i = 1; i < launch.block.size(); ++i)
      if (constant(launch.block[i]) != 1) return "the block has more than one dimension";
    if (!launch.cluster.empty()) return "clusters are left alone";
    if (!entry.directive(".reqntid").empty()) return "the kernel demands its CTA's size";
    if (auto most = entry.directive(".maxntid"); !most.empty() && most[0] < static_cast<uint64_t>(threads))
      return fmt::format("the kernel allows {} threads at most", most[0]);
    if (subject.constraints.max_block_threads && *subject.constraints.max_block_threads < threads)
      return fmt::format("the brief allows {} threads at most", *subject.constraints.max_block_threads);
    if (!reads_cta_size(entry)) return "the kernel does not ask for its CTA's size";
    if (has_size_built_in(entry, now)) return fmt::format("the kernel may have its CTA's {} threads built in", now);
    if (!may_change_rounding(subject) && exchanges(entry))
      return "threads exchange values in another order then, which the task's tolerance forbids";
    return "";
  }
};

}  // namespace

const Rule* block_rule() {
  static const Block rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
