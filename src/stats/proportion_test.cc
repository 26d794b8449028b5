#include "stats/proportion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace ptxlab::stats {
namespace {

TEST(Proportion, NormalQuantiles) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normal_quantile(0.005), -2.575829304, 1e-8);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
}

TEST(Proportion, WilsonByHand) {
  // 0 of 1500: z^2 / (n + z^2).
  Interval none = wilson_interval(0, 1500);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 3.841459 / 1503.841459, 1e-9);
  // 5 of 10 is symmetric about a half: half width z sqrt(0.025 + z^2 / 400) / (1 + z^2 / 10).
  Interval half = wilson_interval(5, 10);
  EXPECT_NEAR(half.low + half.high, 1, 1e-12);
  EXPECT_NEAR(half.high - half.low, 2 * 1.959964 * std::sqrt(0.025 + 3.841459 / 400) / 1.3841459, 1e-6);
  Interval all = wilson_interval(10, 10);
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(all.low, 1 - wilson_interval(0, 10).high, 1e-12);
  Interval unknown = wilson_interval(0, 0);
  EXPECT_EQ(unknown.low, 0);
  EXPECT_EQ(unknown.high, 1);
}

TEST(Proportion, CoversAsOftenAsItSays) {
  base::Random random(11);
  for (double p : {0.01, 0.5}) {
    int covered = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      uint64_t hits = 0;
      for (int i = 0; i < 300; ++i) hits += random.uniform() < p;
      covered += wilson_interval(hits, 300).contains(p);
    }
    EXPECT_NEAR(covered / 2000.0, 0.95, 0.025) << p;
  }
}

}  // namespace
}  // namespace ptxlab::stats
