// The cases of a task under one seed with their right answers: from the reference in double precision, or, where a
// user's task has none, from the user's own kernel on the engine. Made once and used for every candidate.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/baseline.h"
#include "judge/emulate.h"
#include "simt/engine.h"
#include "task/case.h"
#include "task/compare.h"
#include "task/oracle.h"
#include "task/task.h"

namespace ptxlab::judge {

// What is right for one output of one case.
struct Answer {
  std::string output;  // a view's name: "y", or "y.d" for a field of records
  size_t buffer = 0;   // its index among the task's buffers
  std::vector<task::Expected> expected;
  std::vector<uint64_t> indices;  // the elements that `expected` belongs to; empty: all, in order
  bool nothing = false;           // no element of it counts here
  double baseline_rms = 0;        // of the baseline's own error, 0 unknown
};

struct PreparedCase {
  task::CaseData data;
  std::vector<Answer> answers;
  uint64_t baseline_instructions = 0;  // thread instructions of the baseline, 0 unknown
};

struct PreparedTask {
  task::Task task;     // the user's own kernel's inexactness granted in its tolerances
  std::string oracle;  // who says what is right
  std::vector<PreparedCase> cases;
  std::vector<task::CaseData> timed;  // the timed sizes, without their inputs' bytes
  base::Findings findings;  // what every verdict has to say: what was granted, which cases are left out and why
};

struct PrepareOptions {
  uint64_t seed = 1;
  size_t threads = 0;
  std::function<std::unique_ptr<simt::Engine>()> engine;
  std::function<base::Result<std::unique_ptr<task::Oracle>>(const task::Task&)> reference;
};

// Errors: TASK00xx and ORA00xx of the parts; JDG0010, no case can be judged (the engine lacks what the baseline needs,
// and there is no reference); JDG0011, the baseline itself is wrong on ordinary inputs, so the task cannot judge
// anything.
base::Result<PreparedTask> prepare(const task::Task& task, const Baseline& baseline, const PrepareOptions& options);

// How the outputs of a finished run compare; the first output that is wrong decides the summary. `unwritten` findings
// (CMP0101) and modified inputs (CMP0102) count as wrong.
struct CaseVerdict {
  bool right = false;
  std::string summary;
  base::Findings findings;
};
CaseVerdict compare_case(const task::Task& task, const PreparedCase& prepared, const CaseRun& run);

}  // namespace ptxlab::judge
