// The execute gate: every case of the task on the GPU, twice, with another poison around and inside what nobody initialises;
// then the oracle. The right answers never reach the GPU. A module that has variables is loaded anew for each case and kept for the second
// execution (unless it may keep state), so that what is right at the first launch only is wrong. Where the engine says right
// and the GPU wrong, other assemblies of the text are asked before it is blamed (second_opinion.h).
#pragma once
#include <filesystem>
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
  bool right_on_engine = false;    // the emulate gate passed: a GPU that says otherwise is not believed at once
  std::filesystem::path suspects;  // where an assembler suspect's folder goes; empty: nowhere
  std::optional<isa::Target> target = {};  // what the judge assembled it for; absent: what suits module and GPU
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
