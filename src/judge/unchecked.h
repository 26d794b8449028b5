// What the timed sizes do that no case has shown. Where no GPU compares the results there, it is all that can be said: a
// kernel that is exact at the checked sizes and sloppy at the timed ones has to take another way somewhere.
//
//   JDG0070 lines that run at a timed size and in no case      JDG0073 less traffic than the task has to move
//   JDG0071 a choice among the plan's launches that no case makes
#pragma once
#include <vector>

#include "base/finding.h"
#include "judge/answers.h"
#include "judge/estimate_timed.h"
#include "launch/plan.h"
#include "ptx/module.h"

namespace ptxlab::judge {

struct UncheckedInput {
  const PreparedTask& prepared;
  const ptx::Module& module;
  const launch::Plan& plan;
  const analysis::Profile& checked;  // of all cases
  const TimedEstimate& timed;
};

// Warnings: they hold nothing against a candidate but say what was not looked at.
base::Findings unchecked_when_timed(const UncheckedInput& input);

}  // namespace ptxlab::judge
