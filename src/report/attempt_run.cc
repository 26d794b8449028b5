#include "report/attempt_run.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace ptxlab::report {

RunData run_of(std::span<const record::Attempt> attempts, std::string program) {
  assert(!attempts.empty());
  const auto& first = attempts.front();
  RunData run;
  run.id = first.run;
  run.name = attempts.size() == 1 && !first.candidate.name.empty() ? first.candidate.name : first.task;
  run.program = std::move(program);
  run.started = first.at;
  TaskInfo task;
  task.name = first.task;
  task.family = first.task.substr(0, first.task.find('/'));
  run.tasks.push_back(std::move(task));
  std::map<std::string, int> numbers;
  for (const auto& attempt : attempts) {
    const auto& verdict = attempt.verdict;
    if (run.target.empty()) run.target = verdict.target;
    if (verdict.timing) run.device = verdict.timing->device, run.driver = verdict.timing->driver;
    const std::string& name = attempt.candidate.proposer;
    auto arm = std::find_if(run.arms.begin(), run.arms.end(), [&](const Arm& one) { return one.name == name; });
    if (arm == run.arms.end()) {
      arm = run.arms.insert(arm, Arm{});
      arm->name = arm->proposer = name;
      arm->model = !attempt.candidate.answer.empty();
    }
    Sample sample;
    sample.arm = static_cast<size_t>(arm - run.arms.begin());
    sample.number = ++numbers[name];
    run.k = std::max(run.k, sample.number);
    sample.turns.push_back(turn_of(attempt, verdict.timing.has_value()));
    run.samples.push_back(std::move(sample));
  }
  return run;
}

}  // namespace ptxlab::report
