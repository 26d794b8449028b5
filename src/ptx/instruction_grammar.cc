// How a row becomes rules: choices of a slot that no constraint and no operand tells apart are one element; over these, far fewer, all
// combinations are tried against the row's constraints, and the legal ones are written as a tree of prefixes whose equal ends
// share a rule. So a grammar holds exactly the forms of the table, and stays small.
#include "ptx/instruction_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "isa/special_register.h"
#include "isa/table.h"

namespace ptxlab::ptx {
namespace {

using G = Grammatical;
using isa::Form;
using isa::Row;
using isa::Shape;

G text(std::string_view word) { return {G::Kind::text, std::string(word), {}, 0}; }
G use(std::string_view name) { return {G::Kind::rule, std::string(name), {}, 0}; }
G seq(std::vector<G> parts) { return {G::Kind::sequence, "", std::move(parts), 0}; }
G any(std::vector<G> parts) { return parts.size() == 1 ? parts[0] : G{G::Kind::choice, "", std::move(parts), 0}; }
G opt(G part) { return {G::Kind::optional, "", {std::move(part)}, 0}; }
G many(G part) { return {G::Kind::many, "", {std::move(part)}, 0}; }
G comma() { return seq({use("ws"), text(","), use("ws")}); }

// What tells two parts apart, for sharing.
std::string key_of(const G& part) {
  std::string key = fmt::format("{}{}:{}{}(", static_cast<int>(part.kind), part.count, part.text.size(), part.text);
  for (const auto& one : part.parts) key += key_of(one) + ",";
  return key + ")";
}

// Choices of one slot that are alike; `absent`: being left out is like them too, or is all there is.
struct Element {
  std::vector<std::string_view> tokens;
  int choice = -1;  // the one that stands for them
  bool absent = false;
};

class RowRules {
 public:
  RowRules(const Row& row, const isa::Target& target, isa::PtxVersion version, Grammar& grammar,
           std::map<std::string, std::string>& shared)
      : row_(row), target_(target), version_(version), grammar_(grammar), shared_(shared) {}

  // What follows the row's name; nothing where the target has no form of it.
  std::optional<G> make() {
    if (!isa::refusal(row_.gate, version_, target_).empty()) return std::nullopt;
    for (size_t slot = 0; slot < row_.slots.size(); ++slot) {
      elements_.push_back(elements_of(slot));
      if (elements_.back().empty()) return std::nullopt;
    }
    form_.row = &row_;
    form_.taken.fill(-1);
    return from(0);
  }

 private:
  bool is_policy_slot(size_t slot) const {
    return std::any_of(row_.operands.begin(), row_.operands.end(),
                       [&](const auto& spec) { return spec.present_with == static_cast<int>(slot); });
  }

  // Whatever a constraint or an operand sees of this choice; -1 is being left out.
  std::string signature(size_t slot, int choice) const {
    std::string seen;
    uint64_t bit = choice < 0 ? isa::Condition::kAbsent : uint64_t{1} << choice;
    for (const auto& constraint : row_.constraints) {
      for (const auto& conditions : {constraint.when, constraint.then}) {
        for (const auto& condition : conditions) {
          if (condition.slot == slot) seen += condition.choices & bit ? '1' : '0';
        }
      }
    }
    std::string_view token = choice < 0 ? "" : row_.slots[slot].choices[static_cast<size_t>(choice)].token;
    bool shapes =
        std::any_of(row_.operands.begin(), row_.operands.end(), [](const auto& spec) { return spec.n_divisor; });
    if (row_.slots[slot].name == "vec" || (shapes && row_.slots[slot].name == "shape")) seen += token;
    if (is_policy_slot(slot)) seen += choice < 0 ? 'n' : 'y';
    Form form;
    form.row = &row_;
    form.taken.fill(-1);
    form.taken[slot] = static_cast<int8_t>(choice);
    for (size_t i = 0; i < row_.operands.size(); ++i) {
      const auto& rule = row_.operands[i].type;
      bool here =
          (rule.kind == isa::TypeRule::Kind::slot || rule.kind == isa::TypeRule::Kind::twice_slot) && rule.slot == slot;
      if (here) seen += form.takes_constant(static_cast<int>(i)) ? 'c' : 'r';
    }
    return seen;
  }

