// A case is one input of a task: sizes, which fill or special values each buffer has, and a seed; and the bytes made of
// it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "launch/resolved.h"
#include "task/fill.h"
#include "task/task.h"

namespace ptxlab::task {

struct Case {
  Sizes sizes;
  std::string input;    // "fill 0", "zeros", "denormals", "large", "nan", "inf" ...: what is in the inputs
  int fill = 0;         // which alternative of each argument's fills
  std::string special;  // "", or zeros, denormals, large, nan, inf, tails ...
  uint64_t seed = 0;
  std::string label() const;  // "m=3 n=4099 spike seed 7"
};

// The cases of the emulate gate: every size with each fill, special values at the smallest sizes that hold them, and
// the random sizes drawn from `seed` by rejection under `where`. Error: TASK0008, `where` leaves nothing to draw.
base::Result<std::vector<Case>> emulate_cases(const Task& task, uint64_t seed);

struct CaseData {
  Case what;
  launch::Binding binding;                   // parameters, scalars, buffers
  std::vector<std::vector<uint8_t>> inputs;  // by buffer: initial bytes of in and inout; empty for out
  std::vector<std::vector<int64_t>> shapes;  // by buffer
};

// Errors: TASK0010 a shape that overflows, is empty or huge; TASK0011 a scalar outside its type; TASK0012 bounds that
// no value satisfies; TASK0013 a fill's file that is too short.
base::Result<CaseData> make_case(const Task& task, const Case& what);

// The same without the inputs' bytes: for timed sizes, whose buffers are filled when and where they are needed.
base::Result<CaseData> bind_case(const Task& task, const Case& what);

// How the case fills one of its buffers, for who fills only parts of it. Errors: TASK0012; TASK0013 where a file fills it.
base::Result<FillSpec> fill_spec(const Task& task, const Argument& argument, const Case& what);

// The case of a timed or other size with the first fills.
Case case_of(const Sizes& sizes, uint64_t seed);

}  // namespace ptxlab::task
