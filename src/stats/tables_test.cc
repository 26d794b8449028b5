#include "stats/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace ptxlab::stats {
namespace {

// The twin: every way in which n coins can fall.
double mcnemar_by_coins(uint32_t first, uint32_t second) {
  const uint32_t n = first + second;
  uint32_t extreme = 0;
  for (uint32_t coins = 0; coins < (1u << n); ++coins) {
    const auto heads = static_cast<uint32_t>(std::popcount(coins));
    const uint32_t few = std::min(heads, n - heads);
    if (few <= std::min(first, second)) ++extreme;
  }
  return extreme / std::pow(2.0, n);
}

TEST(McNemar, EqualsTheCountOfCoins) {
  for (uint32_t a = 0; a <= 7; ++a) {
    for (uint32_t b = 0; b <= 7; ++b) EXPECT_NEAR(mcnemar_p(a, b), mcnemar_by_coins(a, b), 1e-12) << a << " " << b;
  }
  EXPECT_EQ(mcnemar_p(0, 0), 1);
  EXPECT_NEAR(mcnemar_p(10, 0), 2.0 / 1024, 1e-12);
}

// The twin: every way to deal `a + c` marks among all.
double fisher_by_deals(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t all = a + b + c + d, row = a + b;
  std::vector<double> ways(row + 1, 0);
  double deals = 0;
  for (uint32_t marks = 0; marks < (1u << all); ++marks) {
    if (static_cast<uint32_t>(std::popcount(marks)) != a + c) continue;
    ++ways[static_cast<size_t>(std::popcount(marks & ((1u << row) - 1)))];
    ++deals;
  }
  double sum = 0;
  for (double way : ways) sum += way <= ways[a] ? way : 0;
  return sum / deals;
}

TEST(Fisher, EqualsTheCountOfDeals) {
  for (uint32_t a = 0; a <= 3; ++a) {
    for (uint32_t b = 0; b <= 3; ++b) {
      for (uint32_t c = 0; c <= 3; ++c) {
        for (uint32_t d = 0; d <= 3; ++d)
          EXPECT_NEAR(fisher_p(a, b, c, d), fisher_by_deals(a, b, c, d), 1e-9) << a << b << c << d;
      }
    }
  }
  // The lady who tasted tea: 3 of 4 cups right.
  EXPECT_NEAR(fisher_p(3, 1, 1, 3), 34.0 / 70, 1e-9);
}

}  // namespace
}  // namespace ptxlab::stats
