#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "report/arm_samples.h"
#include "stats/proportion.h"

namespace ptxlab::report {
namespace {

using Key = std::tuple<std::string, std::string, int, int>;  // arm, task, sample, turn

std::map<Key, const Turn*> turns_of(const RunData& run) {
  std::map<Key, const Turn*> turns;
  for (const auto& sample : run.samples) {
    if (!sample.counts()) continue;
    for (const auto& turn : sample.turns)
      turns[{run.arms[sample.arm].name, run.tasks[sample.task].name, sample.number, turn.turn}] = &turn;
  }
  return turns;
}

// By task: what is added up there.
struct Sums {
  double right = 0, all = 0, logs = 0, pairs = 0;
};

}  // namespace

std::vector<Retained> retained(const RunData& then, const RunData& now, const MetricOptions& options) {
  const stats::Bootstrap bootstrap{options.draws, options.alpha, options.seed};
  const auto today = turns_of(now);
  std::vector<Retained> all;
  for (size_t arm = 0; arm < then.arms.size(); ++arm) {
    std::map<size_t, Sums> by_task[2];
    size_t missing = 0;
    for (const auto& sample : then.samples) {
      if (sample.arm != arm || !sample.counts()) continue;
      for (const auto& turn : sample.turns) {
        auto found = today.find({then.arms[arm].name, then.tasks[sample.task].name, sample.number, turn.turn});
        if (!turn.right) continue;
        if (found == today.end()) {
          ++missing;
          continue;
        }
        const Turn& again = *found->second;
        for (int source = 0; source < 2; ++source) {
          auto& sums = by_task[source][sample.task];
          ++sums.all, sums.right += again.right;
          // Beside other baselines than then, only what is over the first one says the same.
          const bool same = turn.baselines == again.baselines;
          const auto& old = source ? turn.estimated : same ? turn.measured : turn.over_first();
          const auto& fresh = source ? again.estimated : same ? again.measured : again.over_first();
          if (again.right && old && fresh) sums.logs += std::log(fresh->value / old->value), ++sums.pairs;
        }
      }
    }
    Retained made;
    made.arm = arm;
    made.missing = missing;
    double kept = 0;
    std::vector<double> shares;
    for (const auto& [task, sums] : by_task[0]) {
      shares.push_back(sums.right / sums.all);
      made.right.samples += static_cast<size_t>(sums.all);
      kept += sums.right;
    }
    made.right.tasks = shares.size();
    // One task says nothing of others: then it is of its candidates.
    made.right.interval = shares.size() == 1
                              ? stats::wilson_interval(static_cast<uint64_t>(kept), made.right.samples, options.alpha)
                              : stats::share_interval(shares, bootstrap);
    for (int source = 0; source < 2; ++source) {
      std::vector<double> means;
      size_t pairs = 0;
      for (const auto& [task, sums] : by_task[source]) {
        if (sums.pairs > 0) means.push_back(sums.logs / sums.pairs), pairs += static_cast<size_t>(sums.pairs);
      }
      if (means.empty()) continue;
      (source ? made.estimated : made.measured) =
          Figure{exponential(stats::mean_interval(means, bootstrap)), means.size(), pairs};
    }
    all.push_back(std::move(made));
  }
  return all;
}

std::vector<std::string> retained_notes(const RunData& then, const RunData& now) {
  std::vector<std::string> notes;
  std::map<std::string, std::string> hashes;
  for (const auto& task : now.tasks) hashes[task.name] = task.hash;
  for (const auto& task : then.tasks) {
    const auto found = hashes.find(task.name);
    if (found != hashes.end() && found->second != task.hash)
      notes.push_back(task.name + " is another version of the task than then");
  }
  // By task: what was timed beside its candidates.
  const auto before = baselines_by_task(then), after = baselines_by_task(now);
  size_t others = 0;
  for (const auto& [name, baselines] : after) {
    const auto old = before.find(name);
    others += old != before.end() && !old->second.empty() && !baselines.empty() && old->second != baselines;
  }
  if (others > 0)
    notes.push_back(
        fmt::format("timed beside other baselines than then at {} task{}: there the speed-ups over the first "
                    "baseline are divided",
                    others, others == 1 ? "" : "s"));
  return notes;
}

}  // namespace ptxlab::report
