// Two arms task by task: what is common to a task falls out of the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

#include "report/arm_samples.h"
#include "stats/sign_flip.h"
#include "stats/tables.h"

namespace ptxlab::report {
namespace {

// Two arms on the tasks that both have done, pair by pair.
class Comparer {
 public:
  Comparer(const RunData& a, size_t arm_a, const RunData& b, size_t arm_b, const MetricOptions& options)
      : a_(a), b_(b), arm_a_(arm_a), arm_b_(arm_b), options_(options), all_a_(a, arm_a), all_b_(b, arm_b) {}

  Comparison run() {
    out_.run_a = a_.id, out_.arm_a = a_.arms[arm_a_].name;
    out_.run_b = b_.id, out_.arm_b = b_.arms[arm_b_].name;
    choose_source();
    pair_up();
    conditions();
    shares();
    if (out_.source) speeds();
    return std::move(out_);
  }

 private:
  bool draws_a() const { return a_.arms[arm_a_].model; }
  bool draws_b() const { return b_.arms[arm_b_].model; }
  stats::Bootstrap bootstrap() const { return {options_.draws, options_.alpha, options_.seed}; }
  static bool right(const Sample& sample) { return sample.right(); }

  // Measured figures are compared with measured ones alone, and only if one device has measured both.
  void choose_source() {
    // One that has nothing right has no speeds either: its tasks keep their baselines, whoever would say how fast.
    const auto nothing_right = [](const RunData& run, size_t arm) {
      return std::none_of(run.samples.begin(), run.samples.end(),
                          [&](const Sample& s) { return s.arm == arm && s.right(); });
    };
    const auto both = [&](SpeedSource source) {
      bool of_a = has_source(a_, arm_a_, source), of_b = has_source(b_, arm_b_, source);
      return (of_a || of_b) && (of_a || nothing_right(a_, arm_a_)) && (of_b || nothing_right(b_, arm_b_));
    };
    const std::string others = both(SpeedSource::measured) ? beside_others() : "";
    if (both(SpeedSource::measured) && a_.device == b_.device && others.empty()) {
      out_.source = SpeedSource::measured;
    } else if (both(SpeedSource::estimated)) {
      out_.source = SpeedSource::estimated;
    } else {
      out_.notes.emplace_back(!both(SpeedSource::measured) ? "no source has speeds of both, so speeds are not compared"
                              : others.empty() ? "the speeds were measured on different devices and are not compared"
                                               : others + ", and the speeds are not compared");
    }
  }

  // A speed-up is against the strongest of what was timed: "at norm/rmsnorm_bf16 ... were timed beside different baselines"; "": nowhere.
  std::string beside_others() const {
    auto of_b = baselines_by_task(b_, arm_b_);
    std::string first;
    size_t count = 0;
    for (const auto& [name, baselines] : baselines_by_task(a_, arm_a_)) {
      const auto& theirs = of_b[name];
      if (baselines.empty() || theirs.empty() || baselines == theirs) continue;
      if (count++ == 0) first = name;
    }
    if (count == 0) return "";
    return fmt::format("at {}{} they were timed beside different baselines", first,
                       count == 1 ? "" : fmt::format(" and {} other tasks", count - 1));
  }

  void pair_up() {
    std::map<std::string, size_t> in_b;
    for (size_t i = 0; i < b_.tasks.size(); ++i) in_b[b_.tasks[i].name] = i;
    for (size_t i = 0; i < a_.tasks.size(); ++i) {
      const auto& task = a_.tasks[i];
      auto other = in_b.find(task.name);
      if (other == in_b.end()) {
        out_.left_out.push_back(task.name + ": only in the first");
        continue;
      }
      size_t j = other->second;
      in_b.erase(other);
      if (!task.hash.empty() && !b_.tasks[j].hash.empty() && task.hash != b_.tasks[j].hash) {
        out_.left_out.push_back(task.name + ": another version of the task");
      } else if (all_a_.tasks[i].samples.empty() || all_b_.tasks[j].samples.empty()) {
        out_.left_out.push_back(task.name + ": one of the two has no sample that counts");
      } else {
        pairs_.emplace_back(i, j);
      }
    }
    for (const auto& [name, place] : in_b) out_.left_out.push_back(name + ": only in the second");
    for (auto [i, j] : pairs_) out_.tasks.push_back(paired(i, j));
  }

  // Of tasks that one of the two has more samples of, only as many as both have.
  struct First {
    const ArmSamples& samples;
    std::span<const size_t> list;
    bool solved() const {
      return std::any_of(list.begin(), list.end(), [&](size_t i) { return samples.run->samples[i].right(); });
    }
  };
  static First first_of(const ArmSamples& samples, size_t task, size_t count) {
    return {samples, std::span(samples.tasks[task].samples).first(count)};
  }

  static double share_of(const ArmSamples& samples, size_t task) {
    const auto& list = samples.tasks[task].samples;
    auto count = std::count_if(list.begin(), list.end(), [&](size_t i) { return samples.run->samples[i].right(); });
    return static_cast<double>(count) / static_cast<double>(list.size());
  }

  std::optional<double> best_of(const First& first) const {
    if (!out_.source) return std::nullopt;
    double best = 1;
    for (size_t i : first.list) {
      if (auto speed = speed_of(first.samples.run->samples[i], *out_.source)) best = std::max(best, speed->value);
    }
    return best;
  }

