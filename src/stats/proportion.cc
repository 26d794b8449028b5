// Wilson, E. B. (1927): the values of p that the observed share does not refute.
#include "stats/proportion.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ptxlab::stats {

double normal_quantile(double p) {
  assert(p > 0 && p < 1);
  // Bisection of the distribution through erfc, in the lower tail, where it keeps its precision; asked for rarely.
  const double tail = p < 0.5 ? p : 1 - p;
  double low = -40, high = 0;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (0.5 * std::erfc(-middle * M_SQRT1_2) > tail ? high : low) = middle;
  }
  const double z = (low + high) / 2;
  return p < 0.5 ? z : -z;
}

Interval wilson_interval(uint64_t hits, uint64_t trials, double alpha) {
  assert(hits <= trials && alpha > 0 && alpha < 1);
  if (trials == 0) return {0, 1, 0.5};
  const double z = -normal_quantile(alpha / 2), n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n, z2 = z * z;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // The ends are exact where rounding would leave a crumb.
  return {hits == 0 ? 0 : std::max(0.0, middle - half), hits == trials ? 1 : std::min(1.0, middle + half), p};
}

}  // namespace ptxlab::stats
