// For tests: which of many instructions ptxas refuses. ptxas names every line that it refuses, so a batch is one
// process (two or three where lines hide others); with a compute_ architecture it parses without making code.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/enumerate.h"

namespace ptxlab::isa {

// PTXLAB_PTXAS, else ptxas in PATH; nothing where there is none.
std::optional<std::string> find_ptxas();

// What begins the message of a line on which ptxas crashed: no word about the line's legality.
inline constexpr std::string_view kCrash = "ptxas crashed: ";

// Index of a line to ptxas' message about it. `trouble` receives what else went wrong; it stays empty when every
// refusal has its line.
std::map<size_t, std::string> refused_by_ptxas(const std::string& ptxas, const std::vector<std::string>& lines,
                                               const Setting& setting, std::string& trouble);

}  // namespace ptxlab::isa
