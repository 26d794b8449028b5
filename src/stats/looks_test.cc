// The rule on clocks that drift, throttle and spike: identical kernels are not told apart, different ones are, and what cannot
// be known is said to be unstable. All seeded.
#include "stats/looks.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "stats/proportion.h"
#include "stats/simulated_clock.h"

namespace ptxlab::stats {
namespace {

EpochTimes epoch(std::vector<double> a, std::vector<double> b) {
  EpochTimes made;
  made.a = std::move(a);
  made.b = std::move(b);
  return made;
}

Sample steady(double estimate, size_t count, double wobble = 1e-4) {
  Sample sample;
  for (size_t i = 0; i < count; ++i) sample.estimates.push_back(estimate + (i % 2 ? wobble : -wobble));
  return sample;
}

struct Shares {
  int faster = 0, slower = 0, same = 0, unstable = 0, trials = 0;
  int alarms() const { return faster + slower; }
  double of(int count) const { return static_cast<double>(count) / trials; }
};
Shares many(const Machine& machine, const Rule& rule, int trials) {
  Shares shares;
  shares.trials = trials;
  for (int i = 0; i < trials; ++i) {
    Decision decision = contest(machine, base::derive_seed(static_cast<uint64_t>(i), "contest"), rule);
    EXPECT_TRUE(std::isfinite(decision.interval.center));
    EXPECT_FALSE(std::isnan(decision.interval.low) || std::isnan(decision.interval.high));
    switch (decision.call) {
      case Call::faster: ++shares.faster; break;
      case Call::slower: ++shares.slower; break;
      case Call::same: ++shares.same; break;
      case Call::unstable: ++shares.unstable; break;
    }
  }
  return shares;
}

TEST(Looks, AnEpochIsTheMedianOfItsPairs) {
  // log(2/1), log(3/3), log(1/4): the middle one is 0. A slower than B is positive.
  EXPECT_DOUBLE_EQ(estimate_of(epoch({2, 3, 1}, {1, 3, 4})), 0);
  EXPECT_DOUBLE_EQ(estimate_of(epoch({2}, {1})), std::log(2));
  // One absurd launch changes nothing.
  EXPECT_NEAR(estimate_of(epoch({10, 10, 10, 1000}, {10, 10, 10, 10})), 0, 1e-12);
}

TEST(Looks, TimesThatAreNoneAreLeftOut) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(estimate_of(epoch({kNan, 0, -1, kInf, 2, 3}, {1, 1, 1, 1, 1, kNan})), std::log(2));
  EXPECT_EQ(counts(epoch({kNan, 0}, {1, 1})), Counted::no_times);
  EXPECT_EQ(counts(epoch({}, {})), Counted::no_times);
  EXPECT_EQ(counts(epoch({1, 2}, {})), Counted::no_times);
}

TEST(Looks, EpochsThatDoNotCount) {
  auto fine = epoch({1}, {1});
  EXPECT_EQ(counts(fine), Counted::yes);
  fine.throttled = true;
  EXPECT_EQ(counts(fine), Counted::throttled);
  fine.throttled = false;
  fine.mhz_a = 1980, fine.mhz_b = 1962;
  EXPECT_EQ(counts(fine), Counted::yes) << "0.9 % apart";
  fine.mhz_b = 1950;
  EXPECT_EQ(counts(fine), Counted::clocks_apart);
  fine.mhz_b = 0;
  EXPECT_EQ(counts(fine), Counted::yes) << "a clock that is not readable says nothing";
}

TEST(Looks, AnIntervalMustClearDelta) {
  Rule rule{.delta = 0.005};
  EXPECT_EQ(call_of({0.0051, 0.02, 0.01}, rule), Call::faster);
  EXPECT_EQ(call_of({-0.02, -0.0051, -0.01}, rule), Call::slower);
  EXPECT_EQ(call_of({0.004, 0.02, 0.01}, rule), Call::unstable);
  EXPECT_EQ(call_of({0.004, 0.009, 0.006}, rule), Call::same);
  EXPECT_EQ(call_of({-0.0101, 0.005, 0}, rule), Call::unstable);
  EXPECT_EQ(call_of({0.006, 0.008, 0.007}, rule), Call::faster) << "small and certain";
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(call_of({-inf, inf, 0}, rule), Call::unstable);
}

TEST(Looks, TooManyDroppedEpochsAreUnstableWithTheReason) {
  Rule rule{.delta = 0.001};
  Sample sample = steady(0.05, 10);
  sample.throttled = 2;
  EXPECT_EQ(decide(sample, 0, rule).call, Call::faster) << "2 of 12";
  sample.throttled = 3;
  auto decision = decide(sample, 0, rule);
  EXPECT_EQ(decision.call, Call::unstable);
  EXPECT_FALSE(decision.settled());
  EXPECT_NE(decision.trouble.find("throttled"), std::string::npos);
  sample = steady(0.05, 9);
  sample.clocks_apart = 3;
  EXPECT_NE(decide(sample, 0, rule).trouble.find("clocks"), std::string::npos);
  Sample none;
  none.throttled = 48;
  decision = decide(none, 2, rule);
  EXPECT_EQ(decision.call, Call::unstable);
  EXPECT_TRUE(decision.settled());
  EXPECT_FALSE(std::isnan(decision.interval.low));
  EXPECT_EQ(decide(Sample{}, 0, rule).call, Call::unstable);
  EXPECT_EQ(decide(steady(0.05, 11), 0, rule).call, Call::unstable) << "an epoch is missing";
}

TEST(Looks, TimesInStepsNeverGiveAnIntervalWithoutWidth) {
  Sample sample;
  sample.estimates.assign(12, 0.0043);  // every epoch on the same step of the clock
  Rule rule{.delta = 0.003, .resolution = 0.0043};
  EXPECT_EQ(decide(sample, 0, rule).call, Call::same);
  rule.resolution = 0.02;
  EXPECT_EQ(decide(sample, 0, rule).call, Call::unstable);
}

TEST(Looks, EpochsThatResembleTheirNeighboursAreLessEvidence) {
  Sample mixed, sorted;
  for (int i = 0; i < 24; ++i) {
    mixed.estimates.push_back(i % 2 ? 0.01 : 0.02);
    sorted.estimates.push_back(i < 12 ? 0.01 : 0.02);
  }
  Interval narrow = interval_at(mixed, kLooks[1], {}), wide = interval_at(sorted, kLooks[1], {});
  EXPECT_GT(wide.high - wide.low, 2 * (narrow.high - narrow.low));
}

TEST(Looks, IdenticalKernelsAreNotToldApart) {
  struct {
    const char* what;
    Machine machine;
    Rule rule;
  } machines[] = {
      {"quiet", {}, {}},
      {"noisy launches", {.noise = 0.05}, {}},
      {"spikes", {.spikes = 0.1}, {}},
      {"heavy tails", {.heavy = true}, {}},
      {"drift", {.drift = 0.01}, {}},
      {"placement", {.epoch_noise = 0.003}, {}},
      {"throttled now and then", {.throttled = 0.1}, {}},
      {"clocks apart now and then", {.clocks_apart = 0.1}, {}},
      {"coarse clock", {.time = 6, .noise = 0.004, .step = 0.032}, {.resolution = 0.032 / 6}},
  };
  for (const auto& [what, machine, rule] : machines) {
    // Even without a delta, alpha holds: 1 % in all, whose 1,500 trials give at most 27 in 99.9 % of cases.
    Shares shares = many(machine, rule, 1500);
    EXPECT_LE(shares.alarms(), 27) << what << ": " << shares.faster << " faster, " << shares.slower << " slower";
  }
  // Epochs that resemble each other break what Student promises; delta, from A/A on the same machine, restores it.
  Machine clinging{.epoch_noise = 0.003, .neighbours = 0.5};
  Shares without = many(clinging, {}, 1500), with = many(clinging, {.delta = 0.003}, 1500);
  EXPECT_LE(without.of(without.alarms()), 0.05);
  EXPECT_LE(wilson_interval(static_cast<uint64_t>(with.alarms()), 1500).high, 0.01) << with.alarms();
}

TEST(Looks, ATrueDifferenceIsSeen) {
  Rule rule{.delta = 0.003};
  for (double planted : {0.01, 0.02, 0.05}) {
    Shares faster = many({.ratio = 1 + planted, .epoch_noise = 0.002}, rule, 300);
    Shares slower = many({.ratio = 1 / (1 + planted), .epoch_noise = 0.002}, rule, 300);
    EXPECT_GE(faster.of(faster.faster), 0.9) << planted;
    EXPECT_GE(slower.of(slower.slower), 0.9) << planted;
    EXPECT_EQ(faster.slower + slower.faster, 0) << planted;
  }
  Shares spiky = many({.ratio = 1.02, .spikes = 0.1}, rule, 300);
  EXPECT_GE(spiky.of(spiky.faster), 0.9);
  Shares hidden = many({.ratio = 1.02, .noise = 0.02, .heavy = true}, rule, 300);
  EXPECT_EQ(hidden.slower, 0);
}

TEST(Looks, QuietKernelsAreTheSame) {
  Shares shares = many({.epoch_noise = 0.001}, {.delta = 0.003}, 300);
  EXPECT_GE(shares.of(shares.same), 0.98);
}

TEST(Looks, AMachineThatThrottlesSaysNothing) {
  // At most 2 of 12 drawn with 0.6: 0.3 % of contests.
  Shares shares = many({.ratio = 1.2, .throttled = 0.6}, {}, 200);
  EXPECT_GE(shares.of(shares.unstable), 0.98);
  shares = many({.ratio = 1.2, .clocks_apart = 0.6}, {}, 200);
  EXPECT_GE(shares.of(shares.unstable), 0.98);
}

TEST(Looks, ACandidateThatChangesItsMindIsNotFaster) {
  Rule rule{.delta = 0.003};
  // Fast for six epochs, slow ever after: what the first epochs promise is not believed.
  Shares shares = many({.ratio = 1.1, .changes_after = 6, .later = 0.95}, rule, 300);
  EXPECT_EQ(shares.faster, 0);
  // Fast for as long as the first look lasts would be believed: all that was seen is fast. One epoch less is not.
  shares = many({.ratio = 1.1, .changes_after = 9, .later = 0.9}, rule, 300);
  EXPECT_EQ(shares.faster, 0);
  // B that wears out against A.
  shares = many({.ratio = 1, .ratio_drift = 0.002}, rule, 300);
  EXPECT_EQ(shares.faster, 0);
}

TEST(Looks, SeveralSizesTogether) {
  Interval one{0.01, 0.03, 0.02}, two{-0.02, 0.02, 0};
  Interval both = pooled(std::vector{one, two}, std::vector{3.0, 1.0});
  EXPECT_NEAR(both.center, 0.015, 1e-15);
  EXPECT_NEAR(both.low, 0.0025, 1e-15);
  EXPECT_NEAR(both.high, 0.0275, 1e-15);
}

}  // namespace
}  // namespace ptxlab::stats
