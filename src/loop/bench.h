// Bench: every arm of a locked spec at every task, k samples of up to t turns each, side by side. What was asked, what came back
// and what was judged is in the archive before anything builds on it, so that a run that is killed goes on where it was: an answer
// that is there is not asked for again, an attempt that is there is not judged again.
//
// A proposer that learns (a model) is asked once for each turn of each sample, and each sample sees its own earlier turns only, so
// that samples are independent. One that does not is asked once a task for all k, and these are its samples.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "archive/archive.h"
#include "archive/bench.h"
#include "loop/lock.h"
#include "record/proposer.h"
#include "record/record.h"

namespace ptxlab::loop {

// The world of a bench run; all are called from several threads at once.
struct BenchParts {
  // The brief of a task (index into the lock's), without earlier attempts.
  std::function<base::Result<record::Brief>(size_t task)> brief;
  // A fresh proposer for one question of an arm (index into the spec's).
  std::function<base::Result<std::unique_ptr<record::Proposer>>(size_t arm, const archive::Cell& cell)> proposer;
  std::function<record::Verdict(size_t task, const record::Candidate& candidate)> judge;
  // Makes `ptx` of `cuda`; where that cannot be, an error among the candidate's findings. Returns trouble of the machine.
  std::function<base::Findings(size_t task, record::Candidate& candidate)> compile;
  // Why an arm that has used so much, over so many seconds, may ask no more; nothing: it may. Empty: every arm may.
  std::function<std::optional<std::string>(size_t arm, const record::Usage& used, double seconds)> refused;
  // Which questions there are; a sample ends before one that there is not, and nobody is asked: answers are taken from another run.
  // Empty: all, and those who answer are asked.
  std::function<bool(const archive::Cell& cell)> exists;
  archive::Archive* archive = nullptr;
};

struct BenchProgress {
  int64_t done = 0, total = 0;  // questions; a sample that ends early takes its other turns with it
  archive::Cell cell;
  const record::Attempt* attempt = nullptr;  // null: no candidate came
};

struct BenchOptions {
  size_t jobs = 0;  // candidates judged at once; 0: the machine's cores
  std::function<void(const BenchProgress&)> progress;
};

struct BenchResult {
  int64_t asked = 0, judged = 0;  // now
  int64_t found = 0;              // answers that were there already
  int64_t unanswered = 0;         // questions that got no answer: they are asked when the run goes on
  bool whole = false;             // nothing is left to do
  bool failed = false;            // stopped early: the archive, the machine
  base::Findings findings;        // each thing once
};

// Does what is still to do of the run `run`, which is in the archive under this lock.
BenchResult run_bench(const Lock& lock, const std::string& run, const BenchParts& parts, const BenchOptions& options);

// So many verdicts in a row that blame the machine end a run: it would only fill the archive with them.
inline constexpr int kMachineTrouble = 20;

}  // namespace ptxlab::loop
