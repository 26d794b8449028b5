#include "stats/sign_flip.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "stats/bootstrap.h"
#include "stats/tables.h"

namespace ptxlab::stats {
namespace {

TEST(SignFlip, OfEqualSizesIsMcNemars) {
  for (int up = 0; up <= 9; ++up) {
    for (int down = 0; down <= 7; ++down) {
      std::vector<double> differences(static_cast<size_t>(up), 1.0);
      differences.insert(differences.end(), static_cast<size_t>(down), -1.0);
      differences.insert(differences.end(), 3, 0.0);
      EXPECT_NEAR(sign_flip_p(differences), mcnemar_p(static_cast<uint64_t>(up), static_cast<uint64_t>(down)), 1e-12);
    }
  }
}

TEST(SignFlip, OfAFewIsCountedByHand) {
  EXPECT_EQ(sign_flip_p({}), 1);
  // Sums of +-1 +-2 +-4: all eight differ, and only 7 and -7 are as far.
  EXPECT_EQ(sign_flip_p(std::vector<double>{1, 2, 4}), 0.25);
  EXPECT_EQ(sign_flip_p(std::vector<double>{-1, 2, 4}), 0.5);
  EXPECT_EQ(sign_flip_p(std::vector<double>{0.1, 0.2, -0.3}), 1);
}

TEST(SignFlip, OfManyDrawnComesNearTheExact) {
  std::vector<double> differences;
  for (int i = 0; i < 30; ++i) differences.push_back(i < 20 ? 1 : -1);
  EXPECT_NEAR(sign_flip_p(differences), mcnemar_p(20, 10), 0.01);
  EXPECT_LT(sign_flip_p(std::vector<double>(40, 0.3)), 1e-4);
}

// What a comparison goes by. The interval by itself calls four tasks of four a difference, which two equal arms show one time in
// eight.
TEST(SignFlip, EqualArmsAreCalledDifferentOneTimeInTwentyAtMost) {
  base::Random random(5);
  for (size_t tasks : {2, 3, 4, 5, 6, 8, 9, 12, 20}) {
    int interval_alone = 0, both = 0;
    constexpr int kWorlds = 600;
    for (int world = 0; world < kWorlds; ++world) {
      std::vector<double> differences(tasks);
      for (auto& one : differences) one = random.below(2) ? 1 : -1;
      const Interval interval = difference_interval(differences, {500, 0.05, static_cast<uint64_t>(world)});
      const bool apart = interval.low > 0 || interval.high < 0;
      interval_alone += apart;
      both += apart && sign_flip_p(differences) <= 0.05;
    }
    EXPECT_LE(both, 0.05 * kWorlds + 12) << tasks;  // 12: what 600 worlds leave to chance
    if (tasks <= 5) {
      EXPECT_EQ(both, 0) << tasks;
    }
    if (tasks == 4) {
      EXPECT_GT(interval_alone, 0.09 * kWorlds);
    }
  }
}

}  // namespace
}  // namespace ptxlab::stats
