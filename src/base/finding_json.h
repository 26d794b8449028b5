// The JSON form of findings: {"code","severity","file","line","column","length","message","hint","fix"}, the same in
// every command.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/finding.h"

namespace ptxlab::base {

nlohmann::json to_json(const Finding& finding);
nlohmann::json to_json(const Findings& findings);
// Nothing where it is not the JSON form of a finding.
std::optional<Finding> finding_from_json(const nlohmann::json& json);

// The text of a JSON value, with bytes that are not UTF-8 replaced: a message may quote any garbage from a file.
std::string print_json(const nlohmann::json& value, int indent = 2);

}  // namespace ptxlab::base
