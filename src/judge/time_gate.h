// The time gate: candidate and baseline side by side on the GPU at every timed size, each output checked, decided by looks at the
// epochs (stats/looks.h) against what identical kernels differ by on this GPU (calibration.h). docs/gpu.md says how.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/runner.h"
#include "judge/answers.h"
#include "judge/assemblers.h"
#include "judge/baseline.h"
#include "judge/calibration.h"
#include "judge/timed_inputs.h"
#include "record/record.h"

namespace ptxlab::judge {

struct TimeInput {
  const PreparedTask& prepared;
  const std::vector<const Baseline*>& baselines;  // the task's own first
  std::string_view ptx, file;
  const ptx::Module& module;
  std::span<const launch::ResolvedPlan> plans;  // of the candidate, by timed size
  const Assemblers& assemblers;                 // for the GPU that is there
  gpu::Runner& runner;
  task::Oracle* oracle;  // null: the baseline's output is right
  TimedInputs& inputs;
  Calibrations& calibrations;
  std::string key;  // of task, target and seed: what inputs are kept by
  uint64_t seed = 1;
  double own_calibration_seconds = 20;  // at most, where there is none for this GPU and time
  std::optional<isa::Target> target = {};  // what the judge assembled for; absent: what suits module and GPU
};

struct TimeResult {
  record::GateStatus status = record::GateStatus::not_run;
  std::string reason;
  std::optional<record::OutcomeName> outcome;
  std::string outcome_reason;
  base::Findings findings;
  std::optional<record::Timing> timing;
};

TimeResult run_time_gate(const TimeInput& input);

// What all sizes say together: faster only where none is slower. `reason`: one sentence.
record::OutcomeName outcome_of(const record::Timing& timing, std::string& reason);

}  // namespace ptxlab::judge
