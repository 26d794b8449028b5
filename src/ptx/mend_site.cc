#include "ptx/mend_site.h"

#include <algorithm>
#include <iterator>

#include "ptx/arguments.h"
#include "ptx/operand_check.h"

namespace ptxlab::ptx {
namespace {

// Instructions that carry bits and do not care what these mean.
bool carries_bits(std::string_view opcode) {
  for (std::string_view word : {"mov", "ld", "ldu", "st", "selp", "and", "or", "xor", "not", "shl", "prmt"})
    if (opcode == word) return true;
  return opcode.starts_with("ld.") || opcode.starts_with("st.") || opcode.starts_with("shfl");
}

}  // namespace

Sites::Sites(const Module& module) : module_(module) {
  line_starts_.push_back(0);
  for (size_t at = module.source.find('\n'); at != std::string::npos; at = module.source.find('\n', at + 1))
    line_starts_.push_back(static_cast<uint32_t>(at + 1));
}

uint32_t Sites::offset(const base::Place& place) const {
  if (place.line == 0 || place.line > line_starts_.size()) return 0;
  return std::min(line_starts_[place.line - 1] + (place.column ? place.column - 1 : 0),
                  static_cast<uint32_t>(module_.source.size()));
}

Site Sites::at(const base::Finding& finding) const {
  uint32_t begin = offset(finding.place);
  Site site{module_, finding, {begin, begin + finding.place.length}};
  for (const Function& function : module_.functions) {
    if (begin < function.span.begin || begin >= function.span.end) continue;
    site.function = &function;
    auto after = std::upper_bound(function.body.begin(), function.body.end(), begin,
                                  [](uint32_t at, const Statement& statement) { return at < statement.span.begin; });
    if (after == function.body.begin()) break;
    const Statement& statement = *std::prev(after);
    if (begin >= statement.span.end) break;
    site.statement = &statement;
    site.instruction = statement.instruction();
    break;
  }
  return site;
}

Uses::Uses(const Module& module, const Function& function) : held_(function.registers.size()) {
  follow_shared(module, function);
  for (const Statement& statement : function.body) {
    const Instruction* instruction = statement.instruction();
    if (!instruction || !instruction->form.row || carries_bits(instruction->form.row->opcode)) continue;
    Arguments arguments = arguments_of(*instruction);
    for (size_t i = 0; i < instruction->form.row->operands.size(); ++i) {
      const Operand* operand = arguments.at[i];
      if (!operand || operand->kind != Operand::Kind::reg) continue;
      isa::Type type = instruction->form.operand_type(static_cast<int>(i));
      held_[operand->id].floating |= isa::is_float(type);
      held_[operand->id].integer |= isa::is_integer(type);
    }
  }
}

// In the order of the text, twice round for loops: an address stays one when something is added to it.
void Uses::follow_shared(const Module& module, const Function& function) {
  OperandCheck operands(module, function);
  for (int round = 0; round < 2; ++round) {
    for (const Statement& statement : function.body) {
      const Instruction* instruction = statement.instruction();
      if (!instruction || !instruction->form.row || instruction->operands.size() < 2) continue;
      std::string_view opcode = instruction->form.row->opcode;
      const Operand& result = instruction->operands[0];
      if (result.kind != Operand::Kind::reg) continue;
      if (opcode != "mov" && opcode != "add" && opcode != "sub" && opcode != "mad" && opcode != "cvt" &&
          opcode != "cvta" && opcode != "or" && opcode != "xor" && opcode != "selp")
        continue;
      for (size_t i = 1; i < instruction->operands.size(); ++i) {
        const Operand& source = instruction->operands[i];
        const Variable* variable = source.kind == Operand::Kind::symbol ? operands.variable(source.symbol) : nullptr;
        held_[result.id].shared |= variable && variable->space == isa::Space::shared;
        held_[result.id].shared |= source.kind == Operand::Kind::reg && held_[source.id].shared;
      }
    }
  }
}

bool Uses::agrees(uint32_t reg, isa::Type type) const {
  const Held& held = held_[reg];
  if (held.floating == held.integer) return true;  // nobody says, or both do
  return isa::is_float(type) ? held.floating : isa::is_integer(type) ? held.integer : true;
}

}  // namespace ptxlab::ptx
