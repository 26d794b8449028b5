// Which written operand plays which part of a form: rows have optional operands and pairs (p|q), instructions have a plain
// list.
#pragma once
#include <array>
#include <cstdint>

#include "ptx/module.h"

namespace ptxlab::ptx {

struct Arguments {
  // By index into row->operands; null where an optional operand is left out. The halves of a written pair are apart.
  std::array<const Operand*, isa::kMaxOperands> at{};
  // Index into the instruction's operands for each of these; -1 where left out.
  std::array<int8_t, isa::kMaxOperands> position{};
  bool fits = false;  // the number of written operands is one that the row takes
};

Arguments arguments_of(const Instruction& instruction, const isa::Form& form);
inline Arguments arguments_of(const Instruction& instruction) { return arguments_of(instruction, instruction.form); }

// The fewest and most operands that can be written for a form.
struct OperandCount {
  int least = 0, most = 0;
};
OperandCount operand_count(const isa::Form& form);

}  // namespace ptxlab::ptx
