// Accesses whose place is known from the text: outside of the variable, or not aligned. ptxas lets them pass, so they are
// warnings.
#pragma once
#include "ptx/arguments.h"
#include "ptx/operand_check.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

void check_memory(const OperandCheck& operands, const Instruction& instruction, const Arguments& arguments,
                  Report& report);

}  // namespace ptxlab::ptx
