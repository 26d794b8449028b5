// A comparison of two arms, and what a run judged again has kept, for the terminal.
#pragma once
#include <string>
#include <vector>

#include "report/metrics.h"

namespace ptxlab::report {

// `width`: the terminal's, 0 cuts nothing.
std::string compare_text(const Comparison& comparison, size_t width = 0);
std::string retained_text(const RunData& then, const std::vector<Retained>& retained,
                          const std::vector<std::string>& notes);

}  // namespace ptxlab::report
