// "ptxlab.bench/1" and "ptxlab.compare/1". Every figure is {"value", "interval", "tasks", "samples"}; an end that is infinite or
// not known is null. What is measured stands under "measured", what is estimated under "estimated", and never under one key.
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/metrics.h"

namespace ptxlab::report {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json interval_json(const stats::Interval& interval) {
  return json::array({number(interval.low), number(interval.high)});
}

json figure_json(const Figure& figure) {
  return {{"value", figure.tasks ? number(figure.interval.center) : json(nullptr)},
          {"interval", interval_json(figure.interval)},
          {"tasks", figure.tasks},
          {"samples", figure.samples}};
}
json figure_json(const std::optional<Figure>& figure) { return figure ? figure_json(*figure) : json(nullptr); }

json speedup_json(const std::optional<Speedup>& speedup) {
  if (!speedup) return nullptr;
  return {{"value", speedup->value}, {"interval", json::array({speedup->low, speedup->high})}};
}

json pass_json(const ArmMetrics& arm) {
  json list = json::array();
  for (size_t i = 0; i < arm.right.size(); ++i) {
    list.push_back({{"k", arm.right[i].k},
                    {"assembled", figure_json(arm.assembled[i].figure)},
                    {"right", figure_json(arm.right[i].figure)}});
  }
  return list;
}

json speed_json(const RunData& run, const SpeedMetrics& speed) {
  json fast = json::array(), best = json::array(), tasks = json::object();
  for (const auto& one : speed.fast) fast.push_back({{"p", one.p}, {"k", one.k}, {"figure", figure_json(one.figure)}});
  for (const auto& one : speed.best_of_k) best.push_back({{"k", one.k}, {"figure", figure_json(one.figure)}});
  for (const auto& one : speed.best)
    tasks[run.tasks[one.task].name] = one.sample ? speedup_json(one.speedup) : json(nullptr);
  return {{"fast_p_at_k", std::move(fast)},
          {"best_of_k", std::move(best)},
          {"right_only", figure_json(speed.right_only)},
          {"best_by_task", std::move(tasks)},
          {"right_without_speed", speed.unknown}};
}

json claims_json(const ClaimMetrics& claims) {
  json kinds = json::object();
  for (const auto& kind : claims.kinds) kinds[kind.what] = {{"claims", kind.claims}, {"hold", kind.hold}};
  return {{"candidates", claims.candidates},
          {"with_claims", claims.with_claims},
          {"claims", claims.claims},
          {"hold", claims.hold},
          {"share", figure_json(claims.share)},
          {"true_and_right", claims.true_right},
          {"true_and_wrong", claims.true_wrong},
          {"false_and_right", claims.false_right},
          {"false_and_wrong", claims.false_wrong},
          {"odds_ratio", claims.odds_ratio ? number(*claims.odds_ratio) : json(nullptr)},
          {"p_value", claims.p_value ? number(*claims.p_value) : json(nullptr)},
          {"kinds", std::move(kinds)}};
}

json cost_json(const CostMetrics& cost) {
  return {{"requests", cost.requests},
          {"tokens_asked", cost.asked},
          {"tokens_answered", cost.answered},
          {"tokens_reasoning", cost.reasoning},
          {"tokens_estimated", cost.tokens_estimated},
          {"dollars", cost.usd ? number(*cost.usd) : json(nullptr)},
          {"ask_seconds", cost.ask_seconds},
          {"judge_seconds", cost.judge_seconds},
          {"successes", cost.successes},
          {"dollars_a_success", figure_json(cost.usd_a_success)},
          {"seconds_a_success", figure_json(cost.seconds_a_success)},
          {"tokens_a_success", figure_json(cost.tokens_a_success)}};
}

json failures_json(const std::vector<FailureCount>& failures) {
  json list = json::array();
  for (const auto& one : failures) {
    json codes = json::object();
    for (const auto& [code, count] : one.codes) codes[code] = count;
    list.push_back({{"kind", name_of(one.kind)},
                    {"stage", info_of(one.kind).stage},
                    {"samples", one.samples},
                    {"turns", one.turns},
                    {"codes", std::move(codes)}});
  }
  return list;
}

json arm_json(const RunData& run, const ArmMetrics& metrics) {
  const auto& arm = run.arms[metrics.arm];
  json speed = json::object(), groups = json::array(), turns = json::array();
  for (const auto& one : metrics.speed) speed[std::string(name_of(one.source))] = speed_json(run, one);
  for (const auto& group : metrics.groups) {
    groups.push_back({{"by", group.key},
                      {"value", group.value},
                      {"assembled", figure_json(group.assembled)},
                      {"right", figure_json(group.right)},
                      {"right_at_k", figure_json(group.right_at_k)},
                      {"speed", figure_json(group.speed)}});
  }
  for (const auto& turn : metrics.turns)
    turns.push_back({{"turn", turn.turn}, {"asked", turn.asked}, {"right", figure_json(turn.right)}});
  return {{"name", arm.name},
          {"proposer", arm.proposer},
          {"language", arm.language == Arm::Language::cuda ? "cuda" : "ptx"},
          {"settings", arm.settings},
          {"samples_are_draws", metrics.draws},
          {"tasks", metrics.tasks},
          {"samples", metrics.samples},
          {"missing", metrics.missing},
          {"pass_at_k", pass_json(metrics)},
          {"speed", std::move(speed)},
          {"groups", std::move(groups)},
          {"right_by_turn", std::move(turns)},
          {"repair_rounds", figure_json(metrics.repair_rounds)},
          {"claims", claims_json(metrics.claims)},
          {"cost", cost_json(metrics.cost)},
          {"failures", failures_json(metrics.failures)}};
}

// A line a sample: what it came to, and where to look further.
json sample_json(const RunData& run, const Sample& sample) {
  json made = {{"arm", run.arms[sample.arm].name},
               {"task", run.tasks[sample.task].name},
               {"sample", sample.number},
               {"turns", sample.turns.size()},
               {"right", sample.right()}};
  if (!sample.counts()) made["missing"] = sample.unanswered;
  if (const Turn* turn = sample.best()) {
    made["outcome"] = record::name_of(turn->outcome);
    made["failure"] = name_of(turn->failure);
    if (turn->attempt) made["attempt"] = *turn->attempt;
    if (turn->measured) made["measured"] = speedup_json(turn->measured);
    if (!turn->against.empty()) made["against"] = turn->against;
    if (turn->measured_over_first) made["measured_over_first"] = speedup_json(turn->measured_over_first);
    if (turn->estimated) made["estimated"] = speedup_json(turn->estimated);
  }
  return made;
}

json task_json(const TaskInfo& task) {
  return {{"name", task.name}, {"level", task.level}, {"split", task.split}, {"version", task.version},
          {"tags", task.tags}, {"facts", task.facts}, {"sha256", task.hash}};
}

}  // namespace

