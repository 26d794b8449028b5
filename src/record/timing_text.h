// What the time gate measured, for people: one line a size, then how it was measured.
#pragma once
#include <string>

#include "record/record.h"

namespace ptxlab::record {

std::string timing_text(const Timing& timing);

// "1.083 times as fast (1.079 to 1.087)"
std::string speedup_text(double speedup, double low, double high);
// "7.93 us", "1.204 ms"
std::string microseconds_text(double us);

}  // namespace ptxlab::record
