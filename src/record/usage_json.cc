// The JSON form of what a model was asked and what it cost.
#include <nlohmann/json.hpp>

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

}  // namespace ptxlab::record
