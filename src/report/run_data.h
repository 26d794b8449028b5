// A run as plain data: what was asked of whom, what came back, what the judge said of it. Everything that tables, pages and
// metrics show is computed from this and from nothing else; texts (PTX, prompts, findings in full) stay in the archive, under
// the attempt's number. A run is of `ptxlab bench` (arms x tasks x samples x turns) or of `ptxlab optimize`, which is read as one
// task whose proposers are the arms.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"
#include "base/result.h"
#include "record/record.h"
#include "report/failures.h"

namespace ptxlab::report {

// Measured and estimated figures are never in one list, one mean or one column.
enum class SpeedSource : uint8_t { measured, estimated };
std::string_view name_of(SpeedSource source);

struct Speedup {
  double value = 1;  // how many times as fast as the baseline
  double low = 1,
         high = 1;  // measured: the interval; estimated: value / (1 + u) to value * (1 + u), u the model's uncertainty
  std::string device;  // the GPU that measured it, or the one that the estimate stands for
};

// A proposer in the run. `ptx`: it hands in PTX; `cuda`: CUDA C, which nvcc makes PTX of.
struct Arm {
  enum class Language : uint8_t { ptx, cuda };
  std::string name;      // unique in the run
  std::string proposer;  // "rules", "openai:qwen3-32b@http://localhost:8000/v1"
  Language language = Language::ptx;
  bool model = false;        // its samples are draws of a model: independent of one another
  std::string settings;      // as the spec gives them: temperature and the like
  bool price_known = false;  // else no cost is ever said
};

// A build of the program, and what of the run it has judged.
struct Build {
  std::string version, hash;
  size_t attempts = 0;
  std::string name() const { return version + " (" + hash.substr(0, 8) + ")"; }
};

struct TaskInfo {
  std::string name;    // "norm/rmsnorm_bf16"
  std::string family;  // "norm"
  std::string split;   // train, held_out
  int level = 0, version = 1;
  std::vector<std::string> tags;   // as the task gives them
  std::vector<std::string> facts;  // of its baseline's code: "loops", "branches", "shared memory", "fragments" ...
  std::string hash;                // of all its files, as locked
};

// What one turn used of a model.
struct Use {
  int64_t requests = 0, asked = 0, answered = 0;  // tokens
  int64_t reasoning = 0, cached = 0;              // part of answered, and of asked
  bool estimated = false;                         // the server did not count all of them
  std::optional<double> usd;                      // nothing: the price is not known
  double seconds = 0;                             // waiting for the proposer
};

// What a candidate's comments claim of its code, and what of it holds (report/claims.h).
struct Claimed {
  std::string what;  // "vector width 4", "shared memory", "barrier" ...
  bool holds = false;
  std::string line;  // the comment
};

// One turn of a sample: one question, and the one candidate it led to, if any.
struct Turn {
  int turn = 1;
  std::optional<int64_t> attempt;  // in the archive; nothing: no candidate came, and `failure` says why
  std::string candidate, idea;     // names
  record::OutcomeName outcome = record::OutcomeName::malformed;
  std::string reason;  // one sentence
  FailureKind failure = FailureKind::none;
  std::string failure_code;  // the finding that decided the kind; "" where the outcome alone did
  bool assembled = false;    // ptxas took it
  bool right = false;        // found right by all gates that ran
  std::optional<Speedup> measured, estimated;
  std::string against;              // measured: the strongest baseline, by name; empty where nothing was timed
  std::set<std::string> baselines;  // all that it was timed beside
  std::optional<Speedup> measured_over_first;  // likewise against the task's first baseline, where that is another one
  const std::optional<Speedup>& over_first() const { return measured_over_first ? measured_over_first : measured; }
  int registers = 0, spill_bytes = 0, shared_bytes = 0;  // the most of any entry; 0 where it was not assembled
  std::vector<std::string> codes;                        // of all findings, each once, errors first
  std::vector<Claimed> claims;
  Use use;
  double judge_seconds = 0;
  std::chrono::system_clock::time_point at{};
};

// What one sample came to is what its last turn came to, but for speed: its fastest right turn counts.
struct Sample {
  size_t arm = 0, task = 0;  // indices
  int number = 1;            // from 1
  std::vector<Turn> turns;
  Use in_vain;  // what its questions have used that got no answer
  // Why it counts nowhere, in words: not asked yet, not answered, not judged yet, the machine's trouble. "": it counts.
  std::string unanswered;
  bool counts() const { return unanswered.empty(); }
  bool right() const;      // any turn
  bool assembled() const;  // any turn
  // The turn that counts: the fastest right one (measured before estimated), else the last; nothing without turns.
  const Turn* best() const;
  std::optional<int> first_right() const;  // turn
};

struct RunData {
  std::string id, command, program;  // program: version of ptxlab
  std::chrono::system_clock::time_point started{};
  bool bench = false;                  // else of optimize
  std::string name;                    // the spec's, or the task's
  std::vector<Build> builds;           // that it was made with, in order; of optimize nothing is known
  std::string lock;                    // the locked spec as JSON text ("ptxlab.lock/1"); "" for optimize
  std::string rejudged_from;           // the run whose candidates were judged again; ""
  std::string target, device, driver;  // device "": no GPU, so all speed is estimated
  std::vector<std::pair<std::string, std::string>> toolchain;  // "ptxas" -> "12.8.93"
  uint64_t seed = 0;
  int k = 1, turns = 1;         // samples a task, turns a sample: as locked
  bool stop_when_right = true;  // a sample ends with its first right turn; else it goes on, to become faster
  std::vector<Arm> arms;
  std::vector<TaskInfo> tasks;
  std::vector<Sample> samples;  // by arm, task, number; all that the spec asks for, done or not
  bool whole = true;            // every sample is done
  int64_t interrupted = 0;  // questions that were on their way when the run was killed: they may have cost something
};

// What an attempt is as a turn. `gpu`: the run had one, so that the baseline's own code counts as measured.
Turn turn_of(const record::Attempt& attempt, bool gpu);

// Errors: ARC0004 unreadable, ARC0007 no such run. `id` may be "last", or the beginning of an id that only one run has.
base::Result<RunData> read_run(archive::Archive& archive, std::string_view id);

}  // namespace ptxlab::report
