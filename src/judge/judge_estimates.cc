// The judge's estimates without a judgement: of candidates for the search of proposers, of the baseline for briefs.
#include <fmt/format.h>

#include "judge/estimate_timed.h"
#include "judge/judge.h"
#include "judge/judge_finding.h"
#include "judge/judge_state.h"
#include "judge/line_profile.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {

using base::Severity;

namespace {

base::Result<std::vector<task::CaseData>> timed_cases(const task::Task& task, uint64_t seed) {
  std::vector<task::CaseData> timed;
  for (const auto& one : task.time) {
    auto bound = task::bind_case(task, task::case_of(one.sizes, seed));
    if (!bound) return bound.findings();
    timed.push_back(std::move(*bound));
  }
  return timed;
}

base::Result<Judge::BaselineFigures> figures_of_baseline(Judge::State& state, const task::Task& task,
                                                         const JudgeOptions& options) {
  auto target = judged_target(task, options.target);
  if (!target) return target.findings();
  const auto& baseline = state.baseline(task, *target);
  if (!baseline) return baseline.findings();
  auto timed = timed_cases(task, options.seed);
  if (!timed) return timed.findings();
  const auto& made = state.baseline_estimate(task, *baseline, *timed);
  if (!made) return made.findings();
  return Judge::BaselineFigures{line_profile(baseline->module, made->profile, kTimedCtas), made->whole};
}

base::Result<record::Estimate> estimate_alone(Judge::State& state, const task::Task& task,
                                              const record::Candidate& candidate, const JudgeOptions& options) {
  auto target = judged_target(task, options.target);
  if (!target) return target.findings();
  auto checked = ptx::check(candidate.ptx, options.ptx_file);
  if (!checked.ok()) return checked.findings;
  const auto& baseline = state.baseline(task, *target);
  if (!baseline) return baseline.findings();
  auto plan = candidate.plan ? launch::read_plan(*candidate.plan, options.plan_file)
                             : base::Result<launch::Plan>(baseline->plan);
  if (!plan) return plan.findings();
  std::vector<toolchain::Resources> resources;
  if (const toolchain::Tool* ptxas = state.parts.assemblers.taking(checked.module.version)) {
    toolchain::AssembleOptions how;
    how.target = *target;
    auto assembled = toolchain::assemble(*ptxas, candidate.ptx, options.ptx_file, how);
    if (!assembled) return assembled.findings();
    resources = assembled->entries;
  }
  auto timed = timed_cases(task, options.seed);
  if (!timed) return timed.findings();
  auto made = estimate_timed({task, *timed, checked.module, *plan, resources, *target, 1, state.parts.engine});
  if (!made) return made.findings();
  return made->whole;
}

class JudgeEvaluator : public record::Evaluator {
 public:
  JudgeEvaluator(Judge& judge, const task::Task& task, JudgeOptions options)
      : judge_(judge), task_(task), options_(std::move(options)) {}
  base::Result<record::Estimate> estimate(const record::Candidate& candidate) override {
    return judge_.estimate(task_, candidate, options_);
  }

 private:
  Judge& judge_;
  const task::Task& task_;
  JudgeOptions options_;
};

}  // namespace

base::Result<record::Estimate> Judge::estimate(const task::Task& task, const record::Candidate& candidate,
                                               const JudgeOptions& options) {
  try {
    return estimate_alone(*state_, task, candidate, options);
  } catch (const std::exception& error) {
    return judge_finding("JDG0001", Severity::error, fmt::format("the estimate failed: {}", error.what()));
  }
}

base::Result<Judge::BaselineFigures> Judge::baseline_figures(const task::Task& task, const JudgeOptions& options) {
  try {
    return figures_of_baseline(*state_, task, options);
  } catch (const std::exception& error) {
    return judge_finding("JDG0001", Severity::error, fmt::format("the estimate failed: {}", error.what()));
  }
}

std::unique_ptr<record::Evaluator> make_evaluator(Judge& judge, const task::Task& task, JudgeOptions options) {
  return std::make_unique<JudgeEvaluator>(judge, task, std::move(options));
}
}  // namespace ptxlab::judge
