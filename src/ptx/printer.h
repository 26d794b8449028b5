// Module to text. parse(print(m)) is m, comments and order kept; ptxas makes the same code of both.
#pragma once
#include <string>

#include "ptx/module.h"

namespace ptxlab::ptx {

std::string print(const Module& module);
std::string print(const Operand& operand, const Function& function);
std::string print(const Instruction& instruction, const Function& function);

}  // namespace ptxlab::ptx
