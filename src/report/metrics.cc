#include "report/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "report/arm_samples.h"
#include "stats/bootstrap.h"
#include "stats/pass_at_k.h"
#include "stats/tables.h"

namespace ptxlab::report {
namespace {

using stats::Interval;

class ArmComputer {
 public:
  ArmComputer(const RunData& run, size_t arm, const std::vector<int>& ks, const MetricOptions& options)
      : run_(run), ks_(ks), options_(options), all_(run, arm), source_(usual_source(run, arm)) {
    out_.arm = arm;
    out_.draws = run.arms[arm].model;
  }

  ArmMetrics compute() {
    out_.missing = all_.missing;
    for (const auto& task : all_.tasks) {
      out_.tasks += !task.samples.empty();
      out_.samples += task.samples.size();
    }
    for (int k : ks_) {
      out_.assembled.push_back({k, figures(all_).pass(is_assembled, k)});
      out_.right.push_back({k, figures(all_).pass(is_right, k)});
    }
    for (auto source : {SpeedSource::measured, SpeedSource::estimated}) {
      if (has_source(run_, out_.arm, source)) out_.speed.push_back(speed(source));
    }
    groups();
    turns();
    claims();
    cost();
    failures();
    return std::move(out_);
  }

 private:
  static bool is_assembled(const Sample& sample) { return sample.assembled(); }
  static bool is_right(const Sample& sample) { return sample.right(); }

  Figures figures(const ArmSamples& samples) const { return Figures(samples, out_.draws, options_); }
  stats::Bootstrap bootstrap() const { return {options_.draws, options_.alpha, options_.seed}; }

  SpeedMetrics speed(SpeedSource source) const {
    SpeedMetrics made;
    made.source = source;
    for (int k : ks_) {
      for (double p : options_.ps) {
        made.fast.push_back({p, k, figures(all_).pass([&](const Sample& s) { return is_fast(s, source, p); }, k)});
      }
      made.best_of_k.push_back({k, figures(all_).best(source, k)});
    }
    std::vector<double> logs;
    size_t samples = 0;
    for (const auto& task : all_.tasks) {
      if (task.samples.empty()) continue;
      SpeedMetrics::Best best;
      best.task = task.task;
      for (size_t i : task.samples) {
        const auto& sample = run_.samples[i];
        auto speed = speed_of(sample, source);
        made.unknown += sample.right() && !speed;
        best.known = std::max(best.known, known_of(sample, source));
        if (speed && (!best.sample || speed->value > best.speedup.value)) best.sample = i, best.speedup = *speed;
      }
      if (best.sample) logs.push_back(std::log(best.speedup.value)), samples += task.samples.size();
      made.best.push_back(std::move(best));
    }
    if (!logs.empty())
      made.right_only = Figure{exponential(stats::mean_interval(logs, bootstrap())), logs.size(), samples};
    return made;
  }

  // --- parts of the suite ------------------------------------------------------------------------------------------------
  void groups() {
    std::map<std::pair<std::string, std::string>, std::set<size_t>> members;
    for (size_t i = 0; i < run_.tasks.size(); ++i) {
      const auto& task = run_.tasks[i];
      const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) members[{key, value}].insert(i);
      };
      put("family", task.family);
      put("level", fmt::format("{}", task.level));
      put("split", task.split);
      for (const auto& tag : task.tags) put("tag", tag);
      for (const auto& fact : task.facts) put("fact", fact);
    }
    for (const auto& [name, tasks] : members) {
      auto part = all_.of(tasks);
      GroupFigure group;
      group.key = name.first, group.value = name.second;
      group.assembled = figures(part).pass(is_assembled, 1);
      group.right = figures(part).pass(is_right, 1);
      group.right_at_k = figures(part).pass(is_right, ks_.back());
      if (source_) group.speed = figures(part).best(*source_, ks_.back());
      out_.groups.push_back(std::move(group));
    }
  }

  // --- turns -------------------------------------------------------------------------------------------------------------
  void turns() {
    for (int turn = 1; turn <= (out_.draws ? run_.turns : 1); ++turn) {
      TurnFigure made;
      made.turn = turn;
      for (const auto& sample : run_.samples) {
        made.asked += sample.arm == out_.arm && sample.turns.size() >= static_cast<size_t>(turn);
      }
      made.right =
          figures(all_).mean_share([&](const Sample& s) { return s.first_right().value_or(turn + 1) <= turn; });
      out_.turns.push_back(std::move(made));
    }
    std::vector<double> rounds, right;
    size_t samples = 0;
    for (const auto& task : all_.tasks) {
      double sum = 0, count = 0;
      for (size_t i : task.samples) {
        if (auto first = run_.samples[i].first_right()) sum += *first - 1, ++count;
      }
      if (count == 0) continue;
      rounds.push_back(sum), right.push_back(count);
      samples += static_cast<size_t>(count);
    }
    if (samples > 0)
      out_.repair_rounds = Figure{stats::ratio_interval(rounds, right, bootstrap()), right.size(), samples};
  }

