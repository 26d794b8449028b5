// JSON of strangers: what a model's server, an agent or a client sends.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace ptxlab::base {

// A discarded value where the text is no JSON, or nested deeper than any message has reason to be: the parser would take the stack.
nlohmann::json parse_bounded(std::string_view text);

}  // namespace ptxlab::base
