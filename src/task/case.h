// A case is one input of a task: sizes, which fill or special values each buffer has, and a seed; and the bytes made of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "launch/resolved.h"
#include "task/task.h"

namespace ptxlab::task {

struct Case {
  Sizes sizes;
  std::string input;   // "fill 0", "zeros", "denormals", "large", "nan", "inf" ...: what is in the inputs
  int fill = 0;        // which alternative of each argument's fills
  std::string special; // "", or zeros, denormals, large, nan, inf, tails ...
  uint64_t seed = 0;
  std::string label() const;  // "m=3 n=4099 spike seed 7"
};

// The cases of the emulate gate: every size with each fill, special values at the smallest sizes that hold them, and the
// random sizes drawn from `seed` by rejection under `where`.
base::Result<std::vector<Case>> emulate_cases(const Task& task, uint64_t seed);

struct CaseData {
  Case what;
  launch::Binding binding;                       // parameters, scalars, buffers
  std::vector<std::vector<uint8_t>> inputs;      // by buffer: initial bytes of in and inout; empty for out
  std::vector<std::vector<int64_t>> shapes;      // by buffer
};

base::Result<CaseData> make_case(const Task& task, const Case& what);

}  // namespace ptxlab::task
