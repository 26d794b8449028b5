// The samples of one arm by task, and figures of them: what metrics and comparisons share.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/metrics.h"
#include "report/run_data.h"
#include "stats/bootstrap.h"

namespace ptxlab::report {

struct ArmSamples {
  struct Task {
    size_t task = 0;              // index in the run
    std::vector<size_t> samples;  // those that count, by number; indices in the run
  };
  const RunData* run = nullptr;
  std::vector<Task> tasks;
  size_t missing = 0;

  ArmSamples(const RunData& run, size_t arm);
  ArmSamples of(const std::set<size_t>& wanted) const;  // of these tasks alone
};

using Holds = std::function<bool(const Sample&)>;

// The fastest of its right turns that this source knows of.
std::optional<Speedup> speed_of(const Sample& sample, SpeedSource source);
// Its right turns are known to be more than this many times as fast: the highest lower end of their intervals; 0 without any.
double known_of(const Sample& sample, SpeedSource source);
// Right, and for p > 0 known to be more than p times as fast: the whole interval lies beyond.
bool is_fast(const Sample& sample, SpeedSource source, double p);
bool has_source(const RunData& run, size_t arm, SpeedSource source);
// Measured where the run has a GPU, else estimated; nothing where no sample has that.
std::optional<SpeedSource> usual_source(const RunData& run, size_t arm);

// A task's own values, for k of its samples; it has at least k.
double pass_of(const ArmSamples& samples, const ArmSamples::Task& task, const Holds& holds, int k, bool draws);
// The logarithm of the best speed-up; what is not right, not known or slower leaves the baseline in its place.
double log_best_of(const ArmSamples& samples, const ArmSamples::Task& task, SpeedSource source, int k, bool draws);

stats::Interval exponential(stats::Interval logs);

class Figures {
 public:
  Figures(const ArmSamples& samples, bool draws, const MetricOptions& options)
      : samples_(samples), draws_(draws), options_(options) {}
  // Over the tasks that have at least k samples.
  Figure pass(const Holds& holds, int k) const;
  Figure best(SpeedSource source, int k) const;
  // The share of samples, whatever k: the mean of the tasks' shares.
  Figure mean_share(const Holds& holds) const;

 private:
  stats::Bootstrap bootstrap() const { return {options_.draws, options_.alpha, options_.seed}; }
  const ArmSamples& samples_;
  bool draws_;
  const MetricOptions& options_;
};

// What candidates were timed beside, by the task's name: of one arm, or of all.
std::map<std::string, std::set<std::string>> baselines_by_task(const RunData& run, std::optional<size_t> arm = {});

}  // namespace ptxlab::report
