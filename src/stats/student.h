// Student's t distribution and the interval of a mean that comes from it.
#pragma once
#include <span>

namespace ptxlab::stats {

// P(T <= t) and its inverse for `degrees` > 0 degrees of freedom.
double student_cdf(double t, double degrees);
double student_quantile(double p, double degrees);

struct Interval {
  double low = 0, high = 0, center = 0;
  bool contains(double x) const { return low <= x && x <= high; }
};

// The two-sided interval of the mean with error probability `alpha`; the sample has at least two values.
Interval student_interval(std::span<const double> sample, double alpha);

}  // namespace ptxlab::stats
