// The memory accesses of a function as Structure tells them: loads, stores, atomics, and what copies asynchronously.
#pragma once
#include <vector>

#include "analysis/structure.h"

namespace ptxlab::analysis {

std::vector<AccessFacts> memory_facts(const ptx::Function& function, const Cfg& cfg, const Values& values,
                                      const LaneEvaluator& evaluator, const Known& known);

}  // namespace ptxlab::analysis
