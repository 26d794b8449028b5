#include "record/timing_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ptxlab::record {
namespace {

using nlohmann::json;

constexpr OutcomeName kCalls[] = {OutcomeName::faster, OutcomeName::slower, OutcomeName::same, OutcomeName::unstable};

// JSON has no infinity: what is not finite is not known.
json finite(double value) { return std::isfinite(value) ? json(value) : json(); }
double or_else(const json& object, const char* key, double otherwise) {
  auto at = object.find(key);
  return at == object.end() || at->is_null() ? otherwise : at->get<double>();
}

json or_null(const std::optional<uint32_t>& value) { return value ? json(*value) : json(); }
std::optional<uint32_t> number(const json& object, const char* key) {
  auto at = object.find(key);
  if (at == object.end() || at->is_null()) return std::nullopt;
  return at->get<uint32_t>();
}

json size_json(const TimedSize& one) {
  json rivals = json::array();
  for (const auto& rival : one.rivals)
    rivals.push_back({{"name", rival.name},
                      {"us", rival.us},
                      {"speedup", rival.speedup},
                      {"low", finite(rival.low)},
                      {"high", finite(rival.high)}});
  json samples = json::array();
  for (const auto& epoch : one.samples)
    samples.push_back({{"baseline_us", finite(epoch.baseline_us)},
                       {"candidate_us", finite(epoch.candidate_us)},
                       {"speedup", finite(epoch.speedup)},
                       {"counted", epoch.counted}});
  return {{"size", one.size},
          {"weight", one.weight},
          {"outcome", name_of(one.outcome)},
          {"reason", one.reason},
          {"baseline", one.baseline},
          {"baseline_us", one.baseline_us},
          {"candidate_us", one.candidate_us},
          {"baseline_spread", one.baseline_spread},
          {"candidate_spread", one.candidate_spread},
          {"speedup", one.speedup},
          {"low", finite(one.low)},
          {"high", finite(one.high)},
          {"delta", one.delta},
          {"delta_source", one.delta_source},
          {"epochs", one.epochs},
          {"dropped", one.dropped},
          {"pairs", one.pairs},
          {"batch", one.batch},
          {"sets", one.sets},
          {"checked", one.checked},
          {"event_overhead_us", one.event_overhead_us},
          {"bytes", one.bytes},
          {"flops", one.flops},
          {"floor_us", one.floor_us},
          {"roofline_gbs", one.roofline_gbs},
          {"roofline_gflops", one.roofline_gflops},
          {"baseline_mhz", one.baseline_mhz},
          {"candidate_mhz", one.candidate_mhz},
          {"memory_mhz", or_null(one.memory_mhz)},
          {"celsius", or_null(one.celsius)},
          {"watts", or_null(one.watts)},
          {"rivals", std::move(rivals)},
          {"samples", std::move(samples)}};
}

TimedSize size_from(const json& value) {
  TimedSize one;
  one.size = value.at("size").get<std::string>();
  one.weight = value.at("weight").get<double>();
  auto word = value.at("outcome").get<std::string>();
  for (auto call : kCalls)
    if (name_of(call) == word) one.outcome = call;
  one.reason = value.at("reason").get<std::string>();
  one.baseline = value.at("baseline").get<std::string>();
  one.baseline_us = value.at("baseline_us").get<double>();
  one.candidate_us = value.at("candidate_us").get<double>();
  one.speedup = value.at("speedup").get<double>();
  one.low = or_else(value, "low", 0);
  one.high = or_else(value, "high", INFINITY);
  auto figure = [&](const char* key, double& into) { into = or_else(value, key, 0); };
  figure("baseline_spread", one.baseline_spread);
  figure("candidate_spread", one.candidate_spread);
  figure("delta", one.delta);
  figure("event_overhead_us", one.event_overhead_us);
  figure("bytes", one.bytes);
  figure("flops", one.flops);
  figure("floor_us", one.floor_us);
  figure("roofline_gbs", one.roofline_gbs);
  figure("roofline_gflops", one.roofline_gflops);
  figure("baseline_mhz", one.baseline_mhz);
  figure("candidate_mhz", one.candidate_mhz);
  one.delta_source = value.value("delta_source", "");
  one.epochs = value.at("epochs").get<uint32_t>();
  one.dropped = value.at("dropped").get<uint32_t>();
  one.pairs = value.at("pairs").get<uint32_t>();
  one.batch = value.value("batch", 1u);
  one.sets = value.value("sets", 1u);
  one.checked = value.value("checked", uint64_t{0});
  one.memory_mhz = number(value, "memory_mhz");
  one.celsius = number(value, "celsius");
  one.watts = number(value, "watts");
  for (const auto& rival : value.value("rivals", json::array()))
    one.rivals.push_back({rival.at("name").get<std::string>(), rival.at("us").get<double>(),
                          rival.at("speedup").get<double>(), or_else(rival, "low", 0),
                          or_else(rival, "high", INFINITY)});
  for (const auto& epoch : value.value("samples", json::array()))
    one.samples.push_back({or_else(epoch, "baseline_us", 0), or_else(epoch, "candidate_us", 0),
                           or_else(epoch, "speedup", 0), epoch.value("counted", false)});
  return one;
}

}  // namespace

json to_json(const Timing& timing) {
  json sizes = json::array();
  for (const auto& one : timing.sizes) sizes.push_back(size_json(one));
  json first;
  if (const auto& own = timing.first)
    first = {{"name", own->name}, {"speedup", own->speedup}, {"low", finite(own->low)}, {"high", finite(own->high)}};
  return {{"device", timing.device},   {"driver", timing.driver},     {"speedup", timing.speedup},
          {"low", finite(timing.low)}, {"high", finite(timing.high)}, {"against", timing.against()},
          {"first", std::move(first)}, {"sizes", std::move(sizes)}};
}

base::Result<Timing> timing_from_json(const json& value) {
  try {
    Timing timing;
    timing.device = value.at("device").get<std::string>();
    timing.driver = value.at("driver").get<std::string>();
    timing.speedup = value.at("speedup").get<double>();
    timing.low = or_else(value, "low", 0);
    timing.high = or_else(value, "high", INFINITY);
    if (auto own = value.find("first"); own != value.end() && own->is_object())
      timing.first = {own->at("name").get<std::string>(), own->at("speedup").get<double>(), or_else(*own, "low", 0),
                      or_else(*own, "high", INFINITY)};
    for (const auto& one : value.at("sizes")) timing.sizes.push_back(size_from(one));
    return timing;
  } catch (const json::exception& error) {
    base::Finding finding;
    finding.code = "REC0001";
    finding.message = error.what();
    return finding;
  }
}

}  // namespace ptxlab::record