  PairedTask paired(size_t i, size_t j) {
    PairedTask task;
    task.task = a_.tasks[i].name;
    task.right_a = share_of(all_a_, i), task.right_b = share_of(all_b_, j);
    const size_t count = std::min(all_a_.tasks[i].samples.size(), all_b_.tasks[j].samples.size());
    const First first_a = first_of(all_a_, i, count), first_b = first_of(all_b_, j, count);
    task.best_a = best_of(first_a), task.best_b = best_of(first_b);
    (first_a.solved()   ? first_b.solved() ? out_.both : out_.only_a
     : first_b.solved() ? out_.only_b
                        : out_.neither) += 1;
    return task;
  }

  static std::string programs_of(const RunData& run) {
    std::string list;
    for (const auto& build : run.builds) list += (list.empty() ? "" : ", ") + build.name();
    return list.empty() ? run.program : list;
  }

  void conditions() {
    const auto differs = [&](const std::string& what, const std::string& a, const std::string& b) {
      if (a != b) out_.notes.push_back(fmt::format("{}: '{}' and '{}'", what, a, b));
    };
    if (a_.k != b_.k)
      out_.notes.push_back(fmt::format(
          "k: {} and {}; what needs k samples, and what is solved, is compared at the smaller", a_.k, b_.k));
    if (a_.turns != b_.turns) out_.notes.push_back(fmt::format("turns a sample: {} and {}", a_.turns, b_.turns));
    differs("target", a_.target, b_.target);
    differs("device", a_.device.empty() ? "none" : a_.device, b_.device.empty() ? "none" : b_.device);
    differs("program", programs_of(a_), programs_of(b_));
    std::map<std::string, std::pair<std::string, std::string>> tools;
    for (const auto& [tool, version] : a_.toolchain) tools[tool].first = version;
    for (const auto& [tool, version] : b_.toolchain) tools[tool].second = version;
    for (const auto& [tool, versions] : tools) differs(tool, versions.first, versions.second);
    if (!a_.whole || !b_.whole) out_.notes.emplace_back("a run that is not whole is compared by what there is of it");
  }

  // The difference of a share of both at k samples.
  void difference(const std::string& what, const Holds& holds_a, const Holds& holds_b, int k) {
    Difference made;
    made.what = what;
    std::vector<double> differences;
    for (auto [i, j] : pairs_) {
      const auto& task_a = all_a_.tasks[i];
      const auto& task_b = all_b_.tasks[j];
      const auto wanted = static_cast<size_t>(k);
      if (task_a.samples.size() < wanted || task_b.samples.size() < wanted) continue;
      double of_a = pass_of(all_a_, task_a, holds_a, k, draws_a()),
             of_b = pass_of(all_b_, task_b, holds_b, k, draws_b());
      made.a += of_a, made.b += of_b;
      differences.push_back(of_b - of_a);
    }
    made.tasks = differences.size();
    if (differences.empty()) return;
    made.a /= static_cast<double>(made.tasks), made.b /= static_cast<double>(made.tasks);
    made.interval = stats::difference_interval(differences, bootstrap());
    made.signs_p = stats::sign_flip_p(differences, options_.seed);
    made.resolved = (made.interval.low > 0 || made.interval.high < 0) && made.signs_p <= options_.alpha;
    out_.differences.push_back(std::move(made));
  }

  void shares() {
    const int k = std::min(a_.k, b_.k);
    const auto assembled = [](const Sample& s) { return s.assembled(); };
    difference("assembled@1", assembled, assembled, 1);
    difference("pass@1", right, right, 1);
    if (k > 1) difference(fmt::format("pass@{}", k), right, right, k);
    if (!out_.differences.empty()) out_.differences.back().p_value = stats::mcnemar_p(out_.only_a, out_.only_b);
  }

  void speeds() {
    const int k = std::min(a_.k, b_.k);
    const auto source = *out_.source;
    for (double p : {1.0, 1.5, 2.0}) {
      const auto fast = [=](const Sample& s) { return is_fast(s, source, p); };
      difference(fmt::format("fast_{:g}@{}", p, k), fast, fast, k);
    }
    Difference made;
    made.what = fmt::format("best speed-up of {}", k);
    made.ratio = true;
    std::vector<double> ratios;
    double sum_a = 0, sum_b = 0;
    for (auto [i, j] : pairs_) {
      const auto& task_a = all_a_.tasks[i];
      const auto& task_b = all_b_.tasks[j];
      const auto wanted = static_cast<size_t>(k);
      if (task_a.samples.size() < wanted || task_b.samples.size() < wanted) continue;
      double log_a = log_best_of(all_a_, task_a, source, k, draws_a());
      double log_b = log_best_of(all_b_, task_b, source, k, draws_b());
      sum_a += log_a, sum_b += log_b;
      ratios.push_back(log_b - log_a);
    }
    made.tasks = ratios.size();
    if (ratios.empty()) return;
    made.a = std::exp(sum_a / static_cast<double>(made.tasks));
    made.b = std::exp(sum_b / static_cast<double>(made.tasks));
    made.interval = exponential(stats::mean_interval(ratios, bootstrap()));
    made.signs_p = stats::sign_flip_p(ratios, options_.seed);
    made.resolved = (made.interval.low > 1 || made.interval.high < 1) && made.signs_p <= options_.alpha;
    out_.differences.push_back(std::move(made));
  }

  const RunData& a_;
  const RunData& b_;
  size_t arm_a_, arm_b_;
  const MetricOptions& options_;
  ArmSamples all_a_, all_b_;
  std::vector<std::pair<size_t, size_t>> pairs_;
  Comparison out_;
};

}  // namespace

Comparison compare(const RunData& a, size_t arm_a, const RunData& b, size_t arm_b, const MetricOptions& options) {
  return Comparer(a, arm_a, b, arm_b, options).run();
}

}  // namespace ptxlab::report
