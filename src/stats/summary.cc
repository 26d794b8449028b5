#include "stats/summary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace ptxlab::stats {

double mean(std::span<const double> sample) {
  assert(!sample.empty());
  // Means of halves, so that rounding errors grow with the logarithm of the size.
  if (sample.size() <= 64) {
    double sum = 0;
    for (double x : sample) sum += x;
    return sum / static_cast<double>(sample.size());
  }
  const size_t half = sample.size() / 2;
  const double share = static_cast<double>(half) / static_cast<double>(sample.size());
  return mean(sample.first(half)) * share + mean(sample.subspan(half)) * (1 - share);
}

double standard_deviation(std::span<const double> sample) {
  assert(!sample.empty());
  if (sample.size() == 1) return 0;
  const double center = mean(sample);
  double sum = 0;
  for (double x : sample) sum += (x - center) * (x - center);
  return std::sqrt(sum / static_cast<double>(sample.size() - 1));
}

double root_mean_square(std::span<const double> sample) {
  assert(!sample.empty());
  double largest = 0;
  for (double x : sample) largest = std::max(largest, std::fabs(x));
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (double x : sample) sum += (x / largest) * (x / largest);
  return largest * std::sqrt(sum / static_cast<double>(sample.size()));
}

double quantile(std::span<const double> sample, double p) {
  assert(!sample.empty() && p >= 0 && p <= 1);
  std::vector<double> sorted(sample.begin(), sample.end());
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(below), sorted.end());
  const double low = sorted[below];
  if (below + 1 == sorted.size()) return low;
  const double high = *std::min_element(sorted.begin() + static_cast<ptrdiff_t>(below) + 1, sorted.end());
  return low + (position - static_cast<double>(below)) * (high - low);
}

double median(std::span<const double> sample) { return quantile(sample, 0.5); }

double geometric_mean(std::span<const double> sample, std::span<const double> weights) {
  assert(!sample.empty() && (weights.empty() || weights.size() == sample.size()));
  double sum = 0, total = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * std::log(sample[i]);
    total += weight;
  }
  return std::exp(sum / total);
}

}  // namespace ptxlab::stats
