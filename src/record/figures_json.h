// The figures of a verdict as JSON: resources, machine code, profiles by line, estimates. json.cc's own.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "record/json.h"
#include "record/json_reader.h"

namespace ptxlab::record {

nlohmann::json sass_json(const std::vector<toolchain::SassFacts>& facts);
nlohmann::json profile_json(const LineProfile& profile);
toolchain::Resources read_resources(const nlohmann::json& value, std::string place);
std::vector<toolchain::SassFacts> read_sass_list(const Object& object, const char* key);
LineProfile read_profile(const nlohmann::json& value, std::string place);
// Nothing where `value` has no such member, or null.
std::optional<Estimate> read_estimate(const Object& parent, const nlohmann::json& value, const char* key);

}  // namespace ptxlab::record
