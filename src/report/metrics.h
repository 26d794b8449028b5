// What a run says, in figures. Each comes with the number of tasks and samples behind it and an interval: there is no figure
// without. Intervals are 95 %, by bootstrap over tasks, since tasks are what one wants to speak about in general. docs/bench.md has
// the formulas and their sources.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/run_data.h"
#include "stats/student.h"

namespace ptxlab::report {

struct MetricOptions {
  int draws = 2000;  // of the bootstrap
  double alpha = 0.05;
  uint64_t seed = 1;
  std::vector<int> ks;  // empty: 1, 2, 5, 10, 20, 50, 100 ... up to the run's k, which is always there
  std::vector<double> ps = {0, 0.5, 0.8, 1, 1.5, 2};  // thresholds of fast_p
};

// A share or a mean over tasks. `interval.center` is the figure.
struct Figure {
  stats::Interval interval;
  size_t tasks = 0, samples = 0;
};

struct PassAtK {
  int k = 1;
  Figure figure;
};
struct FastAtK {
  double p = 1;
  int k = 1;
  Figure figure;
};

// How fast, of one source. A task without a right candidate keeps its baseline: 1 times as fast.
struct SpeedMetrics {
  SpeedSource source = SpeedSource::estimated;
  std::vector<FastAtK> fast;       // by k, then p
  std::vector<PassAtK> best_of_k;  // geometric mean over tasks of the expected best of k
  struct Best {
    size_t task = 0;               // index in the run
    std::optional<size_t> sample;  // index in the run; nothing: none was right
    Speedup speedup;
    double known = 0;  // the farthest that the whole interval of any right turn lies beyond: what fast_p goes by
  };
  std::vector<Best> best;  // of all samples, by task
  std::optional<Figure>
      right_only;      // geometric mean of the best of the tasks that have a right one, as it is: slower ones too
  size_t unknown = 0;  // right samples without a speed-up of this source: they count as 1
};

// The share of right samples in a part of the run.
struct GroupFigure {
  std::string key;              // family, level, split, tag, fact
  std::string value;            // "norm"
  Figure assembled, right;      // pass@1
  Figure right_at_k;            // pass@k, k the run's
  std::optional<Figure> speed;  // geometric mean of the best, of the arm's own source
};

struct TurnFigure {
  int turn = 1;
  size_t asked = 0;  // samples that came so far
  Figure right;      // share of samples right by this turn
};

// Whether what comments claim holds, against being right.
struct ClaimMetrics {
  size_t candidates = 0, with_claims = 0, claims = 0, hold = 0;
  // Candidates with claims, by whether all of them hold and whether they are right.
  size_t true_right = 0, true_wrong = 0, false_right = 0, false_wrong = 0;
  std::optional<Figure> share;       // of claims that hold
  std::optional<double> odds_ratio;  // of being right, true claims against false ones (0.5 added to each cell)
  std::optional<double> p_value;     // Fisher's exact test; candidates of one task count as independent
  struct Kind {
    std::string what;
    size_t claims = 0, hold = 0;
  };
  std::vector<Kind> kinds;
};

struct CostMetrics {
  int64_t requests = 0, asked = 0, answered = 0, reasoning = 0;
  bool tokens_estimated = false;
  std::optional<double> usd;  // nothing: the price is not known
  double ask_seconds = 0, judge_seconds = 0;
  size_t successes = 0;                                                      // samples that are right
  std::optional<Figure> usd_a_success, seconds_a_success, tokens_a_success;  // totals' ratio; nothing: no success
};

struct FailureCount {
  FailureKind kind = FailureKind::none;
  size_t turns = 0;                                   // of all turns
  size_t samples = 0;                                 // samples that end so, of those that count
  std::vector<std::pair<std::string, size_t>> codes;  // deciding codes, the commonest first; by turns
};

struct ArmMetrics {
  size_t arm = 0;  // index
  // Its samples are draws of a model, so that k of n are any k of them; else they are one list in its proposer's order, and k of
  // them are the first k.
  bool draws = false;
  size_t tasks = 0, samples = 0, missing = 0;  // missing: never asked or not answered; they count nowhere
  std::vector<PassAtK> assembled, right;       // pass@k
  std::vector<SpeedMetrics> speed;             // one for each source that is there
  std::vector<GroupFigure> groups;
  std::vector<TurnFigure> turns;
  std::optional<Figure> repair_rounds;  // turns needed beyond the first, of samples that came out right
  ClaimMetrics claims;
  CostMetrics cost;
  std::vector<FailureCount> failures;  // every kind that is there, most samples first; `none` among them
};

struct RunMetrics {
  int k = 1;
  MetricOptions options;
  std::vector<ArmMetrics> arms;
  std::vector<std::string> notes;  // what a reader must know: the run is not whole, too few tasks for an interval ...
};

RunMetrics compute(const RunData& run, const MetricOptions& options = {});

// --- two arms on the same tasks ---------------------------------------------------------------------------------------------
struct PairedTask {
  std::string task;
  double right_a = 0, right_b = 0;       // share of right samples
  std::optional<double> best_a, best_b;  // best speed-up of the compared source; 1 where none was right
};

// A difference b - a (of speed: a ratio b / a), and whether the run is large enough to say that there is one.
struct Difference {
  std::string what;  // "pass@1", "pass@8", "fast_1@8", "best speed-up"
  double a = 0, b = 0;
  stats::Interval interval;  // of the difference or ratio
  size_t tasks = 0;
  bool ratio = false;
  double signs_p = 1;     // that the differences' signs are chance (stats/sign_flip.h): exact for a handful of tasks
  bool resolved = false;  // the interval leaves 0 (of a ratio: 1) out, and the signs are no chance
  std::optional<double> p_value;  // McNemar's exact test over tasks that one solves and the other does not
};

struct Comparison {
  std::string run_a, arm_a, run_b, arm_b;
  std::vector<PairedTask> tasks;                         // those that both have, with the same hash
  std::vector<std::string> left_out;                     // "norm/x: another version of the task"
  size_t only_a = 0, only_b = 0, both = 0, neither = 0;  // tasks solved at least once in as many samples as both have
  std::optional<SpeedSource> source;  // of the speeds; nothing: they have none in common, and none is compared
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // other toolchain, other device, other k ...
};

// Arms are indices into the runs' lists.
Comparison compare(const RunData& a, size_t arm_a, const RunData& b, size_t arm_b, const MetricOptions& options = {});

// --- the same candidates judged again --------------------------------------------------------------------------------------
// What is left of a run's results on another GPU, for another target: of the candidates that were right, how many still are, and how
// much of their speed-up they keep (what it is now, divided by what it was; of one source).
struct Retained {
  size_t arm = 0;
  Figure right;                               // the share that is right still
  size_t missing = 0;                         // right ones that have not been judged again, or the machine had trouble
  std::optional<Figure> measured, estimated;  // geometric means of the ratio
};
// `now` was judged from `then` again: the arms are the same.
std::vector<Retained> retained(const RunData& then, const RunData& now, const MetricOptions& options = {});
// What else has changed between the two: tasks, above all.
std::vector<std::string> retained_notes(const RunData& then, const RunData& now);

// "ptxlab.bench/1": run and metrics, small: no texts, a line a sample.
nlohmann::json to_json(const RunData& run, const RunMetrics& metrics);
// Its member "retained".
nlohmann::json to_json(const RunData& then, const std::vector<Retained>& retained,
                       const std::vector<std::string>& notes);
nlohmann::json to_json(const Comparison& comparison);  // "ptxlab.compare/1"

}  // namespace ptxlab::report
