#include "isa/table_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ptxlab::isa {
namespace {

using nlohmann::json;

std::string_view name_of(Shape shape) {
  switch (shape) {
    case Shape::value: return "value";
    case Shape::reg: return "register";
    case Shape::predicate: return "predicate";
    case Shape::address: return "address";
    case Shape::vector: return "vector";
    case Shape::label: return "label";
    case Shape::symbol: return "symbol";
    case Shape::arguments: return "arguments";
    case Shape::immediate: return "immediate";
  }
  return "";
}

json gate_json(const Gate& gate) {
  std::string text = description(gate);
  return text.empty() ? json(nullptr) : json(text);
}

json slot_json(const Slot& slot) {
  json choices = json::array();
  for (const Choice& choice : slot.choices) {
    json one = {{"token", choice.token}};
    if (std::string gate = description(choice.gate); !gate.empty()) one["gate"] = gate;
    choices.push_back(std::move(one));
  }
  return {{"name", slot.name}, {"optional", slot.optional}, {"choices", std::move(choices)}};
}

json operand_json(const Row& row, const OperandSpec& spec) {
  json made = {{"name", spec.name},
               {"shape", name_of(spec.shape)},
               {"destination", spec.destination},
               {"optional", spec.optional}};
  switch (spec.type.kind) {
    case TypeRule::Kind::none: break;
    case TypeRule::Kind::fixed: made["type"] = isa::name_of(spec.type.type); break;
    case TypeRule::Kind::slot: made["type"] = fmt::format(".{}", row.slots[spec.type.slot].name); break;
    case TypeRule::Kind::twice_slot: made["type"] = fmt::format(".{}*2", row.slots[spec.type.slot].name); break;
  }
  if (spec.lanes) made["lanes"] = spec.lanes;
  return made;
}

json effects_json(const Effects& effects) {
  json names = json::array();
  auto add = [&](bool there, const char* name) {
    if (there) names.push_back(name);
  };
  add(effects.loads, "loads");
  add(effects.stores, "stores");
  add(effects.atomic, "atomic");
  add(effects.barrier, "barrier");
  add(effects.warp_sync, "warp_sync");
  add(effects.fence, "fence");
  add(effects.branch, "branch");
  add(effects.call, "call");
  add(effects.ends_thread, "ends_thread");
  add(effects.async, "async");
  add(effects.approximate, "approximate");
  add(effects.timing, "timing");
  return names;
}

}  // namespace

json table_json() {
  json list = json::array();
  for (const Row& row : rows()) {
    json slots = json::array(), operands = json::array();
    for (const Slot& slot : row.slots) slots.push_back(slot_json(slot));
    for (const OperandSpec& spec : row.operands) operands.push_back(operand_json(row, spec));
    list.push_back({{"opcode", row.opcode},
                    {"syntax", manual_syntax(row)},
                    {"section", row.section},
                    {"slots", std::move(slots)},
                    {"operands", std::move(operands)},
                    {"gate", gate_json(row.gate)},
                    {"effects", effects_json(row.effects)}});
  }
  return {{"schema", "ptxlab.isa/1"}, {"rows", std::move(list)}};
}

std::string manual_syntax(const Row& row) {
  std::string text(row.opcode);
  for (const Slot& slot : row.slots) {
    text += slot.optional ? fmt::format("{{.{}}}", slot.name) : fmt::format(".{}", slot.name);
  }
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const OperandSpec& spec = row.operands[i];
    bool second = i > 0 && row.operands[i - 1].pair;
    std::string name = fmt::format("{}{}", spec.negatable ? "{!}" : "", spec.name);
    if (spec.shape == Shape::address) name = fmt::format("[{}{}]", name, spec.coordinates ? ", coords" : "");
    if (spec.shape == Shape::arguments) name = fmt::format("({})", name);
    if (second) {
      text += spec.optional ? fmt::format("[|{}]", name) : "|" + name;
    } else if (spec.optional) {
      text += fmt::format("{{, {}}}", name);
    } else {
      text += (i ? ", " : " ") + name;
    }
  }
  return text + ";";
}

std::string table_markdown(const std::function<std::string_view(const Row&)>& state) {
  std::string text;
  std::string_view section;
  for (const Row& row : rows()) {
    if (row.section != section) {
      section = row.section;
      text += fmt::format("\n## {}\n\n", section);
      text += state ? "| syntax | since | state |\n|---|---|---|\n" : "| syntax | since |\n|---|---|\n";
    }
    std::string syntax = manual_syntax(row);
    for (size_t at = 0; (at = syntax.find('|', at)) != std::string::npos; at += 2) syntax.insert(at, 1, '\\');
    text += fmt::format("| `{}` | {} |", syntax, description(row.gate));
    text += state ? fmt::format(" {} |\n", state(row)) : "\n";
  }
  return text;
}

}  // namespace ptxlab::isa
