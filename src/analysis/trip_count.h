// How often a loop's body runs, read off the comparison that leaves it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/lanes.h"

namespace ptxlab::analysis {

struct Trips {
  // For a thread of the CTA; where threads differ `least` is below `most`. Absent: not known.
  std::optional<int64_t> least, most;
  std::string text;      // "64", "ceil((n - tid.x) / 256)"; empty: the loop's end depends on data, or is not understood
  bool at_most = false;  // the loop can be left otherwise too
};

Trips trips_of(const ptx::Function& function, const Cfg& cfg, const Values& values, uint32_t loop,
               const LaneEvaluator& evaluator, const Known& known);

}  // namespace ptxlab::analysis