  std::vector<Element> elements_of(size_t slot) const {
    std::map<std::string, Element> by_signature;
    std::vector<std::string> order;
    auto at = [&](int choice) -> Element& {
      auto key = signature(slot, choice);
      if (!by_signature.contains(key)) order.push_back(key);
      return by_signature[key];
    };
    const auto& choices = row_.slots[slot].choices;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (!isa::refusal(choices[i].gate, version_, target_).empty()) continue;
      auto& element = at(static_cast<int>(i));
      element.tokens.push_back(choices[i].token);
      element.choice = static_cast<int>(i);
    }
    if (row_.slots[slot].optional) at(-1).absent = true;
    std::vector<Element> elements;
    for (const auto& key : order) elements.push_back(by_signature[key]);
    return elements;
  }

  G element(const Element& of) const {
    std::vector<G> words;
    for (auto token : of.tokens) words.push_back(text(token));
    if (words.empty()) return seq({});
    return of.absent ? opt(any(std::move(words))) : any(std::move(words));
  }

  // What may follow once the slots before `slot` are taken as form_ has them; nothing where no form is legal.
  std::optional<G> from(size_t slot) {
    if (slot == row_.slots.size()) {
      if (!isa::keeps_constraints(form_) || !isa::refusal(form_.gate(), version_, target_).empty()) return std::nullopt;
      return operands();
    }
    // Elements with the same rest are one choice.
    std::vector<std::pair<std::vector<G>, G>> ways;
    for (const auto& one : elements_[slot]) {
      form_.taken[slot] = static_cast<int8_t>(one.choice);
      auto rest = from(slot + 1);
      form_.taken[slot] = -1;
      if (!rest) continue;
      auto same =
          std::find_if(ways.begin(), ways.end(), [&](const auto& way) { return key_of(way.second) == key_of(*rest); });
      if (same == ways.end()) same = ways.insert(same, {{}, *rest});
      same->first.push_back(element(one));
    }
    if (ways.empty()) return std::nullopt;
    std::vector<G> parts;
    for (auto& [heads, rest] : ways) parts.push_back(seq({any(std::move(heads)), rest}));
    return share(any(std::move(parts)));
  }

  // Long parts get a rule, and equal ones the same.
  G share(G part) {
    auto key = key_of(part);
    if (key.size() < 120) return part;
    auto [found, fresh] = shared_.try_emplace(key, fmt::format("f{}", shared_.size()));
    if (fresh) grammar_.rules[found->second] = std::move(part);
    return use(found->second);
  }

  // --- operands ---

  G operands() { return share(operands_from(0, true)); }

  G operands_from(size_t i, bool first) {
    if (i == row_.operands.size()) return seq({});
    const auto& spec = row_.operands[i];
    size_t next = i + 1;
    G own = operand(i);
    if (spec.pair && next < row_.operands.size()) {
      auto half = seq({use("ws"), text("|"), use("ws"), operand(next)});
      own = seq({own, row_.operands[next].optional ? opt(half) : half});
      ++next;
    }
    G with = seq({first ? use("sp") : comma(), own, operands_from(next, false)});
    bool there = !spec.optional;
    if (spec.present_with >= 0) {
      there = form_.taken[static_cast<size_t>(spec.present_with)] >= 0;
      if (!there) return operands_from(next, first);
    }
    if (there) return with;
    return any({with, operands_from(next, first)});
  }

  G operand(size_t i) const {
    const auto& spec = row_.operands[i];
    if (spec.sink_only) return text("_");
    G own = plain_operand(i);
    if (spec.negatable) own = seq({opt(text("!")), own});
    if (spec.sink_allowed) own = any({own, text("_")});
    return own;
  }

  G plain_operand(size_t i) const {
    const auto& spec = row_.operands[i];
    switch (spec.shape) {
      case Shape::value: {
        if (spec.names_symbol) return use("mov_source");
        return form_.takes_constant(static_cast<int>(i)) ? use("source") : use("ident");
      }
      case Shape::reg:
      case Shape::predicate:
      case Shape::label:
      case Shape::symbol: return use("ident");
      case Shape::address: return use(spec.coordinates ? "tensor_address" : "address");
      case Shape::vector: {
        int lanes = form_.operand_lanes(static_cast<int>(i));
        if (lanes <= 1)
          return any({use(spec.destination ? "ident_or_sink" : "source"),
                      seq({text("{"), use("ws"), use("lane"), use("ws"), text("}")})});
        return seq({text("{"), use("ws"), use("lane"), G{G::Kind::repeat, "", {use("next_lane")}, lanes - 1}, use("ws"),
                    text("}")});
      }
      case Shape::arguments: return use("arguments");
      case Shape::immediate: return use("number");
    }
    return use("ident");
  }

