#include "report/compare_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/visible.h"
#include "report/table.h"

namespace ptxlab::report {
namespace {

std::string end_text(double value, bool ratio) {
  if (!std::isfinite(value)) return value > 0 ? "inf" : "-inf";
  return ratio ? fmt::format("{:.3f}", value) : fmt::format("{:+.3f}", value);
}

// What may be said of a difference, and no more.
std::string said(const Difference& one) {
  if (!one.resolved) return "not resolved";
  double none = one.ratio ? 1 : 0;
  return one.interval.low > none ? "the second is better" : "the first is better";
}

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; }

std::string figure_text(const Figure& figure) {
  return fmt::format("{:.3f} ({} to {}; {} candidates of {} tasks)", figure.interval.center,
                     end_text(figure.interval.low, true), end_text(figure.interval.high, true), figure.samples,
                     figure.tasks);
}

}  // namespace

std::string compare_text(const Comparison& comparison, size_t width) {
  std::string out = fmt::format("first:  {} of run {}\nsecond: {} of run {}\n\n", base::visible(comparison.arm_a),
                                comparison.run_a, base::visible(comparison.arm_b), comparison.run_b);
  std::vector<std::vector<std::string>> tasks;
  for (const auto& task : comparison.tasks)
    tasks.push_back({task.task, fmt::format("{:.3f}", task.right_a), fmt::format("{:.3f}", task.right_b),
                     optional_text(task.best_a), optional_text(task.best_b)});
  std::string speeds = comparison.source ? std::string(name_of(*comparison.source)) + " best" : "best";
  out += table({{"task"}, {"right, first", true}, {"second", true}, {speeds + ", first", true}, {"second", true}},
               tasks, width);
  out += fmt::format("\nsolved by both {}, by the first alone {}, by the second alone {}, by neither {}\n\n",
                     comparison.both, comparison.only_a, comparison.only_b, comparison.neither);
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : comparison.differences) {
    rows.push_back(
        {one.what, fmt::format("{:.3f}", one.a), fmt::format("{:.3f}", one.b),
         fmt::format("{}{}", one.ratio ? "x " : "", end_text(one.interval.center, one.ratio)),
         fmt::format("{} to {}", end_text(one.interval.low, one.ratio), end_text(one.interval.high, one.ratio)),
         one.p_value ? fmt::format("{:.3f}", *one.p_value) : "-", fmt::format("{}", one.tasks), said(one)});
  }
  out += table({{"figure"},
                {"first", true},
                {"second", true},
                {"difference", true},
                {"interval", true},
                {"McNemar's p", true},
                {"tasks", true},
                {"what may be said"}},
               rows, width);
  for (const auto& left : comparison.left_out) out += "left out: " + base::visible(left) + "\n";
  for (const auto& note : comparison.notes) out += "note: " + base::visible(note) + "\n";
  return out;
}

std::string retained_text(const RunData& then, const std::vector<Retained>& retained,
                          const std::vector<std::string>& notes) {
  std::string out = fmt::format("of run {}:\n", then.id);
  for (const auto& one : retained) {
    const std::string name = base::visible(then.arms[one.arm].name);
    if (one.right.tasks == 0) {
      out += fmt::format("  {}: nothing was right{}\n", name, one.missing ? " of what has a verdict now" : "");
      continue;
    }
    out += fmt::format("  {}: right still {}\n", name, figure_text(one.right));
    if (one.measured)
      out += fmt::format("    measured speed-up now, divided by then: {}\n", figure_text(*one.measured));
    if (one.estimated)
      out += fmt::format("    estimated speed-up now, divided by then: {}\n", figure_text(*one.estimated));
    if (one.missing > 0)
      out += fmt::format("    {} that were right have no verdict now, and count nowhere\n", one.missing);
  }
  for (const auto& note : notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace ptxlab::report
