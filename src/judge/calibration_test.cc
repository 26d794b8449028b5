// A calibration's figures from comparisons made by hand, its file there and back, pooling, and which delta a judge takes.
#include "judge/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/random.h"

namespace ptxlab::judge {
namespace {

Comparison one_look(double percent, double half) {
  return {{static_cast<int32_t>(percent * 1e4), static_cast<int32_t>(half * 1e4)}};
}

// Identical kernels: estimates with the standard deviation `spread` percent.
CalibrationRun noise(const std::string& label, const std::string& kernel, double spread, size_t count, uint64_t seed) {
  base::Random random(seed);
  CalibrationRun run;
  run.label = label;
  run.kernel = kernel;
  run.made = "2026-11-29T23:00:00Z";
  run.driver = "13.0";
  run.us = 20.3, run.pairs = 24, run.batch = 1, run.event_overhead = 1.25, run.epochs = 12 * count, run.dropped = 3;
  run.seconds = 0.1 * static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) run.even.push_back(one_look(spread * random.normal(), 3 * spread));
  return run;
}

Calibration sample() {
  CalibrationClass twenty{20, {noise("cold", "stream", 0.1, 800, 1), noise("hot", "fma", 0.05, 800, 2)}};
  twenty.runs[0].planted.push_back({1, 0.98, {one_look(1, 0.2), one_look(0.9, 0.2), one_look(0.2, 0.2)}});
  twenty.runs[0].planted.push_back({-1, -1.02, {one_look(-1, 0.2), one_look(1, 0.2)}});
  twenty.runs[1].planted.push_back({2, 2, {one_look(2, 0.2)}});
  return {"NVIDIA H200", "13.0", {twenty, {100, {noise("cold", "stream", 0.02, 800, 3)}}}};
}

TEST(Calibration, AKeptComparisonIsDecidedByTheRule) {
  EXPECT_EQ(call_of(one_look(1, 0.2), 0.005), stats::Call::faster);
  EXPECT_EQ(call_of(one_look(-1, 0.2), 0.005), stats::Call::slower);
  EXPECT_EQ(call_of(one_look(0.1, 0.2), 0.005), stats::Call::same);
  EXPECT_EQ(call_of(one_look(1, 0.8), 0.005), stats::Call::unstable);
  // The second look settles what the first could not, and a look that lost its epochs decides nothing.
  EXPECT_EQ(call_of({{10'000, 8'000}, {10'000, 2'000}}, 0.005), stats::Call::faster);
  EXPECT_EQ(call_of({{50'000, -1}, {0, 1'000}}, 0.005), stats::Call::same);
  EXPECT_EQ(call_of(Comparison{}, 0.005), stats::Call::unstable);
}

TEST(Calibration, FiguresFollowFromTheComparisons) {
  auto figures = figures_of(sample().classes[0]);
  EXPECT_EQ(figures.comparisons, 1600u);
  // The 99th percentile of |N(0, 0.1 %)| is 0.258 %; the quieter kernel does not hide the louder one.
  EXPECT_NEAR(figures.delta, 0.00258, 0.0006);
  EXPECT_EQ(figures.false_positives, 0u) << "an interval three sigma wide never clears delta";
  EXPECT_NEAR(figures.false_positive_upper, 3.841459 / 1603.841459, 1e-7);
  EXPECT_EQ(figures.power.at(1).of, 5u);
  EXPECT_EQ(figures.power.at(1).seen, 3u) << "one too small, one with the wrong sign";
  EXPECT_EQ(figures.power.at(2).seen, 1u);
  EXPECT_NEAR(figures.seconds, 160.0 / 1606, 1e-9);
  EXPECT_NEAR(figures.dropped, 6.0 / 19200, 1e-9);
}

TEST(Calibration, FalsePositivesOfOneHalfAreCountedWithTheOthersDelta) {
  // Eight neighbours form a block; blocks go to the halves in turn. The second half has wild estimates with no width.
  CalibrationRun run = noise("cold", "fma", 0, 0, 1);
  for (size_t i = 0; i < 160; ++i) run.even.push_back(one_look(i / 8 % 2 ? 3.0 : 0.1, 0.01));
  auto figures = figures_of({20, {run}});
  EXPECT_EQ(figures.false_positives, 80u);
  EXPECT_NEAR(figures.delta, 0.03 * (1 + 5.0 / 80), 1e-9) << "80 are few";
}

TEST(Calibration, GroupsThatDifferSaySo) {
  CalibrationClass one{20, {noise("cold", "stream", 0.1, 800, 1), noise("hot", "stream", 0.1, 800, 2)}};
  for (const auto& group : figures_of(one).groups) EXPECT_TRUE(group.agrees) << group.label;
  // A small group three times as wide: pooled it hardly moves delta, and most of what is beyond is its own.
  one.runs.push_back(noise("later", "stream", 0.5, 60, 3));
  auto groups = figures_of(one).groups;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_TRUE(groups[0].agrees);
  EXPECT_FALSE(groups[2].agrees);
}

TEST(Calibration, TheFileComesBackAsItWas) {
  auto text = print(sample());
  auto read = read_calibration_text(text, "c.json");
  ASSERT_TRUE(read) << base::render(read.findings(), "");
  EXPECT_EQ(print(*read), text);
  EXPECT_NE(text.find("\"pairs\":1600"), std::string::npos);
  EXPECT_NE(text.find("\"power\":{\"1\":0.6,\"2\":1.0}"), std::string::npos) << text.substr(0, 600);
}

TEST(Calibration, WhatIsNoneIsSaid) {
  for (const char* text : {"", "{", "[]", "{}", R"({"schema":"ptxlab.calibration/2"})",
                           R"({"schema":"ptxlab.calibration/1","gpu":"x","driver":"y","classes":[{"size_us":0}]})",
                           R"({"schema":"ptxlab.calibration/1","gpu":"x","driver":"y","classes":[{"size_us":5}]})"}) {
    auto read = read_calibration_text(text, "c.json");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.findings().front().code, "JDG0040");
  }
}

