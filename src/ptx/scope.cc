#include "ptx/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "isa/special_register.h"

namespace ptxlab::ptx {
namespace {

constexpr uint32_t kSmall = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<Numbered> numbered(std::string_view name) {
  size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1])) --at;
  if (at == name.size() || at == 0) return std::nullopt;
  uint64_t number = 0;
  for (size_t i = at; i < name.size(); ++i) {
    number = number * 10 + static_cast<uint64_t>(name[i] - '0');
    if (number > 0xffffffffu) return std::nullopt;
  }
  return Numbered{name.substr(0, at), static_cast<uint32_t>(number)};
}

void Scope::open() { marks_.push_back(undo_.size()); }

void Scope::close() {
  size_t mark = marks_.back();
  marks_.pop_back();
  for (; undo_.size() > mark; undo_.pop_back()) {
    const Undo& undo = undo_.back();
    if (undo.bank) {
      banks_[undo.name].pop_back();
      continue;
    }
    names_[undo.name].pop_back();
    if (auto split = numbered(undo.name)) {
      numbered_[split->base].pop_back();
      --numbered_count_;
    }
  }
}

void Scope::declare(std::string_view name, Binding binding, Span span) {
  auto& entries = names_[name];
  bool taken = !entries.empty() && entries.back().depth == depth();
  auto split = numbered(name);
  if (!taken && split) {
    Bank* bank = bank_here(split->base);
    taken = bank && bank->depth == depth() && split->number < bank->count;
  }
  if (taken) {
    report_.error(Code::duplicate_declaration, span, quoted(name) + " is declared twice in this scope",
                  "rename one, or put it in braces of its own");
    return;
  }
  entries.push_back({depth(), binding});
  undo_.push_back({name, false});
  if (split) {
    numbered_[split->base].emplace_back(depth(), split->number);
    ++numbered_count_;
  }
  if (binding.kind == Binding::Kind::reg && name[0] == '%' && isa::special_register_named(name)) {
    report_.warning(Code::hides_special_register, span, "this register hides the special register " + quoted(name),
                    "ptxas takes it, and then misreads uses of the special register");
  }
}

bool Scope::here(std::string_view name) const {
  auto found = names_.find(name);
  return found != names_.end() && !found->second.empty() && found->second.back().depth == depth();
}

Scope::Bank* Scope::bank_here(std::string_view base) {
  auto found = banks_.find(base);
  return found == banks_.end() || found->second.empty() ? nullptr : &found->second.back();
}

void Scope::declare_bank(std::string_view base, const RegisterDeclaration& declaration, uint32_t count, Span span) {
  Bank* other = bank_here(base);
  bool taken = other && other->depth == depth() && count > 0 && other->count > 0;
  if (auto singles = numbered_.find(base); !taken && singles != numbered_.end()) {
    taken = std::any_of(singles->second.begin(), singles->second.end(),
                        [&](const auto& single) { return single.first == depth() && single.second < count; });
  }
  if (taken) {
    report_.error(Code::duplicate_declaration, span,
                  fmt::format("the bank {} declares a register that this scope already has", quoted(base)),
                  "give every register of a scope one declaration");
    return;
  }
  banks_[base].push_back({depth(), count, declaration.type, declaration.vector, span, {}, {}});
  undo_.push_back({base, true});
}

std::optional<uint32_t> Scope::member(Bank& bank, std::string_view base, uint32_t number) {
  if (number >= bank.count) return std::nullopt;
  if (number < bank.small.size() && bank.small[number]) return bank.small[number] - 1;
  if (auto found = bank.large.find(number); found != bank.large.end()) return found->second - 1;
  // Dense from 0 up as compilers count; a lone %r60000 does not pay for its predecessors.
  bool dense = number < 2 * bank.small.size() + kSmall;
  if (dense && bank.small.size() <= number) bank.small.resize(std::max<size_t>(number + 1, 2 * bank.small.size()));
  function_.registers.push_back({fmt::format("{}{}", base, number), bank.type, bank.vector, bank.declared});
  auto index = static_cast<uint32_t>(function_.registers.size());
  (dense ? bank.small[number] : bank.large[number]) = index;
  return index - 1;
}

std::optional<Binding> Scope::lookup(std::string_view name) {
  bool digit_last = is_digit(name.back());
  const Entry* single = nullptr;
  if (!digit_last || numbered_count_ > 0) {
    auto found = names_.find(name);
    if (found != names_.end() && !found->second.empty()) single = &found->second.back();
  }
  if (digit_last) {
    if (auto split = numbered(name)) {
      Bank* bank = bank_here(split->base);
      if (bank && (!single || bank->depth > single->depth)) {
        if (auto index = member(*bank, split->base, split->number)) return Binding{Binding::Kind::reg, *index};
        // A bank of an outer scope may still reach that far.
        auto& all = banks_[split->base];
        for (size_t i = all.size(); i-- > 0 && all.size() - i < 64 && (!single || all[i].depth > single->depth);)
          if (auto index = member(all[i], split->base, split->number)) return Binding{Binding::Kind::reg, *index};
      }
    }
  }
  if (!single) return std::nullopt;
  return single->binding;
}

