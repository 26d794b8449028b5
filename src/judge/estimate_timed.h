// How long a candidate may take at the task's timed sizes: the engine runs the first, the middle and the last CTA of
// every launch there, counts, and estimate/ makes a time of the counts. An estimate, never a measurement.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/target.h"
#include "judge/lazy_buffers.h"
#include "launch/plan.h"
#include "ptx/module.h"
#include "record/record.h"
#include "simt/engine.h"
#include "task/case.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {

// A plan with its sizes known.
struct PlanInput {
  const ptx::Module& module;
  const launch::ResolvedPlan& plan;
  const std::vector<toolchain::Resources>& resources;  // of ptxas; without an entry's, its registers are guessed
  isa::Target target;
  uint64_t seed = 1;
  std::function<std::unique_ptr<simt::Engine>()> engine;
  // What the inputs hold, asked only where the module's way depends on it; none: zeros.
  FillChunk fill;
};

// Errors: JDG0020, the engine cannot run these CTAs alone.
base::Result<record::Estimate> estimate_plan(const PlanInput& input);

struct EstimateInput {
  const task::Task& task;
  const std::vector<task::CaseData>& timed;  // beside task.time, without the inputs' bytes
  const ptx::Module& module;
  const launch::Plan& plan;
  const std::vector<toolchain::Resources>&
      resources;  // of ptxas; empty: registers are guessed, and the estimate says so
  isa::Target target;
  uint64_t seed = 1;
  std::function<std::unique_ptr<simt::Engine>()> engine;
};

struct TimedEstimate {
  record::Estimate whole;  // nanoseconds weighted over the sizes; the rest is of the size that takes most of it
  std::vector<double> nanoseconds;  // by size
  std::vector<double> l2_bytes;     // by size: what the launches ask of L2
  analysis::Profile profile;        // of the CTAs that ran, all sizes together
};

// Errors: JDG0020, the engine cannot run these CTAs alone, or the task has no timed sizes; PLAN00xx.
base::Result<TimedEstimate> estimate_timed(const EstimateInput& input);

// The weighted geometric mean over the sizes of how many times faster `candidate` is.
double estimated_speedup(const task::Task& task, const TimedEstimate& baseline, const TimedEstimate& candidate);

}  // namespace ptxlab::judge
