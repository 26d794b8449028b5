// The emulate gate: every case of the task on the engine with every checker, cheap cases under a second schedule too,
// so that a result which depends on the order of warps shows; then the oracle.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/answers.h"
#include "judge/baseline.h"
#include "judge/emulate.h"
#include "record/record.h"
#include "simt/engine.h"

namespace ptxlab::judge {

struct EmulateInput {
  const PreparedTask& prepared;
  const Baseline& baseline;
  const ptx::Module& module;
  const std::vector<launch::ResolvedPlan>& plans;  // by case
  uint64_t seed = 1;
  size_t threads = 0;
  std::function<std::unique_ptr<simt::Engine>()> engine;
};

struct EmulateResult {
  record::GateStatus status = record::GateStatus::not_run;
  std::string reason;                          // for the gate
  std::optional<record::OutcomeName> outcome;  // set where the gate decides
  std::string outcome_reason;
  base::Findings findings;
  std::vector<record::CaseResult> cases;
  std::vector<uint32_t> unexecuted_lines;
  analysis::Profile profile;  // of all cases and schedules
  analysis::Profile in_step;  // of all cases under the first schedule: whose lanes stay together as long as they can
};

EmulateResult run_emulate_gate(const EmulateInput& input);

// What the checkers say of the user's own kernel is not held against a candidate made from it, and nothing else is: an
// error becomes a warning where the user's kernel, on the same case, has an error of the same code about the same thing
// (kind of access, nearness of the threads, buffer), met not much less often.
void excuse_what_the_own_kernel_does(const CaseRun& own, CaseRun& run);

}  // namespace ptxlab::judge
