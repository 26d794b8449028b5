#include "stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/student.h"

namespace ptxlab::stats {
namespace {

using Sample = std::vector<double>;

TEST(Summary, ByHand) {
  const Sample sample{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(mean(sample), 2.5);
  EXPECT_DOUBLE_EQ(median(sample), 2.5);
  EXPECT_DOUBLE_EQ(standard_deviation(sample), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(root_mean_square(sample), std::sqrt(7.5));
  EXPECT_DOUBLE_EQ(quantile(sample, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sample, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(sample, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(median(Sample{5}), 5);
  EXPECT_DOUBLE_EQ(median(Sample{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(standard_deviation(Sample{5}), 0);
  EXPECT_DOUBLE_EQ(geometric_mean(Sample{1, 4}), 2);
  EXPECT_NEAR(geometric_mean(Sample{1, 4}, Sample{1, 3}), std::pow(4, 0.75), 1e-15);
}

TEST(Summary, Extremes) {
  EXPECT_DOUBLE_EQ(root_mean_square(Sample{1e300, -1e300}), 1e300);
  EXPECT_DOUBLE_EQ(root_mean_square(Sample{1e-300, -1e-300}), 1e-300);
  EXPECT_EQ(root_mean_square(Sample{0, 0}), 0);
  EXPECT_EQ(root_mean_square(Sample{1, INFINITY}), INFINITY);
  Sample many(100'000, 0.1);
  EXPECT_NEAR(mean(many), 0.1, 1e-16);
}

TEST(Student, TabulatedQuantiles) {
  // Two-sided 95 % and 99 % from the usual tables.
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.30265, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.22814, 1e-5);
  EXPECT_NEAR(student_quantile(0.995, 11), 3.10581, 1e-5);
  EXPECT_NEAR(student_quantile(0.025, 30), -2.04227, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 1e7), 1.95996, 1e-5);
  EXPECT_EQ(student_quantile(0.5, 3), 0);
}

TEST(Student, CdfOfOneDegreeIsCauchys) {
  for (double t : {-10.0, -1.0, -0.1, 0.0, 0.5, 2.0, 100.0})
    EXPECT_NEAR(student_cdf(t, 1), 0.5 + std::atan(t) / M_PI, 1e-13) << t;
  // Two degrees: 1/2 + t / (2 sqrt(2 + t^2)).
  for (double t : {-3.0, -0.2, 1.5}) EXPECT_NEAR(student_cdf(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-13) << t;
}

TEST(Student, TheIntervalCoversTheMeanAsOftenAsItSays) {
  base::Random random(7);
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Sample sample;
    for (int i = 0; i < 6; ++i) sample.push_back(3 + random.normal());
    covered += student_interval(sample, 0.05).contains(3);
  }
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.95, 0.012);  // 3.5 standard errors
}

}  // namespace
}  // namespace ptxlab::stats
