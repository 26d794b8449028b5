#include "report/page_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "record/json.h"

namespace ptxlab::report {
namespace {

using nlohmann::json;
using std::chrono::system_clock;

int64_t milliseconds(system_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

// JSON has no infinity, and the page says so where it finds none.
json finite(double value) { return std::isfinite(value) ? json(value) : json(); }

// Of no task there is no figure, whatever an interval over nothing is called.
json figure_json(const Figure& figure) {
  const bool known = figure.tasks > 0;
  return {{"value", known ? finite(figure.interval.center) : json()},
          {"low", known ? finite(figure.interval.low) : json()},
          {"high", known ? finite(figure.interval.high) : json()},
          {"tasks", figure.tasks},
          {"samples", figure.samples}};
}
json figure_json(const std::optional<Figure>& figure) { return figure ? figure_json(*figure) : json(); }

json with(json made, const char* key, json value) {
  made[key] = std::move(value);
  return made;
}

json at_k_json(const std::vector<PassAtK>& list) {
  json made = json::array();
  for (const auto& one : list) made.push_back(with(figure_json(one.figure), "k", one.k));
  return made;
}

// Names that many rows share, each once.
class Strings {
 public:
  int add(const std::string& text) {
    if (text.empty()) return -1;
    auto [at, fresh] = numbers_.emplace(text, static_cast<int>(list_.size()));
    if (fresh) list_.push_back(text);
    return at->second;
  }
  json list() const { return list_; }

 private:
  json list_ = json::array();
  std::unordered_map<std::string, int> numbers_;
};

class Summary {
 public:
  explicit Summary(const SummaryInput& input) : input_(input), run_(input.page.run), metrics_(input.page.metrics) {
    for (size_t row = 0; row < input.rows.size(); ++row) row_of_[key(input.rows[row])] = row;
  }

  json make() {
    json made = {{"schema", "ptxlab.page/1"},
                 {"id", run_.id},
                 {"name", run_.name},
                 {"command", run_.command},
                 {"program", run_.program},
                 {"bench", run_.bench},
                 {"started", milliseconds(run_.started)},
                 {"made", milliseconds(input_.page.made)},
                 {"target", run_.target},
                 {"device", run_.device},
                 {"driver", run_.driver},
                 {"toolchain", run_.toolchain},
                 {"seed", std::to_string(run_.seed)},  // 64 bits: more than a number of the page holds
                 {"k", run_.k},
                 {"turns", run_.turns},
                 {"whole", run_.whole},
                 {"alone", input_.page.alone},
                 {"archived", input_.page.archived},
                 {"rejudged_from", run_.rejudged_from},
                 {"lock", run_.lock.empty() ? json() : json::parse(run_.lock, nullptr, false)},
                 {"arms", arms()},
                 {"tasks", tasks()},
                 {"kinds", kinds()},
                 {"outcomes", outcomes()},
                 {"rows", rows()},
                 {"metrics", metrics()},
                 {"roofline", roofline()}};
    if (made["lock"].is_discarded()) made["lock"] = nullptr;
    made["strings"] = strings_.list();
    return made;
  }

 private:
  static std::pair<size_t, size_t> key(const PageRow& row) { return {row.sample, row.turn}; }

  json arms() const {
    json list = json::array();
    for (const auto& arm : run_.arms)
      list.push_back({{"name", arm.name},
                      {"proposer", arm.proposer},
                      {"language", arm.language == Arm::Language::cuda ? "cuda" : "ptx"},
                      {"model", arm.model},
                      {"settings", arm.settings},
                      {"price_known", arm.price_known}});
    return list;
  }

  json tasks() const {
    json list = json::array();
    for (const auto& task : run_.tasks) {
      PageTask more = input_.page.task ? input_.page.task(task) : PageTask{};
      list.push_back({{"name", task.name},
                      {"family", task.family},
                      {"split", task.split},
                      {"level", task.level},
                      {"version", task.version},
                      {"tags", task.tags},
                      {"facts", task.facts},
                      {"hash", task.hash},
                      {"origin", more.origin},
                      {"objective", more.objective}});
    }
    return list;
  }

  static json kinds() {
    json list = json::array();
    for (const auto& kind : failure_kinds())
      list.push_back({{"name", kind.name}, {"stage", kind.stage}, {"words", kind.words}});
    return list;
  }

  static json outcomes() {
    json list = json::array();
    for (int i = 0; i <= static_cast<int>(record::OutcomeName::infrastructure); ++i)
      list.push_back(record::name_of(static_cast<record::OutcomeName>(i)));
    return list;
  }

  static json speed(const std::optional<Speedup>& speed) {
    if (!speed) return nullptr;
    return {finite(speed->value), finite(speed->low), finite(speed->high)};
  }

  json rows() {
    std::map<std::string, json> columns;
    for (size_t i = 0; i < input_.rows.size(); ++i) {
      const Sample& sample = run_.samples[input_.rows[i].sample];
      const Turn& turn = sample.turns[input_.rows[i].turn];
      auto put = [&](const char* name, json value) { columns[name].push_back(std::move(value)); };
      put("arm", sample.arm);
      put("task", sample.task);
      put("sample", sample.number);
      put("turn", turn.turn);
      put("id", turn.attempt ? json(*turn.attempt) : json());
      put("outcome", static_cast<int>(turn.outcome));
      put("failure", static_cast<int>(turn.failure));
      put("code", strings_.add(turn.failure_code));
      put("assembled", turn.assembled);
      put("right", turn.right);
      put("measured", speed(turn.measured));
      put("estimated", speed(turn.estimated));
      put("against", strings_.add(turn.against));
      put("over_first", speed(turn.measured_over_first));
      put("registers", turn.registers);
      put("spill", turn.spill_bytes);
      put("shared", turn.shared_bytes);
      put("asked", turn.use.asked);
      put("answered", turn.use.answered);
      put("usd", turn.use.usd ? json(*turn.use.usd) : json());
      put("ask_seconds", turn.use.seconds);
      put("judge_seconds", turn.judge_seconds);
      put("at", milliseconds(turn.at));
      put("name", strings_.add(turn.candidate));
      put("idea", strings_.add(turn.idea));
      put("reason", strings_.add(turn.reason));
      put("block", input_.places[i].block);
      put("slot", input_.places[i].slot);
    }
    // A run of which nothing came yet has its columns all the same.
    for (const char* name :
         {"arm",    "task",      "sample",   "turn",     "id",          "outcome",       "failure",
          "code",   "assembled", "right",    "measured", "estimated",   "registers",     "spill",
          "shared", "asked",     "answered", "usd",      "ask_seconds", "judge_seconds", "at",
          "name",   "idea",      "reason",   "block",    "slot",        "against",       "over_first"}) {
      if (!columns.count(name)) columns[name] = json::array();
    }
    return columns;
  }

  // The row of a sample's turn that counts; nothing where the sample has none.
  json best_row(const std::optional<size_t>& sample) const {
    if (!sample) return nullptr;
    const Sample& of = run_.samples[*sample];
    const Turn* best = of.best();
    if (!best) return nullptr;
    return row_of_.at({*sample, static_cast<size_t>(best - of.turns.data())});
  }

  json speed_metrics(const SpeedMetrics& speed) const {
    json fast = json::array(), best = json::array();
    for (const auto& one : speed.fast) fast.push_back(with(with(figure_json(one.figure), "p", one.p), "k", one.k));
    for (const auto& one : speed.best)
      best.push_back({{"task", one.task},
                      {"row", best_row(one.sample)},
                      {"value", finite(one.speedup.value)},
                      {"known", finite(one.known)},
                      {"low", finite(one.speedup.low)},
                      {"high", finite(one.speedup.high)}});
    return {{"source", name_of(speed.source)},
            {"fast", std::move(fast)},
            {"best_of_k", at_k_json(speed.best_of_k)},
            {"best", std::move(best)},
            {"unknown", speed.unknown}};
  }

  static json claims(const ClaimMetrics& c) {
    return {{"candidates", c.candidates},
            {"with_claims", c.with_claims},
            {"claims", c.claims},
            {"hold", c.hold},
            {"true_right", c.true_right},
            {"true_wrong", c.true_wrong},
            {"false_right", c.false_right},
            {"false_wrong", c.false_wrong},
            {"odds_ratio", c.odds_ratio ? finite(*c.odds_ratio) : json()},
            {"p_value", c.p_value ? finite(*c.p_value) : json()}};
  }

  static json cost(const CostMetrics& c) {
    return {{"requests", c.requests},
            {"asked", c.asked},
            {"answered", c.answered},
            {"reasoning", c.reasoning},
            {"tokens_estimated", c.tokens_estimated},
            {"usd", c.usd ? finite(*c.usd) : json()},
            {"ask_seconds", c.ask_seconds},
            {"judge_seconds", c.judge_seconds},
            {"successes", c.successes},
            {"usd_a_success", figure_json(c.usd_a_success)},
            {"seconds_a_success", figure_json(c.seconds_a_success)},
            {"tokens_a_success", figure_json(c.tokens_a_success)}};
  }

  json arm_metrics(const ArmMetrics& arm) const {
    json speed = json::array(), groups = json::array(), turns = json::array(), failures = json::array();
    for (const auto& one : arm.speed) speed.push_back(speed_metrics(one));
    for (const auto& one : arm.groups)
      groups.push_back({{"key", one.key},
                        {"value", one.value},
                        {"right", figure_json(one.right)},
                        {"assembled", figure_json(one.assembled)},
                        {"right_at_k", figure_json(one.right_at_k)},
                        {"speed", figure_json(one.speed)}});
    for (const auto& one : arm.turns)
      turns.push_back({{"turn", one.turn}, {"asked", one.asked}, {"right", figure_json(one.right)}});
    for (const auto& one : arm.failures)
      failures.push_back(
          {{"kind", name_of(one.kind)}, {"turns", one.turns}, {"samples", one.samples}, {"codes", one.codes}});
    return {{"arm", arm.arm},
            {"tasks", arm.tasks},
            {"samples", arm.samples},
            {"missing", arm.missing},
            {"assembled", at_k_json(arm.assembled)},
            {"right", at_k_json(arm.right)},
            {"speed", std::move(speed)},
            {"groups", std::move(groups)},
            {"turns", std::move(turns)},
            {"repair_rounds", figure_json(arm.repair_rounds)},
            {"claims", claims(arm.claims)},
            {"cost", cost(arm.cost)},
            {"failures", std::move(failures)}};
  }

  json metrics() const {
    json arms = json::array();
    for (const auto& arm : metrics_.arms) arms.push_back(arm_metrics(arm));
    return {{"k", metrics_.k},
            {"alpha", metrics_.options.alpha},
            {"draws", metrics_.options.draws},
            {"notes", metrics_.notes},
            {"arms", std::move(arms)}};
  }

  json roofline() const {
    json ceilings = json::array(), points = json::array();
    for (const auto& one : input_.ceilings)
      ceilings.push_back(
          {{"device", one.device}, {"gbs", one.gbs}, {"gflops", one.gflops}, {"measured", one.measured}});
    for (const auto& point : input_.points) {
      const double gbs = point.work.bytes / point.us / 1e3, gflops = point.work.flops / point.us / 1e3;
      double of_roof = 0;
      for (const auto& one : input_.ceilings) {
        if (one.device == point.device) of_roof = std::max(gbs / one.gbs, gflops / one.gflops);
      }
      points.push_back({{"row", point.row},
                        {"source", name_of(point.source)},
                        {"size", point.size},
                        {"device", point.device},
                        {"intensity", point.work.flops / point.work.bytes},
                        {"gbs", gbs},
                        {"gflops", gflops},
                        {"baseline_gflops", point.baseline_us > 0 ? point.work.flops / point.baseline_us / 1e3 : 0.0},
                        {"baseline_gbs", point.baseline_us > 0 ? point.work.bytes / point.baseline_us / 1e3 : 0.0},
                        {"of_roof", of_roof}});
    }
    return {{"ceilings", std::move(ceilings)}, {"points", std::move(points)}};
  }

  const SummaryInput& input_;
  const RunData& run_;
  const RunMetrics& metrics_;
  std::map<std::pair<size_t, size_t>, size_t> row_of_;
  Strings strings_;
};

}  // namespace

std::vector<PageRow> page_rows(const RunData& run) {
  std::vector<PageRow> rows;
  for (size_t s = 0; s < run.samples.size(); ++s)
    for (size_t t = 0; t < run.samples[s].turns.size(); ++t) rows.push_back({s, t});
  std::stable_sort(rows.begin(), rows.end(), [&](const PageRow& a, const PageRow& b) {
    const Sample &x = run.samples[a.sample], &y = run.samples[b.sample];
    return std::tuple(x.task, x.arm, x.number, a.turn) < std::tuple(y.task, y.arm, y.number, b.turn);
  });
  return rows;
}

json page_summary(const SummaryInput& input) { return Summary(input).make(); }

}  // namespace ptxlab::report
