// A run for the terminal: who was right how often and how fast, what went wrong, what it cost. Measured and estimated speeds have
// columns of their own.
#pragma once
#include <string>

#include "report/metrics.h"
#include "report/run_data.h"

namespace ptxlab::report {

// `width`: the terminal's, 0 cuts nothing.
std::string run_text(const RunData& run, const RunMetrics& metrics, size_t width = 0);

}  // namespace ptxlab::report
