// Rule "cse": what has been computed or loaded already is taken from the register that holds it: common subexpressions, copies,
// parameters and read-only memory loaded twice, and in one block loads of what a load or store before them had in hand, where no
// store in between may touch it.
//
// ptxas does most of that by itself. What it cannot do is to load once across a store to another pointer: it has to take the
// two for one, while here the plan says which buffers are different ones.
//
// Needs: registers written once and before every use (single_writes.h); the same type, so that nothing is converted; for memory
// that somebody writes, the same block and nothing ordered with other threads in between.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"
#include "rewrite/single_writes.h"

namespace ptxlab::rewrite {
namespace {

using analysis::has_word;
using analysis::kNone;
using analysis::opcode_of;

class Numbering {
 public:
  Numbering(const Flow& flow, const Aliasing& aliasing) : flow_(flow), aliasing_(aliasing), single_(flow) {}
  std::map<uint32_t, uint32_t> instead;  // by register: the one that holds the value too
  std::set<uint32_t> gone;
  size_t loads = 0;

  void run() {
    for (uint32_t b : flow_.cfg.order()) {
      memory_.clear();
      for (uint32_t s = flow_.cfg.blocks()[b].begin; s < flow_.cfg.blocks()[b].end; ++s)
        if (const auto* instruction = flow_.function.body[s].instruction()) step(s, *instruction);
    }
  }

 private:
  uint32_t representative(uint32_t reg) const {
    auto it = instead.find(reg);
    return it == instead.end() ? reg : it->second;
  }

  // Spelt with representatives; empty where some register is not known by name alone.
  std::string spell(uint32_t s, const ptx::Operand& operand) const {
    switch (operand.kind) {
      case ptx::Operand::Kind::reg:
        if (!single_.known_at(s, operand.id)) return "";
        return fmt::format("{}%{}.{}", operand.negated ? "!" : "", representative(operand.id), operand.component);
      case ptx::Operand::Kind::special: return fmt::format("s{}.{}", operand.id, operand.component);
      case ptx::Operand::Kind::integer: return fmt::format("i{}", operand.bits);
      case ptx::Operand::Kind::floating: return fmt::format("f{}", operand.name);
      case ptx::Operand::Kind::symbol: return fmt::format("y{}+{}", operand.name, operand.offset);
      case ptx::Operand::Kind::address: {
        if (operand.elements.size() != 1) return "";
        auto base = spell(s, operand.elements[0]);
        return base.empty() ? "" : fmt::format("[{}+{}]", base, operand.offset);
      }
      case ptx::Operand::Kind::label:
      case ptx::Operand::Kind::vector:
      case ptx::Operand::Kind::sink:
      case ptx::Operand::Kind::pair:
      case ptx::Operand::Kind::list:
      case ptx::Operand::Kind::name: return "";
    }
    return "";
  }

  std::string key_of(uint32_t s, const ptx::Instruction& instruction) const {
    std::string key;
    for (const auto& word : instruction.words) key += word;
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
      auto part = spell(s, instruction.operands[i]);
      if (part.empty()) return "";
      key += " " + part;
    }
    return key;
  }

  // Loads from what never changes while the kernel runs.
  bool constant_load(uint32_t s, const ptx::Instruction& instruction) const {
    if (opcode_of(instruction) != "ld" || instruction.guard || instruction.operands.size() != 2) return false;
    if (flow_.function.entry && analysis::space_word(instruction) == isa::Space::param) return true;
    const auto* access = flow_.access(s);
    return access && plain_access(instruction) && aliasing_.never_written(*access);
  }

  void step(uint32_t s, const ptx::Instruction& instruction) {
    forget(s, instruction);
    bool load = opcode_of(instruction) == "ld", constant = constant_load(s, instruction);
    if (opcode_of(instruction) == "st") {
      remember_store(s, instruction);
      return;
    }
    bool local = load && !constant && !instruction.guard && flow_.access(s) && plain_access(instruction);
    if ((!pure(instruction) && !constant && !local) || instruction.operands.empty() ||
        instruction.operands[0].kind != ptx::Operand::Kind::reg)
      return;
    uint32_t reg = instruction.operands[0].id;
    if (!single_.known_at_uses(reg) || flow_.function.registers[reg].vector != 1) return;
    if (copies(s, instruction, reg)) return;
    auto key = key_of(s, instruction);
    if (key.empty()) return;
    key += fmt::format(" {}", isa::name_of(flow_.function.registers[reg].type));
    if (local) {
      auto place = place_of(s, instruction);
      auto it = memory_.find(place);
      if (it != memory_.end() && replace(s, reg, it->second.reg))
        ++loads;
      else if (!place.empty())
        memory_[place] = {reg, s};
      return;
    }
    auto& entries = values_[key];
    for (uint32_t earlier : entries)
      if (single_.known_at(s, earlier) && replace(s, reg, earlier)) {
        loads += constant && flow_.access(s) ? 1 : 0;
        return;
      }
    entries.push_back(reg);
  }

