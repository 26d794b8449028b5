// The execute gate: every case of the task on the GPU, twice, with another poison around and inside what nobody initialises;
// then the oracle. The right answers never reach the GPU.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gpu/runner.h"
#include "judge/answers.h"
#include "judge/assemblers.h"
#include "record/record.h"

namespace ptxlab::judge {

struct ExecuteInput {
  const PreparedTask& prepared;
  std::string_view ptx, file;
  const ptx::Module& module;
  const std::vector<launch::ResolvedPlan>& plans;  // by case
  const Assemblers& assemblers;                    // for the GPU that is there; without any, its driver compiles
  gpu::Runner& runner;
};

struct ExecuteResult {
  record::GateStatus status = record::GateStatus::not_run;
  std::string reason;
  std::optional<record::OutcomeName> outcome;
  std::string outcome_reason;
  base::Findings findings;
};

ExecuteResult run_execute_gate(const ExecuteInput& input);

}  // namespace ptxlab::judge