void Scope::report_unknown(std::string_view name, Span span) {
  auto split = numbered(name);
  if (Bank* bank = split ? bank_here(split->base) : nullptr) {
    report_.error(
        Code::beyond_bank, span,
        fmt::format("bank {} has only {} registers, {} is beyond", quoted(split->base), bank->count, quoted(name)),
        fmt::format("declare {}<{}>", split->base, uint64_t{split->number} + 1));
    return;
  }
  std::string hint;
  if (name.size() < 64 && name[0] == '%') {
    std::vector<std::string_view> known;
    for (const auto& [base, banks] : banks_)
      if (!banks.empty() && known.size() < 1000) known.push_back(base);
    for (const auto& [single, entries] : names_)
      if (!entries.empty() && known.size() < 1000) known.push_back(single);
    for (const auto& special : isa::special_registers()) known.push_back(special.name);
    std::sort(known.begin(), known.end());
    auto near = base::nearest(name, known);
    // The same number of another bank, where that is nearer; the one letter of %f says nothing about %r.
    if (split && split->base.size() > 2) {
      auto other = base::nearest(split->base, known);
      if (!other.empty()) other += std::to_string(split->number);
      bool nearer = near.empty() || base::edit_distance(other, name) < base::edit_distance(near, name);
      if (!other.empty() && nearer) near = other;
    }
    // Nor does it say so of %p2, however near its name is to %f2.
    const auto nearby = numbered(near);
    if (split && nearby && split->base.size() == 2 && nearby->base.size() == 2 && split->base != nearby->base)
      near.clear();
    if (!near.empty()) hint = "did you mean " + near + "?";
  }
  if (hint.empty()) hint = "declare it with .reg";
  report_.error(Code::undeclared_register, span, "register " + quoted(name) + " is not declared", std::move(hint));
}

void LabelScopes::open(uint32_t position) {
  open_.push_back(static_cast<uint32_t>(scopes_.size()));
  scopes_.push_back({position, UINT32_MAX});
}

void LabelScopes::close(uint32_t position) {
  scopes_[open_.back()].end = position;
  open_.pop_back();
}

void LabelScopes::define(std::string_view name, uint32_t label, uint32_t) {
  auto [found, added] = index_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (added) names_.emplace_back(name, Name{});
  names_[found->second].second.definitions.push_back({open_.back(), label});
}

void LabelScopes::use(std::string_view name, Operand* operand, uint32_t position) {
  auto [found, added] = index_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (added) names_.emplace_back(name, Name{});
  names_[found->second].second.uses.push_back({operand, position});
}

void LabelScopes::resolve(Function& function, Report& report) {
  for (auto& [spelling, name] : names_) resolve(name, spelling, function, report);
}

// Uses come in the order of the text. Definitions are put in the order of their scopes' beginnings; walking both, the
// scopes around a use form a stack whose top is the innermost definition.
void LabelScopes::resolve(Name& name, std::string_view spelling, Function& function, Report& report) {
  auto& definitions = name.definitions;
  std::stable_sort(definitions.begin(), definitions.end(),
                   [](const Definition& a, const Definition& b) { return a.scope < b.scope; });
  for (size_t i = 1; i < definitions.size(); ++i) {
    if (definitions[i].scope != definitions[i - 1].scope) continue;
    report.error(Code::duplicate_label, function.labels[definitions[i].label].span,
                 "label " + quoted(spelling) + " is defined twice in this scope", "rename one of the two");
  }
  std::vector<Definition> around;
  size_t next = 0;
  for (const Use& use : name.uses) {
    for (; next < definitions.size() && scopes_[definitions[next].scope].begin <= use.position; ++next) {
      while (!around.empty() && scopes_[around.back().scope].end < scopes_[definitions[next].scope].begin)
        around.pop_back();
      around.push_back(definitions[next]);
    }
    while (!around.empty() && scopes_[around.back().scope].end < use.position) around.pop_back();
    Operand& operand = *use.operand;
    if (!around.empty()) {
      operand.kind = Operand::Kind::label;
      operand.id = around.back().label;
      continue;
    }
    if (operand.kind == Operand::Kind::label) {  // a branch target that is nowhere
      operand.id = static_cast<uint32_t>(function.labels.size());
      function.labels.push_back({std::string(spelling), -1, operand.span});
      std::vector<std::string_view> known;
      for (const auto& [other, entry] : names_)
        if (!entry.definitions.empty() && known.size() < 1000) known.push_back(other);
      auto near = spelling.size() < 64 ? base::nearest(spelling, known) : "";
      report.error(Code::undefined_label, operand.span, "label " + quoted(spelling) + " is not defined here",
                   !definitions.empty() ? "a label inside braces is not visible outside of them"
                   : near.empty()       ? "define it with " + std::string(spelling.substr(0, 60)) + ":"
                                        : "did you mean " + near + "?");
      continue;
    }
    report.error(Code::undeclared_name, operand.span, quoted(spelling) + " is not declared",
                 "variables and functions are declared before their use");
  }
}

}  // namespace ptxlab::ptx
