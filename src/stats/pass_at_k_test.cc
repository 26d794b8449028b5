#include "stats/pass_at_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace ptxlab::stats {
namespace {

// The twin: every subset of k among n is looked at.
template <class OfSubset>
double over_subsets(size_t n, size_t k, OfSubset of_subset) {
  double sum = 0;
  size_t count = 0;
  for (uint32_t set = 0; set < (1u << n); ++set) {
    if (static_cast<size_t>(std::popcount(set)) != k) continue;
    sum += of_subset(set);
    ++count;
  }
  return sum / static_cast<double>(count);
}

TEST(PassAtK, EqualsTheCountOfSubsets) {
  for (size_t n = 1; n <= 10; ++n) {
    for (size_t c = 0; c <= n; ++c) {
      for (size_t k = 1; k <= n; ++k) {
        // The first c of the n have passed.
        double twin = over_subsets(n, k, [&](uint32_t set) { return (set & ((1u << c) - 1)) != 0 ? 1.0 : 0.0; });
        EXPECT_NEAR(pass_at_k(n, c, k), twin, 1e-12) << n << " " << c << " " << k;
      }
    }
  }
}

TEST(PassAtK, ByHandAndAtLargeNumbers) {
  EXPECT_EQ(pass_at_k(10, 0, 10), 0);
  EXPECT_EQ(pass_at_k(10, 10, 1), 1);
  EXPECT_NEAR(pass_at_k(200, 1, 100), 0.5, 1e-12);
  EXPECT_NEAR(pass_at_k(1'000'000, 1, 10), 1e-5, 1e-15);
}

// Without bias: over many runs of n = 10 tries its mean is the true 1 - (1 - p)^k, where the plug-in 1 - (1 - c/n)^k falls short.
TEST(PassAtK, IsUnbiasedWhereThePlugInIsNot) {
  base::Random random(3);
  const double p = 0.15;
  const size_t n = 10, k = 5;
  double sum = 0, plug_in = 0;
  const int runs = 100'000;
  for (int run = 0; run < runs; ++run) {
    size_t c = 0;
    for (size_t i = 0; i < n; ++i) c += random.uniform() < p;
    sum += pass_at_k(n, c, k);
    plug_in += 1 - std::pow(1 - static_cast<double>(c) / n, static_cast<double>(k));
  }
  const double truth = 1 - std::pow(1 - p, static_cast<double>(k));
  EXPECT_NEAR(sum / runs, truth, 0.004);
  EXPECT_LT(plug_in / runs, truth - 0.02);
}

TEST(BestOfK, EqualsTheMeanOverSubsets) {
  base::Random random(4);
  for (size_t n = 1; n <= 9; ++n) {
    std::vector<double> values(n);
    for (auto& value : values) value = random.normal();
    if (n > 4) values[2] = values[0];  // ties
    for (size_t k = 1; k <= n; ++k) {
      double twin = over_subsets(n, k, [&](uint32_t set) {
        double best = -1e300;
        for (size_t i = 0; i < n; ++i) {
          if (set >> i & 1) best = std::max(best, values[i]);
        }
        return best;
      });
      EXPECT_NEAR(best_of_k(values, k), twin, 1e-12) << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace ptxlab::stats
