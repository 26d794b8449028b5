#include "analysis/affine.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxlab::analysis {
namespace {

// Beyond this a polynomial says nothing to anybody.
constexpr size_t kMostTerms = 24;
constexpr size_t kMostFactors = 4;

std::optional<ValueId> look_up(const std::vector<std::pair<uint32_t, ValueId>>& bindings, uint32_t reg) {
  for (const auto& [r, value] : bindings)
    if (r == reg) return value;
  return std::nullopt;
}

std::optional<ValueId> look_up_sorted(const std::vector<std::pair<uint32_t, ValueId>>& bindings, uint32_t reg) {
  auto it = std::lower_bound(bindings.begin(), bindings.end(), std::pair<uint32_t, ValueId>{reg, 0});
  if (it != bindings.end() && it->first == reg) return it->second;
  return std::nullopt;
}

}  // namespace

int64_t Affine::coefficient(AtomId atom) const {
  for (const auto& term : terms)
    if (term.factors.size() == 1 && term.factors[0] == atom) return term.coefficient;
  return 0;
}

bool Affine::mentions(AtomId atom) const {
  return std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
    return std::find(term.factors.begin(), term.factors.end(), atom) != term.factors.end();
  });
}

std::optional<Affine> add(const Affine& a, const Affine& b) {
  Affine sum;
  if (__builtin_add_overflow(a.constant, b.constant, &sum.constant)) return std::nullopt;
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].factors < b.terms[j].factors)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].factors < a.terms[i].factors) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      Term term = a.terms[i];
      if (__builtin_add_overflow(term.coefficient, b.terms[j].coefficient, &term.coefficient)) return std::nullopt;
      if (term.coefficient != 0) sum.terms.push_back(std::move(term));
      ++i, ++j;
    }
  }
  if (sum.terms.size() > kMostTerms) return std::nullopt;
  return sum;
}

std::optional<Affine> scale(const Affine& a, int64_t factor) {
  Affine product;
  if (factor == 0) return product;
  product = a;
  if (__builtin_mul_overflow(a.constant, factor, &product.constant)) return std::nullopt;
  for (auto& term : product.terms)
    if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient)) return std::nullopt;
  return product;
}

std::optional<Affine> multiply(const Affine& a, const Affine& b) {
  if (b.is_constant()) return scale(a, b.constant);
  if (a.is_constant()) return scale(b, a.constant);
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > 4 * kMostTerms) return std::nullopt;
  std::optional<Affine> sum = scale(a, b.constant);
  for (const auto& right : b.terms) {
    Affine part;
    auto push = [&](std::vector<AtomId> factors, int64_t coefficient) {
      if (coefficient == 0) return true;
      if (factors.size() + right.factors.size() > kMostFactors) return false;
      factors.insert(factors.end(), right.factors.begin(), right.factors.end());
      std::sort(factors.begin(), factors.end());
      Term term{std::move(factors), 0};
      if (__builtin_mul_overflow(coefficient, right.coefficient, &term.coefficient)) return false;
      part.terms.push_back(std::move(term));
      return true;
    };
    if (!push({}, a.constant)) return std::nullopt;
    for (const auto& left : a.terms)
      if (!push(left.factors, left.coefficient)) return std::nullopt;
    std::sort(part.terms.begin(), part.terms.end());
    if (sum) sum = add(*sum, part);
    if (!sum) return std::nullopt;
  }
  return sum;
}

ValueId Values::intern(Affine value) {
  auto [it, fresh] = value_ids_.try_emplace(std::move(value), static_cast<ValueId>(values_.size()));
  if (fresh) values_.push_back(&it->first);
  return it->second;
}

AtomId Values::intern(Atom atom) {
  auto [it, fresh] = atom_ids_.try_emplace(std::move(atom), static_cast<AtomId>(atoms_.size()));
  if (fresh) atoms_.push_back(&it->first);
  return it->second;
}

ValueId Values::of_atom(Atom atom) {
  Affine value;
  value.terms.push_back({{intern(std::move(atom))}, 1});
  return intern(std::move(value));
}

