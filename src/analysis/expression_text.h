// Values in the words of the kernel's author: "4*n", "(tid.x & 31)", "x + 4*(ctaid.x*ntid.x + tid.x)".
#pragma once
#include <string>

#include "analysis/lanes.h"

namespace ptxlab::analysis {

// A parameter's name: what the launch passes for it, else as declared without the kernel's own name in front: "param_2".
std::string parameter_name(const ptx::Function& function, uint32_t index, const Known& known);

// What would be longer than a line is cut with "...".
std::string expression_text(const Affine& value, const Values& values, const ptx::Function& function,
                            const Known& known);

}  // namespace ptxlab::analysis
