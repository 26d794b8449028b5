// What the time gate measured, for people: one line a size, then how it was measured.
#pragma once
#include <string>

#include "record/record.h"

namespace ptxlab::record {

std::string timing_text(const Timing& timing);

// "1.083 times as fast (1.079 to 1.087)"; with `as`: "1.083 times as fast as NAME (1.079 to 1.087)"
std::string speedup_text(double speedup, double low, double high, const std::string& as = "");
// The same of all sizes. Where more than the task's first baseline counts, they are named: "0.974 times as fast as triton.ptx (0.971
// to 0.976), 2.431 times as fast as baseline.ptx (2.417 to 2.445)"
std::string speedup_text(const Timing& timing);
// Over the task's first baseline, which is the user's own kernel where there is one, whether or not another is stronger.
Timing::First over_first(const Timing& timing);
// "7.93 us", "1.204 ms"
std::string microseconds_text(double us);

}  // namespace ptxlab::record
