// How often something happens, from how often it did: Wilson's score interval, which keeps its promise near 0 and 1, where
// shares of false alarms and of detections live.
#pragma once
#include <cstdint>

#include "stats/student.h"

namespace ptxlab::stats {

// The two-sided interval of a probability with error `alpha` after `hits` in `trials`; without trials it is all of [0, 1].
Interval wilson_interval(uint64_t hits, uint64_t trials, double alpha = 0.05);

// The inverse of the normal distribution, p in (0, 1).
double normal_quantile(double p);

}  // namespace ptxlab::stats
