// The assemble gate: ptxas on the candidate for the judged target, the brief's constraints on what it reports, and
// whether the machine code differs from the baseline's at all.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "judge/baseline.h"
#include "record/record.h"

namespace ptxlab::judge {

struct AssembleInput {
  std::string_view ptx, file;
  const ptx::Module& module;
  const launch::Plan& plan;
  const std::vector<launch::ResolvedPlan>& plans;           // of the candidate, by case
  const std::vector<launch::ResolvedPlan>& baseline_plans;  // beside them; empty: unknown
  const Baseline& baseline;
  const record::Constraints& constraints;
  const Assemblers& assemblers;
};

struct AssembleResult {
  record::GateStatus status = record::GateStatus::not_run;
  std::string reason;
  std::optional<record::OutcomeName> outcome;
  std::string outcome_reason;
  base::Findings findings;
  std::vector<toolchain::Resources> resources;  // of the entries that the plan launches
  std::string code_digest;
  std::string cubin;  // where ptxas made one
};

AssembleResult run_assemble_gate(const AssembleInput& input);

}  // namespace ptxlab::judge
