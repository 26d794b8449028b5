// A sample in a few numbers. All functions take the sample in any order; none has a value for an empty one (they
// assert).
#pragma once
#include <span>

namespace ptxlab::stats {

double mean(std::span<const double> sample);
// The sample's standard deviation (n - 1 below); 0 for a single value.
double standard_deviation(std::span<const double> sample);
// Does not overflow where the values themselves do not.
double root_mean_square(std::span<const double> sample);
// Quantile by linear interpolation between order statistics (Hyndman and Fan's type 7); p in [0, 1].
double quantile(std::span<const double> sample, double p);
double median(std::span<const double> sample);
double geometric_mean(std::span<const double> sample, std::span<const double> weights = {});

}  // namespace ptxlab::stats