  // --- comments ------------------------------------------------------------------------------------------------------------
  void claims() {
    auto& made = out_.claims;
    std::map<std::string, ClaimMetrics::Kind> kinds;
    std::vector<double> hold, claimed;
    for (const auto& task : all_.tasks) {
      double task_hold = 0, task_claims = 0;
      for (size_t i : task.samples) {
        for (const auto& turn : run_.samples[i].turns) {
          if (!turn.attempt) continue;
          ++made.candidates;
          if (turn.claims.empty()) continue;
          ++made.with_claims;
          bool all = true;
          for (const auto& claim : turn.claims) {
            auto& kind = kinds[claim.what];
            kind.what = claim.what;
            ++kind.claims, ++task_claims;
            kind.hold += claim.holds, task_hold += claim.holds;
            all &= claim.holds;
          }
          (all          ? turn.right ? made.true_right : made.true_wrong
           : turn.right ? made.false_right
                        : made.false_wrong) += 1;
        }
      }
      if (task_claims > 0) hold.push_back(task_hold), claimed.push_back(task_claims);
      made.hold += static_cast<size_t>(task_hold), made.claims += static_cast<size_t>(task_claims);
    }
    for (auto& [what, kind] : kinds) made.kinds.push_back(std::move(kind));
    if (made.claims == 0) return;
    auto share = stats::ratio_interval(hold, claimed, bootstrap());
    made.share =
        Figure{{std::max(share.low, 0.0), std::min(share.high, 1.0), share.center}, claimed.size(), made.claims};
    const auto cell = [](size_t count) { return static_cast<double>(count) + 0.5; };
    made.odds_ratio = cell(made.true_right) * cell(made.false_wrong) / (cell(made.true_wrong) * cell(made.false_right));
    made.p_value = stats::fisher_p(made.true_right, made.true_wrong, made.false_right, made.false_wrong);
  }

  // --- what it took ----------------------------------------------------------------------------------------------------------
  void cost() {
    auto& made = out_.cost;
    std::vector<double> usd(run_.tasks.size()), seconds(run_.tasks.size()), tokens(run_.tasks.size()),
        successes(run_.tasks.size());
    made.usd = 0;
    for (const auto& sample : run_.samples) {
      if (sample.arm != out_.arm) continue;
      const auto add = [&](const Use& use) {
        made.requests += use.requests, made.asked += use.asked, made.answered += use.answered;
        made.reasoning += use.reasoning, made.tokens_estimated |= use.estimated;
        made.ask_seconds += use.seconds;
        if (use.requests > 0 && !use.usd) made.usd.reset();
        if (made.usd && use.usd) *made.usd += *use.usd;
        usd[sample.task] += use.usd.value_or(0);
        seconds[sample.task] += use.seconds;
        tokens[sample.task] += static_cast<double>(use.asked + use.answered);
      };
      add(sample.in_vain);
      for (const auto& turn : sample.turns) {
        add(turn.use);
        made.judge_seconds += turn.judge_seconds;
        seconds[sample.task] += turn.judge_seconds;
      }
      bool success = sample.counts() && sample.right();
      successes[sample.task] += success;
      made.successes += success;
    }
    // Of an arm that asks no model nobody is paid.
    if (made.requests == 0) made.usd.reset();
    if (made.successes == 0) return;
    const auto a_success = [&](const std::vector<double>& spent) {
      return Figure{stats::ratio_interval(spent, successes, bootstrap()), run_.tasks.size(), made.successes};
    };
    made.seconds_a_success = a_success(seconds);
    if (made.requests > 0) made.tokens_a_success = a_success(tokens);
    if (made.usd) made.usd_a_success = a_success(usd);
  }

