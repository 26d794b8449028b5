// `tasks lint`: a task has to be able to say no. Its baseline must be right, by a margin that the tolerance rule names; every
// input must matter; and mutants, of the outputs and of the baseline's PTX, must fail in at least one case.
#pragma once
#include <string>
#include <vector>

#include "base/finding.h"
#include "isa/target.h"
#include "judge/judge.h"
#include "task/task.h"

namespace ptxlab::judge {

struct LintRow {
  enum class Result : uint8_t { ok, failed, skipped } result = Result::ok;
  std::string what;    // "baseline", "input x", "mutant zeros"
  std::string detail;  // in how many cases a mutant failed; why skipped
};
std::string_view name_of(LintRow::Result result);

struct LintReport {
  std::string task;
  std::vector<LintRow> rows;
  base::Findings findings;  // errors that stopped it, and one for each failed row (LINTxxxx)
  bool ok() const { return !base::has_error(findings); }
};

struct LintOptions {
  uint64_t seed = 1;
  size_t threads = 0;
};

LintReport lint(const task::Task& task, const LintOptions& options, const Parts& parts = installed_parts());

// A table for people: a row each, then the findings' messages.
std::string text(const LintReport& report);

}  // namespace ptxlab::judge