  const Row& row_;
  isa::Target target_;
  isa::PtxVersion version_;
  Grammar& grammar_;
  std::map<std::string, std::string>& shared_;
  std::vector<std::vector<Element>> elements_;
  Form form_;
};

// Names that begin alike share their beginning: a server then follows a few dozen paths at a time instead of hundreds.
G trie(const std::vector<std::pair<std::string, G>>& entries, size_t at = 0) {
  std::map<std::string, std::vector<std::pair<std::string, G>>> by_next;
  std::vector<G> ways;
  for (const auto& entry : entries) {
    if (entry.first.size() == at) {
      ways.push_back(entry.second);
    } else {
      by_next[entry.first.substr(at, 1)].push_back(entry);
    }
  }
  for (const auto& [next, group] : by_next) {
    if (group.size() == 1) {
      ways.push_back(seq({text(group[0].first.substr(at)), group[0].second}));
    } else {
      size_t common = at + 1;
      auto alike = [&] {
        return std::all_of(group.begin(), group.end(), [&](const auto& entry) {
          return entry.first.size() > common && entry.first[common] == group[0].first[common];
        });
      };
      while (alike()) ++common;
      ways.push_back(seq({text(group[0].first.substr(at, common - at)), trie(group, common)}));
    }
  }
  return any(std::move(ways));
}

void add_operand_rules(const isa::Target& target, isa::PtxVersion version, Grammar& grammar) {
  auto& rules = grammar.rules;
  rules["source"] = any({use("ident"), use("number")});
  std::vector<G> specials;
  for (const auto& special : isa::special_registers()) {
    if (!isa::refusal(special.gate, version, target).empty() || special.components == 1) continue;
    specials.push_back(text(special.name));
  }
  rules["special"] = seq({any(std::move(specials)), text("."), any({text("x"), text("y"), text("z"), text("w")})});
  rules["mov_source"] =
      any({use("special"),
           seq({use("ident"), opt(seq({use("ws"), any({text("+"), text("-")}), use("ws"), use("number")}))}),
           seq({use("ident"), text("."), any({text("x"), text("y"), text("z"), text("w")})}), use("number")});
  rules["offset"] = seq({use("ws"), any({text("+"), text("-")}), use("ws"), use("number")});
  rules["address"] =
      seq({text("["), use("ws"), any({seq({use("ident"), opt(use("offset"))}), use("number")}), use("ws"), text("]")});
  rules["lane"] = any({use("ident"), use("number"), text("_")});
  rules["next_lane"] = seq({comma(), use("lane")});
  rules["tensor_address"] =
      seq({text("["), use("ws"), use("ident"), opt(use("offset")),
           opt(seq({comma(), text("{"), use("ws"), use("lane"), many(use("next_lane")), use("ws"), text("}")})),
           use("ws"), text("]")});
  rules["arguments"] =
      seq({text("("), use("ws"), opt(seq({use("lane"), many(use("next_lane"))})), use("ws"), text(")")});
}

}  // namespace

void add_instructions(const isa::Target& target, isa::PtxVersion version, Grammar& grammar) {
  add_operand_rules(target, version, grammar);
  std::map<std::string, std::string> shared;
  std::map<std::string, std::vector<G>> by_opcode;
  for (const auto& row : isa::rows()) {
    auto made = RowRules(row, target, version, grammar, shared).make();
    if (made) by_opcode[std::string(row.opcode)].push_back(*std::move(made));
  }
  std::vector<std::pair<std::string, G>> entries;
  for (auto& [opcode, forms] : by_opcode) {
    auto name = "op_" + opcode;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); }, '_');
    grammar.rules[name] = any(std::move(forms));
    entries.emplace_back(opcode, use(name));
  }
  grammar.rules["instruction"] = trie(entries);
}

}  // namespace ptxlab::ptx