std::optional<ValueId> Values::read(uint32_t statement, uint32_t reg) const {
  return statement < reads_.size() ? look_up(reads_[statement], reg) : std::nullopt;
}

std::optional<ValueId> Values::written(uint32_t statement, uint32_t reg) const {
  return statement < writes_.size() ? look_up(writes_[statement], reg) : std::nullopt;
}

std::optional<ValueId> Values::at_start(uint32_t block, uint32_t reg) const {
  return block < start_.size() ? look_up_sorted(start_[block], reg) : std::nullopt;
}

std::optional<ValueId> Values::at_end(uint32_t block, uint32_t reg) const {
  return block < end_.size() ? look_up_sorted(end_[block], reg) : std::nullopt;
}

const Induction* Values::induction(AtomId atom) const {
  auto it = induction_of_.find(atom);
  return it == induction_of_.end() ? nullptr : &inductions_[it->second];
}

Affine Values::at_loop_start(const Affine& value) const {
  Affine now = value;
  // Each replacement moves one loop outwards, so the depth of the nest bounds the rounds; the cap is for safety's sake.
  for (int round = 0; round < 64; ++round) {
    const Induction* found = nullptr;
    Affine with, without;
    for (const auto& term : now.terms) {
      if (!found && term.factors.size() == 1) found = induction(term.factors[0]);
      if (found && term.factors.size() == 1 && term.factors[0] == found->atom)
        with.terms.push_back(term);
      else
        without.terms.push_back(term);
    }
    if (!found || with.terms.size() != 1) return now;
    without.constant = now.constant;
    auto moved = scale(this->value(found->initial), with.terms[0].coefficient);
    if (moved) moved = add(*moved, without);
    if (!moved) return now;
    now = *moved;
  }
  return now;
}

std::string Values::describe(const Affine& value, const ptx::Function& function) const {
  auto name = [&](AtomId id) -> std::string {
    const auto& a = atom(id);
    switch (a.kind) {
      case Atom::Kind::special: {
        auto text = std::string(isa::special_registers()[a.index].name.substr(1));
        return a.component >= 0 ? fmt::format("{}.{}", text, "xyzw"[a.component & 3]) : text;
      }
      case Atom::Kind::parameter:
        return a.index < function.parameters.size() ? function.parameters[a.index].name : "parameter";
      case Atom::Kind::symbol: return a.words;
      case Atom::Kind::phi:
      case Atom::Kind::undefined: return function.registers[a.index].name;
      case Atom::Kind::operation: return fmt::format("({} ...)", a.words);
      case Atom::Kind::definition: return fmt::format("(statement {})", a.index);
    }
    return "?";
  };
  std::string text;
  for (const auto& term : value.terms) {
    if (!text.empty())
      text += term.coefficient < 0 ? " - " : " + ";
    else if (term.coefficient < 0)
      text += "-";
    uint64_t size = term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient) : term.coefficient;
    if (size != 1) text += fmt::format("{}*", size);
    for (size_t i = 0; i < term.factors.size(); ++i) text.append(i ? "*" : "").append(name(term.factors[i]));
  }
  if (text.empty()) return fmt::format("{}", value.constant);
  if (value.constant)
    text += fmt::format(" {} {}", value.constant < 0 ? '-' : '+',
                        value.constant < 0 ? 0 - static_cast<uint64_t>(value.constant) : value.constant);
  return text;
}

std::optional<AtomId> Values::special_atom(std::string_view name, int component) const {
  auto index = isa::special_register_named(name);
  if (!index) return std::nullopt;
  Atom atom;
  atom.kind = Atom::Kind::special;
  atom.index = *index;
  atom.component = component;
  auto it = atom_ids_.find(atom);
  return it == atom_ids_.end() ? std::nullopt : std::optional<AtomId>{it->second};
}

std::optional<ValueId> Values::find(const Affine& value) const {
  auto it = value_ids_.find(value);
  return it == value_ids_.end() ? std::nullopt : std::optional<ValueId>{it->second};
}

}  // namespace ptxlab::analysis
