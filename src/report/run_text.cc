#include "report/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/visible.h"
#include "report/table.h"

namespace ptxlab::report {
namespace {

std::string percent(double share) {
  if (share > 0.999 && share < 1) return ">99.9 %";  // never rounded to all or none
  if (share > 0 && share < 0.001) return "<0.1 %";
  return fmt::format("{:.{}f} %", 100 * share, share > 0 && share < 0.0995 ? 1 : 0);
}

// Behind a figure that not all of its arm's tasks have a part in: they have too few samples for it.
std::string of_tasks(const Figure& figure, const ArmMetrics& arm) {
  return figure.tasks == arm.tasks ? "" : fmt::format(" of {} tasks", figure.tasks);
}

// "43 % (31 to 55)"; of no task at all nothing is said.
std::string share_cell(const Figure* figure, const ArmMetrics& arm) {
  if (!figure || figure->tasks == 0) return "-";
  auto bound = [](double value) { return fmt::format("{:.0f}", 100 * value); };
  return fmt::format("{} ({} to {}){}", percent(figure->interval.center), bound(figure->interval.low),
                     bound(figure->interval.high), of_tasks(*figure, arm));
}

std::string times(double value) { return std::isfinite(value) ? fmt::format("{:.2f}", value) : "inf"; }

std::string speed_cell(const Figure* figure, const ArmMetrics& arm) {
  if (!figure || figure->tasks == 0) return "-";
  return fmt::format("{}x ({} to {}){}", times(figure->interval.center), times(figure->interval.low),
                     times(figure->interval.high), of_tasks(*figure, arm));
}

std::string speed_cell(const std::optional<Speedup>& speed) {
  return speed ? fmt::format("{}x ({} to {})", times(speed->value), times(speed->low), times(speed->high)) : "-";
}

const Figure* at_k(const std::vector<PassAtK>& list, int k) {
  auto at = std::find_if(list.begin(), list.end(), [&](const PassAtK& one) { return one.k == k; });
  return at == list.end() ? nullptr : &at->figure;
}
const Figure* fast_at(const SpeedMetrics* speed, double p, int k) {
  if (!speed) return nullptr;
  auto at = std::find_if(speed->fast.begin(), speed->fast.end(),
                         [&](const FastAtK& one) { return one.p == p && one.k == k; });
  return at == speed->fast.end() ? nullptr : &at->figure;
}
const SpeedMetrics* of_source(const ArmMetrics& arm, SpeedSource source) {
  auto at = std::find_if(arm.speed.begin(), arm.speed.end(), [&](const auto& one) { return one.source == source; });
  return at == arm.speed.end() ? nullptr : &*at;
}

std::string money(const std::optional<double>& usd) {
  return usd ? fmt::format("${:.{}f}", *usd, *usd < 0.1 ? 4 : 2) : "unknown";
}

std::string cost_cell(const CostMetrics& cost) {
  if (cost.requests == 0) return "no model";
  if (!cost.usd) return "price unknown";
  if (!cost.usd_a_success) return money(cost.usd) + ", no success";
  const auto& interval = cost.usd_a_success->interval;
  const std::string high = std::isfinite(interval.high) ? money(interval.high) : "inf";
  return fmt::format("{} ({} to {})", money(interval.center), money(interval.low), high);
}

// "3 x 4"; where tasks have different numbers of samples, how many there are in all.
std::string samples_cell(const ArmMetrics& arm) {
  if (arm.tasks == 0) return "none";
  if (arm.missing > 0 || arm.samples % arm.tasks != 0) return fmt::format("{}, {} in all", arm.tasks, arm.samples);
  return fmt::format("{} x {}", arm.tasks, arm.samples / arm.tasks);
}

// Above a column of its counts; on a terminal shorter than a long name is.
std::string arm_title(const Arm& arm, size_t width) {
  const std::string name = base::visible(arm.name);
  return width > 0 ? shortened(name, 20) : name;
}

std::string heading(const RunData& run, const RunMetrics& metrics) {
  std::string out = fmt::format("run {}", base::visible(run.id));
  if (!run.name.empty()) out += fmt::format(": {}", base::visible(run.name));
  out += fmt::format("\n{} arm{}, {} task{}", run.arms.size(), run.arms.size() == 1 ? "" : "s", run.tasks.size(),
                     run.tasks.size() == 1 ? "" : "s");
  if (run.bench)
    out += fmt::format(", k = {} samples a task, {} turn{} a sample", run.k, run.turns, run.turns == 1 ? "" : "s");
  out += fmt::format("\ntarget {}; {}\n", base::visible(run.target),
                     run.device.empty() ? "no GPU: nothing was measured" : "on " + base::visible(run.device));
  for (const auto& note : metrics.notes) out += fmt::format("note: {}\n", base::visible(note));
  return out;
}

std::string leaderboard(const RunData& run, const RunMetrics& metrics, size_t width) {
  const int k = metrics.k;
  std::vector<Column> columns = {{"arm"}, {"tasks x samples", true}, {"right, pass@1", true}};
  if (k > 1) columns.push_back({fmt::format("right, pass@{}", k), true});
  columns.push_back({"assembles, pass@1", true});
  std::vector<SpeedSource> sources;
  for (SpeedSource source : {SpeedSource::measured, SpeedSource::estimated}) {
    if (std::none_of(metrics.arms.begin(), metrics.arms.end(),
                     [&](const ArmMetrics& arm) { return of_source(arm, source); }))
      continue;
    sources.push_back(source);
    columns.push_back({fmt::format("fast_1@{} {}", k, name_of(source)), true});
    columns.push_back({fmt::format("best of {} {}", k, name_of(source)), true});
  }
  columns.push_back({"cost a success", true});
  std::vector<const ArmMetrics*> order;
  for (const auto& arm : metrics.arms) order.push_back(&arm);
  std::stable_sort(order.begin(), order.end(), [](const ArmMetrics* a, const ArmMetrics* b) {
    auto right = [](const ArmMetrics* arm) {
      const Figure* one = at_k(arm->right, 1);
      return one && one->tasks > 0 ? one->interval.center : -1;
    };
    return right(a) > right(b);
  });
  std::vector<std::vector<std::string>> rows;
  for (const ArmMetrics* arm : order) {
    std::vector<std::string> row = {run.arms[arm->arm].name, samples_cell(*arm), share_cell(at_k(arm->right, 1), *arm)};
    if (k > 1) row.push_back(share_cell(at_k(arm->right, k), *arm));
    row.push_back(share_cell(at_k(arm->assembled, 1), *arm));
    for (SpeedSource source : sources) {
      const SpeedMetrics* speed = of_source(*arm, source);
      row.push_back(share_cell(fast_at(speed, 1, k), *arm));
      row.push_back(speed_cell(speed && !speed->best_of_k.empty() ? &speed->best_of_k.back().figure : nullptr, *arm));
    }
    row.push_back(cost_cell(arm->cost));
    rows.push_back(std::move(row));
  }
  return table(columns, rows, width) +
         fmt::format("(in parentheses: {:.0f} % intervals;\n best: geometric mean over tasks, 1 where none is right)\n",
                     100 * (1 - metrics.options.alpha));
}

// Each kind with its turns by arm, the commonest first.
std::string failures(const RunData& run, const RunMetrics& metrics, size_t width) {
  std::map<FailureKind, std::vector<size_t>> counts;
  std::map<FailureKind, std::map<std::string, size_t>> codes;
  for (size_t a = 0; a < metrics.arms.size(); ++a) {
    for (const auto& one : metrics.arms[a].failures) {
      auto& row = counts[one.kind];
      row.resize(metrics.arms.size());
      row[a] += one.turns;
      for (const auto& [code, n] : one.codes) codes[one.kind][code] += n;
    }
  }
  if (counts.empty()) return "";
  std::vector<std::pair<size_t, FailureKind>> order;
  for (const auto& [kind, row] : counts) {
    size_t sum = 0;
    for (size_t n : row) sum += n;
    order.emplace_back(sum, kind);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Column> columns = {{"what came of it"}, {"stage"}, {"turns", true}};
  for (const auto& arm : metrics.arms) columns.push_back({arm_title(run.arms[arm.arm], width), true});
  columns.push_back({"commonest code"});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [sum, kind] : order) {
    std::vector<std::string> row = {std::string(info_of(kind).words), std::string(info_of(kind).stage),
                                    fmt::format("{}", sum)};
    for (size_t n : counts[kind]) row.push_back(n ? fmt::format("{}", n) : "-");
    const auto& of_kind = codes[kind];
    auto most = std::max_element(of_kind.begin(), of_kind.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    row.push_back(most == of_kind.end() || most->first.empty() ? "-" : most->first);
    rows.push_back(std::move(row));
  }
  return table(columns, rows, width);
}

// By task: right of samples for each arm, and the best there is.
std::string tasks(const RunData& run, size_t width) {
  std::vector<Column> columns = {{"task"}};
  for (const auto& arm : run.arms) columns.push_back({arm_title(arm, width), true});
  // Against which baseline a speed-up is matters where there is more than one.
  bool has_measured = false, has_estimated = false, more = false;
  for (const auto& sample : run.samples)
    for (const auto& turn : sample.turns)
      has_measured |= turn.measured.has_value(), has_estimated |= turn.estimated.has_value(),
          more |= turn.measured && turn.measured_over_first;
  if (has_measured) columns.push_back({"best measured", true});
  if (more) columns.insert(columns.end(), {{"against"}, {"over the first baseline", true}});
  if (has_estimated) columns.push_back({"best estimated", true});
  std::vector<std::vector<std::string>> rows;
  for (size_t t = 0; t < run.tasks.size(); ++t) {
    std::vector<std::string> row = {run.tasks[t].name};
    const Turn* measured = nullptr;
    std::optional<Speedup> estimated;
    for (size_t a = 0; a < run.arms.size(); ++a) {
      size_t right = 0, all = 0;
      for (const auto& sample : run.samples) {
        if (sample.arm != a || sample.task != t || !sample.counts()) continue;
        ++all, right += sample.right();
        for (const auto& turn : sample.turns) {
          if (!turn.right) continue;
          if (turn.measured && (!measured || turn.measured->value > measured->measured->value)) measured = &turn;
          if (turn.estimated && (!estimated || turn.estimated->value > estimated->value)) estimated = turn.estimated;
        }
      }
      row.push_back(all ? fmt::format("{}/{}", right, all) : "-");
    }
    if (has_measured) row.push_back(measured ? speed_cell(measured->measured) : "-");
    if (more) {
      const auto* first = !measured                       ? nullptr
                          : measured->measured_over_first ? &measured->measured_over_first
                                                          : &measured->measured;
      row.push_back(measured && !measured->against.empty() ? base::visible(measured->against) : "-");
      row.push_back(first ? speed_cell(*first) : "-");
    }
    if (has_estimated) row.push_back(speed_cell(estimated));
    rows.push_back(std::move(row));
  }
  return table(columns, rows, width);
}

}  // namespace

std::string run_text(const RunData& run, const RunMetrics& metrics, size_t width) {
  std::string out = heading(run, metrics) + "\n" + leaderboard(run, metrics, width);
  if (auto text = failures(run, metrics, width); !text.empty()) out += "\n" + text;
  return out + "\n" + tasks(run, width);
}

}  // namespace ptxlab::report
