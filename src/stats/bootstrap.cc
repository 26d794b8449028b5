#include "stats/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "stats/proportion.h"
#include "stats/summary.h"

namespace ptxlab::stats {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Order statistics at the two levels; infinite draws sort to the end.
Interval between(std::vector<double>& draws, double low, double high, double center) {
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double p) {
    const double place = p * static_cast<double>(draws.size() - 1);
    const auto below = static_cast<size_t>(place);
    const double part = place - static_cast<double>(below);
    return part > 0 ? draws[below] + part * (draws[below + 1] - draws[below]) : draws[below];
  };
  return {std::min(at(low), center), std::max(at(high), center), center};
}

// Gamma-distributed with shape 1 and 1/2: a Dirichlet draw before it is divided by its sum.
double whole_weight(base::Random& random) { return -std::log1p(-random.uniform()); }
double half_weight(base::Random& random) {
  const double z = random.normal();
  return z * z / 2;
}

Interval bounded_interval(std::span<const double> values, double least, double most, const Bootstrap& options) {
  if (values.empty()) return {least, most, (least + most) / 2};
  base::Random random(options.seed);
  std::vector<double> draws(static_cast<size_t>(options.draws));
  for (auto& draw : draws) {
    double sum = 0, weights = 0;
    const auto add = [&](double weight, double value) { sum += weight * value, weights += weight; };
    for (double value : values) add(whole_weight(random), value);
    add(half_weight(random), least);
    add(half_weight(random), most);
    draw = sum / weights;
  }
  const double center = mean(values);
  Interval interval = between(draws, options.alpha / 2, 1 - options.alpha / 2, center);
  // As for Jeffreys' interval: what never happened may be impossible, what always happened certain.
  if (center == least) interval.low = least;
  if (center == most) interval.high = most;
  return interval;
}

// Draws of n clusters out of n.
std::vector<double> resampled(size_t n, const Bootstrap& options,
                              const std::function<double(std::span<const size_t>)>& statistic) {
  base::Random random(options.seed);
  std::vector<double> draws(static_cast<size_t>(options.draws));
  std::vector<size_t> chosen(n);
  for (auto& draw : draws) {
    for (auto& one : chosen) one = random.below(n);
    draw = statistic(chosen);
  }
  return draws;
}

}  // namespace

Interval share_interval(std::span<const double> values, const Bootstrap& options) {
  return bounded_interval(values, 0, 1, options);
}

Interval difference_interval(std::span<const double> values, const Bootstrap& options) {
  return bounded_interval(values, -1, 1, options);
}

Interval mean_interval(std::span<const double> values, const Bootstrap& options) {
  const size_t n = values.size();
  if (n < 2) return {-kInfinite, kInfinite, n == 1 ? values[0] : 0};
  const double center = mean(values);
  auto draws = resampled(n, options, [&](std::span<const size_t> chosen) {
    double sum = 0;
    for (size_t i : chosen) sum += values[i];
    return sum / static_cast<double>(n);
  });
  const auto size = static_cast<double>(n);
  const double t = student_quantile(options.alpha / 2, size - 1);
  const double level = 0.5 * std::erfc(-std::sqrt(size / (size - 1)) * t * M_SQRT1_2);
  Interval interval = between(draws, level, 1 - level, center);
  const Interval student = student_interval(values, options.alpha);
  return {std::min(interval.low, student.low), std::max(interval.high, student.high), center};
}

Interval ratio_interval(std::span<const double> above, std::span<const double> below, const Bootstrap& options) {
  assert(above.size() == below.size());
  const size_t n = above.size();
  const double total = std::accumulate(below.begin(), below.end(), 0.0);
  const double center = total > 0 ? std::accumulate(above.begin(), above.end(), 0.0) / total : kInfinite;
  if (n < 2) return {0, kInfinite, center};
  auto draws = resampled(n, options, [&](std::span<const size_t> chosen) {
    double a = 0, b = 0;
    for (size_t i : chosen) a += above[i], b += below[i];
    return b > 0 ? a / b : kInfinite;
  });
  // Interpolation between two infinite draws would be no number.
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double p) { return draws[static_cast<size_t>(p * static_cast<double>(draws.size() - 1))]; };
  return {std::min(at(options.alpha / 2), center), std::max(at(1 - options.alpha / 2), center), center};
}

}  // namespace ptxlab::stats
