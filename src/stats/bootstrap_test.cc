#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "stats/pass_at_k.h"
#include "stats/proportion.h"
#include "stats/summary.h"

namespace ptxlab::stats {
namespace {

constexpr Bootstrap kFew = {400, 0.05, 9};

struct Played {
  double covered = 0, width = 0;
};
// How often the interval holds the truth, and how wide it is.
Played play(int runs, double truth, const std::function<Interval(base::Random&)>& interval) {
  base::Random random(21);
  Played played;
  for (int run = 0; run < runs; ++run) {
    Interval one = interval(random);
    played.covered += one.contains(truth);
    played.width += one.high - one.low;
  }
  return {played.covered / runs, played.width / runs};
}

// A task's own chance of success, of several worlds.
struct World {
  const char* name;
  double truth_of_p;  // the mean of p, for k = 1
  std::function<double(base::Random&)> p;
};
const std::vector<World>& worlds() {
  static const std::vector<World> all = {
      {"all or nothing", 0.3, [](base::Random& r) { return r.uniform() < 0.3 ? 1.0 : 0.0; }},
      {"uniform", 0.5, [](base::Random& r) { return r.uniform(); }},
      {"hard", 0.04, [](base::Random& r) { return r.uniform() < 0.1 ? 0.4 : 0.0; }},
      {"alike", 0.5, [](base::Random&) { return 0.5; }},
      {"easy", 0.9, [](base::Random& r) { return r.uniform() < 0.2 ? 0.5 : 1.0; }},
  };
  return all;
}

std::vector<double> tasks(base::Random& random, const World& world, size_t count, size_t n, size_t k) {
  std::vector<double> values;
  for (size_t t = 0; t < count; ++t) {
    const double p = world.p(random);
    size_t c = 0;
    for (size_t i = 0; i < n; ++i) c += random.uniform() < p;
    values.push_back(pass_at_k(n, c, k));
  }
  return values;
}

TEST(ShareInterval, CoversInEveryWorldFromTenTasksOn) {
  for (const auto& world : worlds()) {
    for (size_t count : {10, 30}) {
      auto played = play(300, world.truth_of_p,
                         [&](base::Random& random) { return share_interval(tasks(random, world, count, 8, 1), kFew); });
      EXPECT_GE(played.covered, 0.91) << world.name << " " << count << " width " << played.width;
    }
  }
}

// The mean of pass@8 of the uniform world is 1 - 1/9.
TEST(ShareInterval, CoversForLargeKToo) {
  auto played = play(300, 1 - 1.0 / 9,
                     [&](base::Random& random) { return share_interval(tasks(random, worlds()[1], 12, 8, 8), kFew); });
  EXPECT_GE(played.covered, 0.91) << played.width;
}

// Where all values are 0 or 1 it is Jeffreys' interval: the quantiles of Beta(c + 1/2, n - c + 1/2), here from tables.
TEST(ShareInterval, IsJeffreysForAllOrNothing) {
  std::vector<double> values(10, 0.0);
  Bootstrap many = {40'000, 0.05, 5};
  EXPECT_EQ(share_interval(values, many).low, 0);
  EXPECT_NEAR(share_interval(values, many).high, 0.217, 0.004);
  values[0] = values[1] = values[2] = 1;
  Interval three = share_interval(values, many);
  EXPECT_NEAR(three.low, 0.0927, 0.004);
  EXPECT_NEAR(three.high, 0.6058, 0.006);
  EXPECT_NEAR(three.center, 0.3, 1e-12);
  EXPECT_EQ(share_interval(std::vector<double>(5, 1.0)).high, 1);
  EXPECT_LT(share_interval(std::vector<double>(5, 1.0)).low, 0.75);
}

// Why samples are not drawn as well: the spread of the tasks' values holds theirs. Drawing both makes the interval of tasks that
// are all alike half as wide again, and biases pass@k for large k.
TEST(ShareInterval, DrawingSamplesTooWouldCountThemTwice) {
  const auto two_stage = [](base::Random& random, const std::vector<size_t>& passed, size_t n, size_t k) {
    std::vector<double> draws(400);
    for (auto& draw : draws) {
      double sum = 0;
      for (size_t t = 0; t < passed.size(); ++t) {
        const double share = static_cast<double>(passed[random.below(passed.size())]) / static_cast<double>(n);
        size_t c = 0;
        for (size_t i = 0; i < n; ++i) c += random.uniform() < share;
        sum += pass_at_k(n, c, k);
      }
      draw = sum / static_cast<double>(passed.size());
    }
    return std::pair(quantile(draws, 0.025), quantile(draws, 0.975));
  };
  base::Random random(8);
  double one = 0, both = 0;
  for (int run = 0; run < 60; ++run) {
    std::vector<size_t> passed(20);
    std::vector<double> values;
    for (auto& c : passed) {
      for (int i = 0; i < 8; ++i) c += random.uniform() < 0.5;
      values.push_back(static_cast<double>(c) / 8);
    }
    Interval interval = share_interval(values, kFew);
    one += interval.high - interval.low;
    auto [low, high] = two_stage(random, passed, 8, 1);
    both += high - low;
  }
  EXPECT_GT(both, one * 1.1);
  auto [low, high] = two_stage(random, std::vector<size_t>(20, 1), 8, 8);  // each task solved once in 8: pass@8 is 1
  EXPECT_LT(high, 0.95);
}

TEST(MeanInterval, CoversSkewedSpeedUps) {
  // Logarithms of best speed-ups: most tasks gain nothing, some a lot.
  const auto draw = [](base::Random& random) {
    return random.uniform() < 0.5 ? 0.0 : std::fabs(0.5 * random.normal());
  };
  const double truth = 0.5 * 0.5 * std::sqrt(2 / M_PI);
  for (size_t count : {6, 12, 40}) {
    auto played = play(400, truth, [&](base::Random& random) {
      std::vector<double> values(count);
      for (auto& value : values) value = draw(random);
      return mean_interval(values, kFew);
    });
    EXPECT_GE(played.covered, count < 10 ? 0.85 : 0.91) << count << " width " << played.width;
  }
  auto normal = play(400, 1, [&](base::Random& random) {
    std::vector<double> values(5);
    for (auto& value : values) value = 1 + random.normal();
    return mean_interval(values, kFew);
  });
  EXPECT_GE(normal.covered, 0.93);
}

TEST(MeanInterval, SaysNothingFromOneTask) {
  std::vector<double> one = {0.5};
  EXPECT_TRUE(std::isinf(mean_interval(one).high));
  EXPECT_EQ(mean_interval(one).center, 0.5);
  EXPECT_TRUE(std::isinf(mean_interval({}).low));
}

TEST(DifferenceInterval, OfTwoArmsThatAreAlikeHoldsZero) {
  auto played = play(300, 0, [&](base::Random& random) {
    std::vector<double> differences;
    for (int t = 0; t < 12; ++t) {
      const double p = random.uniform();
      double difference = 0;
      for (int i = 0; i < 8; ++i) difference += (random.uniform() < p) - (random.uniform() < p);
      differences.push_back(difference / 8);
    }
    return difference_interval(differences, kFew);
  });
  EXPECT_GE(played.covered, 0.93);
  // And sees one that is there.
  std::vector<double> better(12, 0.4);
  EXPECT_GT(difference_interval(better).low, 0);
  EXPECT_TRUE(difference_interval(std::vector<double>(12, 0.0)).contains(0.05));
}

TEST(RatioInterval, OfCostAndSuccesses) {
  std::vector<double> cost = {1, 2, 3, 4}, successes = {1, 0, 1, 2};
  Interval ratio = ratio_interval(cost, successes);
  EXPECT_EQ(ratio.center, 2.5);
  EXPECT_LT(ratio.low, 2.5);
  EXPECT_GT(ratio.high, 2.5);
  std::vector<double> none(4, 0.0);
  EXPECT_TRUE(std::isinf(ratio_interval(cost, none).center));
  auto played = play(300, 4, [&](base::Random& random) {
    std::vector<double> a, b;
    for (int t = 0; t < 30; ++t) {
      b.push_back(static_cast<double>(random.below(9)));  // mean 4
      a.push_back(16 * (0.5 + random.uniform()));         // mean 16
    }
    return ratio_interval(a, b, kFew);
  });
  EXPECT_GE(played.covered, 0.9);
}

TEST(Intervals, AreTheSameForTheSameSeed) {
  std::vector<double> values = {0, 0.25, 1, 0.5, 0};
  EXPECT_EQ(share_interval(values).low, share_interval(values).low);
  EXPECT_NE(share_interval(values).low, share_interval(values, {2000, 0.05, 2}).low);
  EXPECT_EQ(mean_interval(values).high, mean_interval(values).high);
}

}  // namespace
}  // namespace ptxlab::stats
