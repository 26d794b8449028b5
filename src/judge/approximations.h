// Approximate instructions that a candidate has and the kernel as it is has not: what is to blame where results are coarse, and what
// bought nothing where the candidate is no faster.
#pragma once
#include <string>

#include "ptx/module.h"

namespace ptxlab::judge {

// Right to some 22 bits or fewer: by the table, and by the words where the table lacks the form.
bool is_approximate(const ptx::Instruction& instruction);

// "ex2.approx.f32 (line 45), tanh.approx.f32 (line 60)", each with its first line; empty: there are none.
std::string new_approximations(const ptx::Module& candidate, const ptx::Module& baseline);

}  // namespace ptxlab::judge
