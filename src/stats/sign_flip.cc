// Fisher, R. A. (1935): The Design of Experiments, section 21.
#include "stats/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace ptxlab::stats {
namespace {

constexpr size_t kMostExact = 16;
constexpr int kDraws = 20'000;

}  // namespace

double sign_flip_p(std::span<const double> differences, uint64_t seed) {
  std::vector<double> sizes;  // those that are 0 have no sign
  double observed = 0, all = 0;
  for (double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::fabs(difference));
    observed += difference, all += sizes.back();
  }
  if (sizes.empty()) return 1;
  // Rounding must not make a sum that is as far away less so.
  const double limit = std::fabs(observed) - 1e-12 * all;
  if (sizes.size() <= kMostExact) {
    const uint64_t draws = uint64_t{1} << sizes.size();
    uint64_t far = 0;
    for (uint64_t signs = 0; signs < draws; ++signs) {
      double sum = 0;
      for (size_t i = 0; i < sizes.size(); ++i) sum += (signs >> i & 1) ? sizes[i] : -sizes[i];
      far += std::fabs(sum) >= limit;
    }
    return static_cast<double>(far) / static_cast<double>(draws);
  }
  base::Random random(seed);
  int far = 1;  // what was observed is one of the draws
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    for (double size : sizes) sum += random.below(2) ? size : -size;
    far += std::fabs(sum) >= limit;
  }
  return static_cast<double>(far) / (kDraws + 1);
}

}  // namespace ptxlab::stats
