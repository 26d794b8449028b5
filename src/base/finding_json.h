// The JSON form of findings: {"code","severity","file","line","column","length","message","hint","fix"}, the same in every command.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/finding.h"
#include "base/result.h"

namespace ptxlab::base {

nlohmann::json to_json(const Finding& finding);
nlohmann::json to_json(const Findings& findings);
Result<Finding> finding_from_json(const nlohmann::json& json);

}  // namespace ptxlab::base
