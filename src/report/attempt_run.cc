#include "report/attempt_run.h"

#include <utility>

namespace ptxlab::report {

RunData run_of(const record::Attempt& attempt, std::string program) {
  const auto& verdict = attempt.verdict;
  RunData run;
  run.id = attempt.run;
  run.name = attempt.candidate.name.empty() ? attempt.task : attempt.candidate.name;
  run.program = std::move(program);
  run.started = attempt.at;
  run.target = verdict.target;
  if (verdict.timing) run.device = verdict.timing->device, run.driver = verdict.timing->driver;
  Arm arm;
  arm.name = arm.proposer = attempt.candidate.proposer.empty() ? "files" : attempt.candidate.proposer;
  arm.model = !attempt.candidate.answer.empty();
  run.arms.push_back(std::move(arm));
  TaskInfo task;
  task.name = attempt.task;
  task.family = attempt.task.substr(0, attempt.task.find('/'));
  run.tasks.push_back(std::move(task));
  Sample sample;
  sample.turns.push_back(turn_of(attempt, verdict.timing.has_value()));
  run.samples.push_back(std::move(sample));
  return run;
}

}  // namespace ptxlab::report
