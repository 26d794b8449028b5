// The distribution through the regularised incomplete beta function, by its continued fraction (Lentz's method;
// Abramowitz and Stegun 26.5.8); quantiles by bisection, since they are asked for a few times a run.
#include "stats/student.h"

#include <cassert>
#include <cmath>

#include "stats/summary.h"

namespace ptxlab::stats {
namespace {

double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::fabs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double value = d;
  for (int m = 1; m <= 1000; ++m) {
    for (int odd = 0; odd < 2; ++odd) {
      const double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 + term * d;
      if (std::fabs(d) < kTiny) d = kTiny;
      d = 1 / d;
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      value *= c * d;
      if (odd && std::fabs(c * d - 1) < 1e-15) return value;
    }
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on one side of the mean; symmetry gives the other.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_cdf(double t, double degrees) {
  assert(degrees > 0);
  const double tail = 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double degrees) {
  assert(p > 0 && p < 1 && degrees > 0);
  if (p == 0.5) return 0;
  // By symmetry search the lower tail, where probabilities keep their precision.
  const double tail = p < 0.5 ? p : 1 - p;
  double low = -1;
  while (student_cdf(low, degrees) > tail) low *= 2;
  double high = 0;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (student_cdf(middle, degrees) > tail ? high : low) = middle;
  }
  const double t = (low + high) / 2;
  return p < 0.5 ? t : -t;
}

Interval student_interval(std::span<const double> sample, double alpha) {
  assert(sample.size() >= 2 && alpha > 0 && alpha < 1);
  const auto n = static_cast<double>(sample.size());
  const double center = mean(sample);
  const double half = -student_quantile(alpha / 2, n - 1) * standard_deviation(sample) / std::sqrt(n);
  return {center - half, center + half, center};
}

}  // namespace ptxlab::stats
