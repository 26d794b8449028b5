// Why a right candidate is no faster than the baseline: what it does more of, in figures, from what the engine counted of both at the
// timed sizes, what ptxas made of both, and what the time of both goes into. Notes of the time gate; nothing is said of what did not
// get worse.
#pragma once
#include "base/finding.h"
#include "judge/baseline.h"
#include "ptx/module.h"
#include "record/record.h"

namespace ptxlab::judge {

// JDG0081 machine code beyond the instruction cache, JDG0082 fewer warps resident, JDG0083 spills, JDG0084 more sectors, JDG0085
// more bank conflicts, JDG0086 narrower accesses, JDG0087 more instructions, JDG0088 work that more threads repeat, JDG0089 loads
// in a branch, JDG0090 more launches, JDG0091 where the time goes now, JDG0092 approximations that
// buy nothing. None where the candidate is faster, or where there is nothing to compare.
base::Findings explain_slowness(const record::Verdict& verdict, const ptx::Module& module, const Baseline& baseline);

}  // namespace ptxlab::judge
