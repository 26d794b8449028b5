// Several forms may fit an instruction's words; its operands say which of them it is.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "ptx/arguments.h"
#include "ptx/operand_check.h"

namespace ptxlab::ptx {

struct FormChoice {
  int index = -1;                  // into the forms; -1: none of them takes that many operands
  std::optional<Problem> problem;  // what is wrong with the operands, or only suspicious
  Arguments arguments;
  bool legal() const { return index >= 0 && (!problem || problem->warning); }
};

// The first form whose operands are right, one that version and target admit before others; else the one that goes
// wrong last. `refusals`, by form: why version and target do not admit it; empty where they do.
FormChoice choose_form(const OperandCheck& operands, const Instruction& instruction, std::span<const isa::Form> forms,
                       std::span<const std::string> refusals);

}  // namespace ptxlab::ptx
