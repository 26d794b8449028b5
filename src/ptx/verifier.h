// What the table says of each instruction: modifiers, operand kinds, types and widths, state spaces, versions and targets.
#pragma once
#include "base/finding.h"
#include "ptx/module.h"
#include "ptx/parser.h"

namespace ptxlab::ptx {

// Sets Instruction::form everywhere it can, and reports what is illegal.
base::Findings verify(Module& module, size_t limit = kMaxFindings);

// parse and verify in one: what every caller outside ptx wants.
struct Checked {
  Module module;
  base::Findings findings;
  bool ok() const { return !base::has_error(findings); }
};
Checked check(std::string_view source, std::string_view file, size_t limit = kMaxFindings);

}  // namespace ptxlab::ptx