  bool copies(uint32_t s, const ptx::Instruction& instruction, uint32_t reg) {
    if (opcode_of(instruction) != "mov" || instruction.operands.size() != 2) return false;
    const auto& from = instruction.operands[1];
    return from.kind == ptx::Operand::Kind::reg && from.component < 0 && single_.known_at(s, from.id) &&
           replace(s, reg, representative(from.id));
  }

  bool replace(uint32_t s, uint32_t reg, uint32_t by) {
    const auto& registers = flow_.function.registers;
    if (registers[reg].type != registers[by].type || registers[by].vector != 1 || reg == by) return false;
    instead[reg] = by;
    gone.insert(s);
    return true;
  }

  // "f32 at [%5+8] of global": what memory holds there, by its type.
  std::string place_of(uint32_t s, const ptx::Instruction& instruction) const {
    const auto& address = instruction.operands[opcode_of(instruction) == "st" ? 0 : 1];
    auto type = analysis::type_word(instruction);
    if (analysis::vector_word(instruction) != 1 || instruction.operands.size() != 2) return "";
    auto where = spell(s, address);
    return where.empty() ? ""
                         : fmt::format("{} {} {}", isa::name_of(type),
                                       static_cast<int>(analysis::space_word(instruction)), where);
  }

  // What a store put there can be read from its register, where that has the store's own width.
  void remember_store(uint32_t s, const ptx::Instruction& instruction) {
    if (instruction.guard || !plain_access(instruction) || !flow_.access(s) || instruction.operands.size() < 2) return;
    const auto& value = instruction.operands[1];
    auto place = place_of(s, instruction);
    int bits = isa::bits_of(analysis::type_word(instruction));
    if (place.empty() || value.kind != ptx::Operand::Kind::reg || !single_.known_at(s, value.id)) return;
    if (isa::bits_of(flow_.function.registers[value.id].type) != bits || bits < 32) return;
    memory_[place] = {representative(value.id), s};
  }

  void forget(uint32_t s, const ptx::Instruction& instruction) {
    const auto* access = flow_.access(s);
    bool weak = access && plain_access(instruction);
    if (!ordering_of(instruction).empty() || (access && !weak)) {
      memory_.clear();
      return;
    }
    if (!access || !access->writes) return;
    std::erase_if(memory_, [&](const auto& entry) {
      const auto& other = *flow_.access(entry.second.statement);
      return aliasing_.may_overlap(*access, other) && !aliasing_.disjoint_now(*access, other);
    });
  }

  const Flow& flow_;
  const Aliasing& aliasing_;
  SingleWrites single_;
  std::map<std::string, std::vector<uint32_t>> values_;
  struct Held {
    uint32_t reg, statement;
  };
  std::map<std::string, Held> memory_;  // in the block at hand
};

void rename(ptx::Operand& operand, const std::map<uint32_t, uint32_t>& instead) {
  if (operand.kind == ptx::Operand::Kind::reg)
    if (auto it = instead.find(operand.id); it != instead.end()) operand.id = it->second;
  for (auto& element : operand.elements) rename(element, instead);
}

class Cse final : public Rule {
 public:
  std::string_view name() const override { return "cse"; }
  Family family() const override { return Family::arithmetic; }
  std::string_view description() const override { return "takes what was computed or loaded before from its register"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"all", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t count = 0, loads = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0150", entry_name + ": its control flow is irreducible or too large");
      Aliasing aliasing(flow, launches_of(*subject.module, *subject.plan, entry));
      Numbering numbering(flow, aliasing);
      numbering.run();
      count += numbering.gone.size();
      loads += numbering.loads;
      // What stands for a register may itself be stood for by another.
      for (auto& [reg, by] : numbering.instead)
        for (auto it = numbering.instead.find(by); it != numbering.instead.end(); it = numbering.instead.find(by))
          by = it->second;
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body) rewrite(function, numbering);
    }
    if (count == 0) return refusal("RW0151", "nothing is computed or loaded twice");
    Rewritten result;
    result.name = "cse";
    result.idea = fmt::format("{} instruction{} that repeat{} an earlier one left out, {} of them load{}", count,
                              count == 1 ? "" : "s", count == 1 ? "s" : "", loads, loads == 1 ? "" : "s");
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static void rewrite(ptx::Function& function, const Numbering& numbering) {
    std::vector<ptx::Statement> kept;
    for (uint32_t s = 0; s < function.body.size(); ++s) {
      if (numbering.gone.count(s)) continue;
      kept.push_back(std::move(function.body[s]));
      auto* instruction = kept.back().instruction();
      if (!instruction) continue;
      for (auto& operand : instruction->operands) rename(operand, numbering.instead);
      if (instruction->guard)
        if (auto it = numbering.instead.find(instruction->guard->reg); it != numbering.instead.end())
          instruction->guard->reg = it->second;
    }
    function.body = std::move(kept);
  }
};

}  // namespace

const Rule* cse_rule() {
  static const Cse rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