json to_json(const RunData& run, const RunMetrics& metrics) {
  json arms = json::array(), tasks = json::array(), samples = json::array(), tools = json::object();
  json builds = json::array();
  for (const auto& build : run.builds)
    builds.push_back({{"version", build.version}, {"sha256", build.hash}, {"candidates", build.attempts}});
  for (const auto& arm : metrics.arms) arms.push_back(arm_json(run, arm));
  for (const auto& task : run.tasks) tasks.push_back(task_json(task));
  for (const auto& sample : run.samples) samples.push_back(sample_json(run, sample));
  for (const auto& [tool, version] : run.toolchain) tools[tool] = version;
  return {{"schema", "ptxlab.bench/1"},
          {"run", run.id},
          {"name", run.name},
          {"program", run.program},
          {"builds", std::move(builds)},
          {"rejudged_from", run.rejudged_from},
          {"target", run.target},
          {"device", run.device},
          {"driver", run.driver},
          {"toolchain", std::move(tools)},
          {"seed", run.seed},
          {"k", run.k},
          {"turns", run.turns},
          {"whole", run.whole},
          {"interval_level", 1 - metrics.options.alpha},
          {"notes", metrics.notes},
          {"arms", std::move(arms)},
          {"tasks", std::move(tasks)},
          {"samples", std::move(samples)}};
}

json to_json(const RunData& then, const std::vector<Retained>& retained, const std::vector<std::string>& notes) {
  json arms = json::array();
  for (const auto& one : retained) {
    arms.push_back({{"arm", then.arms[one.arm].name},
                    {"right", figure_json(one.right)},
                    {"missing", one.missing},
                    {"measured", figure_json(one.measured)},
                    {"estimated", figure_json(one.estimated)}});
  }
  return {{"of_run", then.id},
          {"device", then.device},
          {"target", then.target},
          {"notes", notes},
          {"arms", std::move(arms)}};
}

json to_json(const Comparison& comparison) {
  json tasks = json::array(), differences = json::array();
  for (const auto& task : comparison.tasks) {
    json one = {{"task", task.task}, {"right_a", task.right_a}, {"right_b", task.right_b}};
    if (task.best_a) one["best_a"] = number(*task.best_a);
    if (task.best_b) one["best_b"] = number(*task.best_b);
    tasks.push_back(std::move(one));
  }
  for (const auto& one : comparison.differences) {
    differences.push_back({{"what", one.what},
                           {"a", number(one.a)},
                           {"b", number(one.b)},
                           {one.ratio ? "ratio" : "difference", number(one.interval.center)},
                           {"interval", interval_json(one.interval)},
                           {"tasks", one.tasks},
                           {"signs_p_value", number(one.signs_p)},
                           {"resolved", one.resolved},
                           {"p_value", one.p_value ? number(*one.p_value) : json(nullptr)}});
  }
  return {{"schema", "ptxlab.compare/1"},
          {"a", {{"run", comparison.run_a}, {"arm", comparison.arm_a}}},
          {"b", {{"run", comparison.run_b}, {"arm", comparison.arm_b}}},
          {"speeds", comparison.source ? json(name_of(*comparison.source)) : json(nullptr)},
          {"tasks", std::move(tasks)},
          {"left_out", comparison.left_out},
          {"solved",
           {{"both", comparison.both},
            {"only_a", comparison.only_a},
            {"only_b", comparison.only_b},
            {"neither", comparison.neither}}},
          {"differences", std::move(differences)},
          {"notes", comparison.notes}};
}

}  // namespace ptxlab::report