TEST(Calibration, PoolingAddsRunsAndClasses) {
  Calibration all = sample();
  Calibration more{
      "NVIDIA H200", "13.1", {{5, {noise("later", "fma", 0.2, 100, 4)}}, {20, {noise("later", "fma", 0.1, 100, 5)}}}};
  pool(all, more);
  ASSERT_EQ(all.classes.size(), 3u);
  EXPECT_EQ(all.classes[0].size_us, 5);
  EXPECT_EQ(all.classes[1].runs.size(), 3u);
  EXPECT_EQ(all.driver, "13.1");
}

TEST(Calibration, FilesAreNamedByTheGpu) {
  EXPECT_EQ(calibration_file_name("NVIDIA H200"), "calibration-h200.json");
  EXPECT_EQ(calibration_file_name("NVIDIA GeForce RTX 4090"), "calibration-geforce-rtx-4090.json");
  EXPECT_EQ(calibration_file_name("NVIDIA A100-SXM4-80GB"), "calibration-a100-sxm4-80gb.json");
  EXPECT_EQ(calibration_file_name(".. / "), "calibration-gpu.json");
}

struct Found : ::testing::Test {
  base::TemporaryFolder folder{"ptxlab-calibration-test"};
  std::filesystem::path own = folder.path() / "own", shipped = folder.path() / "shipped";
  base::Findings findings;
  Calibrations find(const std::string& gpu = "NVIDIA H200") {
    return Calibrations::find(gpu, {own, shipped}, findings);
  }
  void ship(const Calibration& calibration) {
    std::filesystem::create_directories(shipped);
    ASSERT_TRUE(base::write_file(shipped / calibration_file_name(calibration.gpu), print(calibration)).empty());
  }
};

TEST_F(Found, TheLargerOfBothNeighbours) {
  ship(sample());
  auto known = find();
  auto classes = sample().classes;
  double twenty = figures_of(classes[0]).delta, hundred = figures_of(classes[1]).delta;
  EXPECT_DOUBLE_EQ(known.delta_at(20)->delta, twenty);
  EXPECT_DOUBLE_EQ(known.delta_at(50)->delta, twenty);
  EXPECT_DOUBLE_EQ(known.delta_at(150)->delta, hundred);
  EXPECT_DOUBLE_EQ(known.delta_at(10)->delta, 2 * twenty) << "a shorter kernel has more of the same noise";
  EXPECT_EQ(known.delta_at(50)->source, "calibration-h200.json, 20 us, 1,600 comparisons");
  EXPECT_FALSE(known.delta_at(2)) << "too far from every class";
  EXPECT_FALSE(known.delta_at(5000));
  EXPECT_FALSE(find("NVIDIA B200").delta_at(20));
}

TEST_F(Found, WhatIsAddedIsFoundAgain) {
  auto known = find();
  EXPECT_FALSE(known.delta_at(300));
  CalibrationClass made{300, {noise("own", "baseline", 0.03, 120, 6)}};
  EXPECT_TRUE(known.add(made, "13.0").empty());
  EXPECT_NEAR(known.delta_at(300)->delta, figures_of(made).delta, 1e-12);
  auto again = find();
  ASSERT_TRUE(again.delta_at(300));
  EXPECT_NEAR(again.delta_at(300)->delta, figures_of(made).delta, 1e-6);
  EXPECT_TRUE(findings.empty());
}

TEST_F(Found, ABrokenFileIsAWarning) {
  std::filesystem::create_directories(own);
  ASSERT_TRUE(base::write_file(own / "calibration-h200.json", "{").empty());
  EXPECT_FALSE(find().delta_at(20));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, base::Severity::warning);
  auto other = sample();
  other.gpu = "NVIDIA H200 NVL";
  ASSERT_TRUE(base::write_file(own / "calibration-h200.json", print(other)).empty());
  EXPECT_FALSE(find().delta_at(20));
  EXPECT_EQ(findings.back().code, "JDG0041");
}

}  // namespace
}  // namespace ptxlab::judge
