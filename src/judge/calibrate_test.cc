// calibrate on a GPU that is played: its kernels take a straight line's time with noise; sizes are found, differences planted,
// and the figures come out as the noise has them.
#include "judge/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "gpu/wire.h"
#include "judge/calibration_kernels.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

class LinearGpu : public gpu::Runner {
 public:
  LinearGpu() { hello_.device = "NVIDIA Play", hello_.sm = 90, hello_.driver = 13000; }
  const gpu::Hello& hello() const override { return hello_; }
  base::Result<gpu::Done> run(const gpu::Job&, std::chrono::milliseconds) override { return gpu::Done{}; }

  base::Result<gpu::Opened> open(const gpu::Contest& contest, std::chrono::milliseconds) override {
    EXPECT_EQ(contest.sides[0].plan.buffers, contest.sides[1].plan.buffers);
    EXPECT_TRUE(gpu::decode<gpu::Contest>(gpu::encode(contest))) << "the worker would not read it";
    gpu::Opened opened;
    opened.end = gpu::Done::End::executed;
    for (size_t arm = 0; arm < 2; ++arm) opened.microseconds[arm] = time_[arm] = time_of(contest.sides[arm].plan);
    opened.pairs = 12, opened.event_overhead = 1.5;
    ++opens;
    return opened;
  }
  base::Result<gpu::Measured> measure(const gpu::MeasureRequest& request, std::chrono::milliseconds) override {
    elapsed += request.epochs * 0.01;
    if (dies_after && elapsed > dies_after) {
      base::Finding gone;
      gone.code = "GPU0005";
      gone.message = "the GPU worker ended without an answer";
      return gone;
    }
    gpu::Measured measured;
    measured.end = gpu::Done::End::executed;
    for (uint32_t e = 0; e < request.epochs; ++e) {
      gpu::Epoch epoch;
      double placement = std::exp(epoch_noise * random_.normal());
      for (int i = 0; i < 12; ++i) {
        gpu::Pair pair;
        for (size_t arm = 0; arm < 2; ++arm)
          pair.microseconds[arm] =
              static_cast<float>(time_[arm] * std::exp(0.004 * random_.normal()) * (arm ? placement : 1));
        epoch.pairs.push_back(pair);
      }
      measured.epochs.push_back(epoch);
    }
    return measured;
  }

  int opens = 0;
  double elapsed = 0;  // what a clock on the wall would say
  double dies_after = 0;
  double epoch_noise = 0.001;

 private:
  static double time_of(const launch::ResolvedPlan& plan) {
    uint32_t work = 0;
    std::memcpy(&work, plan.launches.at(0).parameters.data() + 24, 4);
    return plan.launches[0].entry == "fma" ? 2.1 + 0.011 * work : 2.5 + 9e-6 * work;
  }
  gpu::Hello hello_;
  double time_[2] = {1, 1};
  base::Random random_{5};
};

CalibrateOptions options_for(LinearGpu& gpu) {
  CalibrateOptions options;
  options.now = [&gpu] {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(gpu.elapsed)));
  };
  return options;
}

TEST(Calibrate, TheKernelsAreLegal) {
  auto checked = ptx::check(calibration_ptx(), "calibration.ptx");
  EXPECT_TRUE(checked.findings.empty()) << base::render(checked.findings, calibration_ptx());
}

TEST(Calibrate, FindsSizesPlantsDifferencesAndCounts) {
  LinearGpu gpu;
  auto options = options_for(gpu);
  options.sizes_us = {5, 100};
  options.comparisons = 240;
  options.label = "cold";
  auto made = calibrate(gpu, {}, options);
  ASSERT_TRUE(made) << base::render(made.findings(), "");
  EXPECT_TRUE(made->findings.empty()) << base::render(made->findings, "");
  EXPECT_EQ(made->calibration.gpu, "NVIDIA Play");
  EXPECT_EQ(made->calibration.driver, "13.0");
  ASSERT_EQ(made->calibration.classes.size(), 2u);
  for (const auto& one : made->calibration.classes) {
    ASSERT_EQ(one.runs.size(), 2u);
    for (const auto& run : one.runs) {
      EXPECT_NEAR(run.us, one.size_us, 0.06 * one.size_us) << run.kernel;
      EXPECT_EQ(run.even.size(), 120u);
      EXPECT_EQ(run.label, "cold");
      ASSERT_EQ(run.planted.size(), 6u);
      for (const auto& planted : run.planted)
        EXPECT_NEAR(planted.actual, planted.percent, 0.15 * std::fabs(planted.percent)) << run.kernel;
    }
    auto figures = figures_of(one);
    EXPECT_EQ(figures.comparisons, 240u);
    // 12 epochs of 0.1 %, and 12 pairs of 0.4 % in each: about 0.05 % at one sigma.
    EXPECT_NEAR(figures.delta, 0.00155, 0.0007);
    EXPECT_LE(figures.false_positives, 2u);
    EXPECT_GE(figures.power.at(1).share(), 0.9);
    EXPECT_GE(figures.power.at(5).share(), 0.99);
  }
  EXPECT_NE(table(made->calibration).find("cold"), std::string::npos);
  EXPECT_LT(gpu.opens, 120) << "contests are kept open";
}

TEST(Calibrate, StopsInTime) {
  LinearGpu gpu;
  auto options = options_for(gpu);
  options.seconds = 60;
  auto made = calibrate(gpu, {}, options);
  ASSERT_TRUE(made) << base::render(made.findings(), "");
  EXPECT_LT(gpu.elapsed, 62);
  ASSERT_EQ(made->calibration.classes.size(), 4u) << "each class gets its part of the time";
  for (const auto& one : made->calibration.classes) {
    auto figures = figures_of(one);
    EXPECT_GT(figures.comparisons, 50u) << one.size_us;
    EXPECT_GT(figures.power.at(1).of, 4u) << one.size_us;
  }
  ASSERT_EQ(made->findings.size(), 1u);
  EXPECT_EQ(made->findings[0].code, "JDG0043");
}

TEST(Calibrate, WhatWasMeasuredBeforeAFaultIsKept) {
  LinearGpu gpu;
  gpu.dies_after = 20;
  auto options = options_for(gpu);
  auto made = calibrate(gpu, {}, options);
  ASSERT_TRUE(made);
  EXPECT_TRUE(base::has_error(made->findings));
  ASSERT_EQ(made->calibration.classes.size(), 1u);
  EXPECT_GT(figures_of(made->calibration.classes[0]).comparisons, 50u);
  LinearGpu dead;
  dead.dies_after = 0.005;
  EXPECT_FALSE(calibrate(dead, {}, options_for(dead)));
}

}  // namespace
}  // namespace ptxlab::judge
