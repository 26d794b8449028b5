// judge --counters: hardware counters of the candidate and of the baseline at a timed size (gpu/counters.h). They explain a verdict and
// never decide one.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "gpu/counters.h"
#include "judge/baseline.h"
#include "record/record.h"

namespace ptxlab::judge {

using CountJob = std::function<base::Result<std::vector<gpu::CountedLaunch>>(const gpu::Job&)>;

struct CountInput {
  const task::Task& task;
  std::string_view ptx;
  const ptx::Module& module;
  const launch::Plan& plan;
  const Baseline& baseline;
  const Assemblers& assemblers;
  uint32_t sm = 0;     // of the GPU that counts
  isa::Target target;  // what the judge assembled for
  uint64_t seed = 1;
  const CountJob& count;
};

struct CountResult {
  std::optional<record::Counters> counters;
  base::Findings findings;  // notes: why there are none
};
// At the first timed size whose buffers stay below 512 MiB, else the smallest one.
CountResult count_both(const CountInput& input);

}  // namespace ptxlab::judge
