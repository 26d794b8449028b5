// Intervals for means over clusters (tasks) without a model of how they are distributed. The clusters are drawn, never the
// samples in them: the spread of the clusters' values already holds what the samples in a cluster add to it, and drawing those too
// would count that twice (Davison and Hinkley 1997, 3.8). Every interval holds its centre, the plain estimate.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stats/student.h"

namespace ptxlab::stats {

struct Bootstrap {
  int draws = 2000;
  double alpha = 0.05;
  uint64_t seed = 1;
};

// Of values in [0, 1], one a cluster. A Bayesian bootstrap (Rubin 1981) with half a pseudo-cluster at either end: where all
// values are 0 or 1 it is Jeffreys' interval, so that 0 of 12 does not come out as "0 to 0". Without clusters: [0, 1].
Interval share_interval(std::span<const double> values, const Bootstrap& options = {});

// Of differences in [-1, 1], likewise.
Interval difference_interval(std::span<const double> values, const Bootstrap& options = {});

// Of unbounded values (logarithms of speed-ups). Draws of clusters with replacement, the levels moved out as Hesterberg (2015)
// says for few clusters, and never narrower than Student's. Fewer than two: everything.
Interval mean_interval(std::span<const double> values, const Bootstrap& options = {});

// The sum of `above` over that of `below`, both one a cluster and not negative: cost a success. Draws of clusters with
// replacement; infinite where a draw has nothing below.
Interval ratio_interval(std::span<const double> above, std::span<const double> below, const Bootstrap& options = {});

}  // namespace ptxlab::stats
