#include "report/arm_samples.h"

#include <algorithm>
#include <cmath>

#include "stats/pass_at_k.h"
#include "stats/proportion.h"
#include "stats/summary.h"

namespace ptxlab::report {
namespace {

size_t passed_among(const ArmSamples& samples, const ArmSamples::Task& task, const Holds& holds, size_t first) {
  size_t passed = 0;
  for (size_t i = 0; i < first; ++i) passed += holds(samples.run->samples[task.samples[i]]);
  return passed;
}

// One task says nothing of others: the interval is of the chance that this task's next samples hold.
stats::Interval of_one_task(size_t passed, size_t n, int k, bool draws, double value, double alpha) {
  if (!draws) return {value, value, value};  // the same list every time
  auto each = stats::wilson_interval(passed, n, alpha);
  const auto any = [&](double p) { return 1 - std::pow(1 - p, k); };
  return {std::min(any(each.low), value), std::max(any(each.high), value), value};
}

}  // namespace

ArmSamples::ArmSamples(const RunData& data, size_t arm) : run(&data) {
  for (size_t task = 0; task < data.tasks.size(); ++task) tasks.push_back({task, {}});
  for (size_t i = 0; i < data.samples.size(); ++i) {
    const auto& sample = data.samples[i];
    if (sample.arm != arm) continue;
    if (sample.counts()) {
      tasks[sample.task].samples.push_back(i);
    } else {
      ++missing;
    }
  }
}

ArmSamples ArmSamples::of(const std::set<size_t>& wanted) const {
  ArmSamples part = *this;
  std::erase_if(part.tasks, [&](const Task& task) { return !wanted.count(task.task); });
  return part;
}

std::optional<Speedup> speed_of(const Sample& sample, SpeedSource source) {
  std::optional<Speedup> best;
  for (const auto& turn : sample.turns) {
    const auto& speed = source == SpeedSource::measured ? turn.measured : turn.estimated;
    if (turn.right && speed && (!best || speed->value > best->value)) best = speed;
  }
  return best;
}

double known_of(const Sample& sample, SpeedSource source) {
  double known = 0;
  for (const auto& turn : sample.turns) {
    const auto& speed = source == SpeedSource::measured ? turn.measured : turn.estimated;
    if (turn.right && speed) known = std::max(known, speed->low);
  }
  return known;
}

bool is_fast(const Sample& sample, SpeedSource source, double p) {
  return p <= 0 ? sample.right() : known_of(sample, source) > p;
}

bool has_source(const RunData& run, size_t arm, SpeedSource source) {
  return std::any_of(run.samples.begin(), run.samples.end(),
                     [&](const Sample& s) { return s.arm == arm && speed_of(s, source).has_value(); });
}

std::optional<SpeedSource> usual_source(const RunData& run, size_t arm) {
  auto source = run.device.empty() ? SpeedSource::estimated : SpeedSource::measured;
  return has_source(run, arm, source) ? std::optional(source) : std::nullopt;
}

double pass_of(const ArmSamples& samples, const ArmSamples::Task& task, const Holds& holds, int k, bool draws) {
  const size_t n = task.samples.size(), wanted = static_cast<size_t>(k);
  if (!draws) return passed_among(samples, task, holds, wanted) > 0 ? 1 : 0;
  return stats::pass_at_k(n, passed_among(samples, task, holds, n), wanted);
}

double log_best_of(const ArmSamples& samples, const ArmSamples::Task& task, SpeedSource source, int k, bool draws) {
  std::vector<double> logs;
  for (size_t i : task.samples) {
    auto speed = speed_of(samples.run->samples[i], source);
    logs.push_back(speed ? std::log(std::max(1.0, speed->value)) : 0);
  }
  if (!draws) return *std::max_element(logs.begin(), logs.begin() + k);
  return stats::best_of_k(logs, static_cast<size_t>(k));
}

stats::Interval exponential(stats::Interval logs) {
  return {std::exp(logs.low), std::exp(logs.high), std::exp(logs.center)};
}

Figure Figures::pass(const Holds& holds, int k) const {
  Figure figure;
  std::vector<double> values;
  size_t passed = 0;
  for (const auto& task : samples_.tasks) {
    if (task.samples.size() < static_cast<size_t>(k)) continue;
    values.push_back(pass_of(samples_, task, holds, k, draws_));
    passed += passed_among(samples_, task, holds, task.samples.size());
    figure.samples += task.samples.size();
  }
  figure.tasks = values.size();
  figure.interval = values.size() == 1 ? of_one_task(passed, figure.samples, k, draws_, values.front(), options_.alpha)
                                       : stats::share_interval(values, bootstrap());
  return figure;
}

Figure Figures::mean_share(const Holds& holds) const {
  Figure figure;
  std::vector<double> values;
  size_t passed = 0;
  for (const auto& task : samples_.tasks) {
    const size_t n = task.samples.size();
    if (n == 0) continue;
    const size_t of_task = passed_among(samples_, task, holds, n);
    values.push_back(static_cast<double>(of_task) / static_cast<double>(n));
    passed += of_task;
    figure.samples += n;
  }
  figure.tasks = values.size();
  figure.interval = values.size() == 1 ? of_one_task(passed, figure.samples, 1, draws_, values.front(), options_.alpha)
                                       : stats::share_interval(values, bootstrap());
  return figure;
}

Figure Figures::best(SpeedSource source, int k) const {
  Figure figure;
  std::vector<double> logs;
  for (const auto& task : samples_.tasks) {
    if (task.samples.size() < static_cast<size_t>(k)) continue;
    logs.push_back(log_best_of(samples_, task, source, k, draws_));
    figure.samples += task.samples.size();
  }
  figure.tasks = logs.size();
  figure.interval = exponential(stats::mean_interval(logs, bootstrap()));
  // The baseline stays where nothing is better, so no mean is below 1.
  figure.interval.low = std::max(1.0, figure.interval.low);
  return figure;
}

std::map<std::string, std::set<std::string>> baselines_by_task(const RunData& run, std::optional<size_t> arm) {
  std::map<std::string, std::set<std::string>> all;
  for (const auto& sample : run.samples) {
    if (arm && sample.arm != *arm) continue;
    for (const auto& turn : sample.turns)
      all[run.tasks[sample.task].name].insert(turn.baselines.begin(), turn.baselines.end());
  }
  return all;
}

}  // namespace ptxlab::report
