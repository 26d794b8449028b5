// Is what a candidate put out at a timed size right? Some elements are compared with the reference; all with what the baseline
// put out on the same inputs, by the task's bound (a) doubled, since either may be off by it. Elements that differ by more are
// then asked of the reference: it alone says that one is wrong.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "gpu/contest.h"
#include "judge/answers.h"
#include "judge/timed_inputs.h"

namespace ptxlab::judge {

struct TimedOutputsInput {
  const PreparedTask& prepared;
  const TimedInput& input;
  task::Oracle* oracle;  // null: the baseline's output is right
  const gpu::Opened& opened;
};

struct TimedOutputs {
  bool right = false;
  bool trouble = false;  // nothing can be said: the reference failed
  std::string summary;   // what is wrong first
  uint64_t compared = 0;
  uint64_t sampled = 0;  // of them with the reference
  uint64_t baseline_wrong =
      0;  // sampled elements on which the baseline itself is wrong, or which it never writes: left out
};
TimedOutputs compare_timed_outputs(const TimedOutputsInput& input);

// What each buffer of the task is made of, for a worker that holds launches against one another.
std::vector<gpu::Element> elements_of_buffers(const task::Task& task);
// How far apart two launches on the same inputs may be: by buffer the root of the sum of the elements' squared bounds, each as
// wide as between baseline and candidate. 0 where that is not asked for: inputs, integers, records.
std::vector<double> apart_of(const TimedOutputsInput& input);

}  // namespace ptxlab::judge
