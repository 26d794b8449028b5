// What a model was asked and what it cost, as JSON and in words.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/json.h"

namespace ptxlab::record {

nlohmann::json to_json(const Usage& usage) {
  nlohmann::json json = {{"requests", usage.requests},        {"tokens_asked", usage.asked},
                         {"tokens_answered", usage.answered}, {"tokens_reasoning", usage.reasoning},
                         {"tokens_cached", usage.cached},     {"tokens_cache_written", usage.cache_written},
                         {"estimated", usage.estimated},      {"dollars", nullptr}};
  if (auto cost = usage.cost()) json["dollars"] = *cost;
  return json;
}

base::Result<Usage> usage_from_json(const nlohmann::json& json) {
  try {
    Usage usage;
    usage.requests = json.at("requests").get<int64_t>();
    usage.asked = json.at("tokens_asked").get<int64_t>();
    usage.answered = json.at("tokens_answered").get<int64_t>();
    usage.reasoning = json.at("tokens_reasoning").get<int64_t>();
    usage.cached = json.at("tokens_cached").get<int64_t>();
    usage.cache_written = json.at("tokens_cache_written").get<int64_t>();
    usage.estimated = json.at("estimated").get<bool>();
    usage.unpriced = json.at("dollars").is_null();
    if (!usage.unpriced) usage.dollars = json.at("dollars").get<double>();
    return usage;
  } catch (const nlohmann::json::exception& e) {
    return base::error("REC0001", std::string("what a model used: ") + e.what(), "");
  }
}

std::string describe(const Usage& usage) {
  auto part = [](int64_t count, const char* what) { return count ? fmt::format(" ({} of them {})", count, what) : ""; };
  auto text = fmt::format("{} requests, {} tokens asked{}, {} answered{}", usage.requests, usage.asked,
                          part(usage.cached, "from the cache"), usage.answered, part(usage.reasoning, "thinking"));
  if (usage.unpriced) {
    text += usage.dollars > 0 ? fmt::format(", ${:.4f} and more of unknown price", usage.dollars) : ", price unknown";
  } else if (usage.dollars > 0) {
    text += fmt::format(", ${:.4f}", usage.dollars);
  }
  if (usage.estimated) text += " (not all counted by the server: partly estimated)";
  return text;
}

}  // namespace ptxlab::record
