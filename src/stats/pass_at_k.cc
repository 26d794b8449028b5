#include "stats/pass_at_k.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace ptxlab::stats {

double pass_at_k(size_t n, size_t c, size_t k) {
  assert(k >= 1 && k <= n && c <= n);
  if (n - c < k) return 1;
  // C(n - c, k) / C(n, k) as a product of k factors below 1, which neither over- nor underflows before it has to.
  double none = 1;
  for (size_t i = 0; i < k; ++i) none *= static_cast<double>(n - c - i) / static_cast<double>(n - i);
  return 1 - none;
}

double best_of_k(std::span<const double> values, size_t k) {
  assert(k >= 1 && k <= values.size());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  // The i-th smallest (from 0) is the largest of C(i, k - 1) subsets out of C(n, k); the weight of the largest is k / n, and each
  // next follows from the one above it.
  double weight = static_cast<double>(k) / static_cast<double>(n), sum = 0;
  for (size_t i = n; i-- > k - 1;) {
    sum += weight * sorted[i];
    if (i > 0) weight *= static_cast<double>(i - (k - 1)) / static_cast<double>(i);
  }
  return sum;
}

}  // namespace ptxlab::stats