  // --- failures ----------------------------------------------------------------------------------------------------------------
  void failures() {
    std::map<FailureKind, FailureCount> counts;
    std::map<FailureKind, std::map<std::string, size_t>> codes;
    for (const auto& sample : run_.samples) {
      if (sample.arm != out_.arm) continue;
      for (const auto& turn : sample.turns) {
        ++counts[turn.failure].turns;
        if (!turn.failure_code.empty()) ++codes[turn.failure][turn.failure_code];
      }
      if (const Turn* turn = sample.best(); turn && sample.counts()) ++counts[turn->failure].samples;
    }
    for (auto& [kind, count] : counts) {
      count.kind = kind;
      count.codes.assign(codes[kind].begin(), codes[kind].end());
      std::stable_sort(count.codes.begin(), count.codes.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      out_.failures.push_back(std::move(count));
    }
    std::stable_sort(out_.failures.begin(), out_.failures.end(), [](const auto& a, const auto& b) {
      return std::pair(a.samples, a.turns) > std::pair(b.samples, b.turns);
    });
  }

  const RunData& run_;
  const std::vector<int>& ks_;
  const MetricOptions& options_;
  ArmSamples all_;
  std::optional<SpeedSource> source_;
  ArmMetrics out_;
};

std::vector<int> usual_ks(int k) {
  std::vector<int> ks;
  for (int decade = 1; decade <= k; decade *= 10) {
    for (int step : {1, 2, 5}) {
      if (decade * step < k) ks.push_back(decade * step);
    }
  }
  ks.push_back(k);
  return ks;
}

// Which baselines measured speed-ups are against, where tasks have more than one.
std::string strongest_of(const RunData& run) {
  std::map<std::string, std::set<size_t>> tasks;
  auto timed = baselines_by_task(run);
  bool more = false;
  for (const auto& sample : run.samples) {
    for (const auto& turn : sample.turns) {
      if (!turn.against.empty()) tasks[turn.against].insert(sample.task);
      more = more || turn.measured_over_first;
    }
  }
  if (!more) return "";
  size_t without = 0;  // one that could not be timed beside them: they look faster than they are
  for (const auto& sample : run.samples)
    for (const auto& turn : sample.turns)
      without += !turn.baselines.empty() && turn.baselines.size() < timed[run.tasks[sample.task].name].size();
  std::string list;
  for (const auto& [name, of] : tasks)
    list += fmt::format("{}{} at {} task{}", list.empty() ? "" : ", ", name, of.size(), of.size() == 1 ? "" : "s");
  if (without > 0)
    list += fmt::format("; {} candidate{} timed without one of them", without, without == 1 ? " was" : "s were");
  return "measured speed-ups are against the strongest baseline: " + list;
}

std::vector<std::string> notes_of(const RunData& run, const RunMetrics& metrics) {
  std::vector<std::string> notes;
  size_t missing = 0;
  for (const auto& arm : metrics.arms) missing += arm.missing;
  if (!run.whole)
    notes.push_back(
        fmt::format("the run is not whole: {} of {} samples count", run.samples.size() - missing, run.samples.size()));
  if (run.whole && missing > 0)
    notes.push_back(fmt::format("{} samples met trouble of the machine and count nowhere", missing));
  if (run.interrupted > 0)
    notes.push_back(
        fmt::format("{} question{} no answer: if the run was stopped meanwhile, what such cost is not known",
                    run.interrupted, run.interrupted == 1 ? " has" : "s have"));
  if (run.tasks.size() == 1) {
    notes.emplace_back("one task: its intervals are over its samples and say nothing of other tasks");
  } else if (run.tasks.size() < 10) {
    notes.push_back(
        fmt::format("{} tasks are few: intervals over tasks are wide, and rougher than they look", run.tasks.size()));
  }
  for (const auto& arm : metrics.arms) {
    if (!arm.draws && run.k > 1)
      notes.push_back(fmt::format("`{}` hands in one list a task: its k samples are the first k of it, no draws",
                                  run.arms[arm.arm].name));
    if (arm.cost.requests > 0 && !arm.cost.usd)
      notes.push_back(fmt::format("`{}`: the price of what it was asked is not known", run.arms[arm.arm].name));
  }
  if (run.builds.size() > 1) {
    std::string list;
    for (const auto& build : run.builds)
      list += fmt::format("{}{} candidates by {}", list.empty() ? "" : ", ", build.attempts, build.name());
    notes.push_back("more than one build of the program has judged: " + list);
  }
  for (const auto& [tool, version] : run.toolchain) {
    if (tool == "ptxas" && version == "none") notes.emplace_back("there was no ptxas: nothing was assembled");
  }
  if (auto strongest = strongest_of(run); !strongest.empty()) notes.push_back(std::move(strongest));
  if (run.device.empty()) notes.emplace_back("no GPU: every speed-up is estimated, none is measured");
  return notes;
}

}  // namespace

RunMetrics compute(const RunData& run, const MetricOptions& options) {
  RunMetrics metrics;
  metrics.k = run.k;
  metrics.options = options;
  auto ks = options.ks.empty() ? usual_ks(run.k) : options.ks;
  std::erase_if(ks, [&](int k) { return k < 1 || k > run.k; });
  if (ks.empty() || ks.back() != run.k) ks.push_back(run.k);
  metrics.options.ks = ks;
  for (size_t arm = 0; arm < run.arms.size(); ++arm)
    metrics.arms.push_back(ArmComputer(run, arm, ks, options).compute());
  metrics.notes = notes_of(run, metrics);
  return metrics;
}

}  // namespace ptxlab::report
