// The time gate on a stopwatch that is played: faster, slower, same, unsteady, throttled, and every way in which a candidate is
// right until its time is taken.
#include "judge/time_gate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "judge/fake_gpu.h"
#include "judge/floor.h"
#include "judge/judge.h"
#include "judge/test_task.h"
#include "record/json.h"
#include "record/text.h"

namespace ptxlab::judge {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;

struct TimeGate : IncrementTask {
  std::vector<std::filesystem::path> calibrations;
  std::string device = "fake GPU";
  FakeGpu* gpu = nullptr;
  std::unique_ptr<Judge> the_judge;
  int crash_until = 0;

  record::Verdict judge(const std::string& entry) {
    Parts with = parts();
    with.calibrations = calibrations;
    with.gpus = {[this]() -> GpuResult {
      auto made = std::make_unique<FakeGpu>(device);
      gpu = made.get();
      gpu->crash_until = crash_until;
      return std::unique_ptr<gpu::Runner>(std::move(made));
    }};
    the_judge = std::make_unique<Judge>(std::move(with));
    return again(entry);
  }
  record::Verdict again(const std::string& entry) {
    record::Candidate candidate;
    candidate.ptx = kernel(entry);
    candidate.plan = plan(entry);
    return the_judge->judge(task, candidate, options);
  }
};

TEST_F(TimeGate, FasterSlowerSame) {
  auto faster = judge("faster_5");
  EXPECT_EQ(faster.outcome, OutcomeName::faster) << record::text(faster, {});
  EXPECT_EQ(faster.gate(GateName::time).status, GateStatus::passed);
  ASSERT_TRUE(faster.timing);
  EXPECT_NEAR(faster.timing->speedup, 1.05, 0.003);
  EXPECT_LT(faster.timing->low, 1.05);
  EXPECT_GT(faster.timing->high, 1.05);
  ASSERT_EQ(faster.timing->sizes.size(), 1u);
  const auto& size = faster.timing->sizes[0];
  EXPECT_EQ(size.epochs, 12u) << "the first look settles it";
  EXPECT_NEAR(size.baseline_us, 20, 0.1);
  EXPECT_NEAR(size.candidate_us, 20 / 1.05, 0.1);
  ASSERT_EQ(size.samples.size(), 12u) << "an epoch each";
  for (const auto& epoch : size.samples) {
    EXPECT_TRUE(epoch.counted);
    EXPECT_NEAR(epoch.baseline_us, 20, 0.3);
    EXPECT_NEAR(epoch.candidate_us, 20 / 1.05, 0.3);
    EXPECT_NEAR(epoch.speedup, 1.05, 0.02);
  }
  EXPECT_EQ(size.checked, 192u);
  EXPECT_EQ(size.celsius, 45u);
  EXPECT_GT(size.delta, 0);
  EXPECT_FALSE(faster.estimate) << "what is measured is not estimated";
  EXPECT_EQ(faster.speedup(), faster.timing->speedup);
  EXPECT_EQ(again("slower_5").outcome, OutcomeName::slower);
  auto same = again("right_too");
  EXPECT_EQ(same.outcome, OutcomeName::same) << record::text(same, {});
  auto little = again("a_hair_faster");
  EXPECT_EQ(little.outcome, OutcomeName::same) << "less than identical kernels differ by";
}

TEST_F(TimeGate, TheStrongestBaselineCountsAndTheFirstStandsBeside) {
  write("rival.ptx", kernel("faster_10"));
  write("rival.plan.toml", plan("faster_10"));
  task.baselines = {{"ptx", "inc.ptx", "inc.plan.toml"}, {"ptx", "rival.ptx", "rival.plan.toml"}};
  auto verdict = judge("faster_5");
  EXPECT_EQ(verdict.outcome, OutcomeName::slower) << record::text(verdict, {});
  ASSERT_TRUE(verdict.timing);
  EXPECT_EQ(verdict.timing->against(), "rival.ptx");
  EXPECT_NEAR(verdict.timing->speedup, 1.05 / 1.10, 0.003);
  ASSERT_TRUE(verdict.timing->first);
  EXPECT_EQ(verdict.timing->first->name, "inc.ptx");
  EXPECT_NEAR(verdict.timing->first->speedup, 1.05, 0.003);
  EXPECT_LT(verdict.timing->first->low, verdict.timing->first->speedup);
  EXPECT_NE(verdict.reason.find("times as fast as rival.ptx ("), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("times as fast as inc.ptx ("), std::string::npos) << verdict.reason;
  for (const auto& finding : verdict.gate(GateName::time).findings)
    EXPECT_FALSE(finding.code.starts_with("JDG008"))
        << "it is no slower than the kernel it is compared with: " << finding.message;

  auto back = record::verdict_from_json(record::to_json(verdict));
  ASSERT_TRUE(back && back->timing && back->timing->first);
  EXPECT_EQ(record::to_json(*back), record::to_json(verdict));

  // Weaker than the first: it stands beside and changes nothing.
  write("rival.ptx", kernel("slower_10"));
  write("rival.plan.toml", plan("slower_10"));
  verdict = judge("faster_5");
  EXPECT_EQ(verdict.outcome, OutcomeName::faster);
  EXPECT_FALSE(verdict.timing->first);
  EXPECT_EQ(verdict.timing->against(), "inc.ptx");
  EXPECT_EQ(verdict.timing->sizes[0].rivals.at(0).name, "rival.ptx");
}

TEST_F(TimeGate, WhatCannotBeKnownIsUnstable) {
  for (const char* entry : {"unsteady", "throttles", "heats"}) {
    auto verdict = judge(entry);
    EXPECT_EQ(verdict.outcome, OutcomeName::unstable) << entry << record::text(verdict, {});
    EXPECT_EQ(verdict.gate(GateName::time).status, GateStatus::failed);
    ASSERT_TRUE(verdict.timing) << "the figures are told all the same";
    EXPECT_EQ(verdict.timing->sizes[0].epochs, 48u);
    EXPECT_FALSE(verdict.timing->sizes[0].reason.empty());
  }
  EXPECT_NE(judge("heats").reason.find("throttled"), std::string::npos);
  EXPECT_NE(judge("throttles").reason.find("clocks"), std::string::npos);
  auto turns = judge("turns_slow");
  EXPECT_NE(turns.outcome, OutcomeName::faster) << record::text(turns, {});
}

TEST_F(TimeGate, WhatIsRightOnlyWhereItIsSmallOrFirstIsWrong) {
  for (const char* entry :
       {"t_wrong", "t_remembers", "t_touches", "t_right_once", "t_touches_late", "t_varies", "t_unwritten"}) {
    auto verdict = judge(entry);
    EXPECT_EQ(verdict.outcome, OutcomeName::wrong) << entry << record::text(verdict, {});
    EXPECT_EQ(verdict.gate(GateName::execute).status, GateStatus::passed) << entry;
    EXPECT_EQ(verdict.gate(GateName::time).status, GateStatus::failed) << entry;
  }
  EXPECT_NE(judge("t_wrong").reason.find("n=100000"), std::string::npos);
  EXPECT_NE(judge("t_right_once").reason.find("only at first"), std::string::npos);
  EXPECT_NE(judge("t_remembers").reason.find("instead of"), std::string::npos) << "the variant is named";
}

TEST_F(TimeGate, FaultsAndHangsAreTheCandidatesWhereTheyComeTwice) {
  for (const char* entry : {"t_faults", "t_hangs", "t_overruns", "t_crashes_late"}) {
    auto verdict = judge(entry);
    EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << entry << record::text(verdict, {});
  }
  auto once = judge("t_faults_once");
  EXPECT_EQ(once.outcome, OutcomeName::same) << record::text(once, {});
  EXPECT_EQ(once.gate(GateName::time).findings.back().code, "JDG0031") << "but it is said";
  crash_until = 3;  // its contest, the baseline with itself, and its contest again
  auto crash = judge("t_crashes_once");
  EXPECT_EQ(crash.outcome, OutcomeName::same) << record::text(crash, {});
}

TEST_F(TimeGate, WhatIsNobodysFaultIsSaid) {
  EXPECT_EQ(judge("t_lost").outcome, OutcomeName::infrastructure);
  auto large = judge("t_large");
  EXPECT_EQ(large.outcome, OutcomeName::unverified) << record::text(large, {});
  EXPECT_EQ(large.gate(GateName::time).status, GateStatus::skipped);
  EXPECT_NE(large.gate(GateName::time).reason.find("do not fit"), std::string::npos);
  EXPECT_FALSE(large.timing);
  make_task(kIncrementTask, "baseline_varies");
  EXPECT_EQ(judge("right").outcome, OutcomeName::infrastructure) << "the baseline's fault is not the candidate's";
}

TEST_F(TimeGate, WithoutACalibrationTheBaselineIsTimedAgainstItselfOnce) {
  calibrations = {folder.path() / "data"};
  auto first = judge("right_too");
  EXPECT_EQ(gpu->contests, 3) << "the contest, the baseline with itself, and the contest again";
  EXPECT_NE(record::text(first, {}).find("JDG0056"), std::string::npos);
  again("faster_5");
  EXPECT_EQ(gpu->contests, 4);
  judge("right_too");
  EXPECT_EQ(gpu->contests, 1) << "what another judge has found out is read";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "data" / "calibration-fake-gpu.json"));
}

TEST_F(TimeGate, SeveralSizesAreFasterOnlyWhereNoneIsSlower) {
  using record::TimedSize;
  auto size = [](double speedup, OutcomeName outcome) {
    TimedSize one;
    one.size = outcome == OutcomeName::slower ? "n=1" : "n=2";
    one.speedup = speedup, one.low = speedup / 1.001, one.high = speedup * 1.001, one.delta = 0.002;
    one.outcome = outcome;
    return one;
  };
  auto both = [&](TimedSize a, TimedSize b) {
    record::Timing timing;
    timing.sizes = {a, b};
    timing.speedup = std::sqrt(a.speedup * b.speedup);
    timing.low = timing.speedup / 1.001, timing.high = timing.speedup * 1.001;
    std::string reason;
    auto outcome = outcome_of(timing, reason);
    EXPECT_FALSE(reason.empty());
    return outcome;
  };
  auto faster = size(1.2, OutcomeName::faster), slower = size(0.9, OutcomeName::slower);
  auto same = size(1, OutcomeName::same), unstable = size(1.2, OutcomeName::unstable);
  EXPECT_EQ(both(faster, faster), OutcomeName::faster);
  EXPECT_EQ(both(faster, same), OutcomeName::faster);
  EXPECT_EQ(both(faster, slower), OutcomeName::slower);
  EXPECT_EQ(both(same, slower), OutcomeName::slower);
  EXPECT_EQ(both(same, same), OutcomeName::same);
  EXPECT_EQ(both(faster, unstable), OutcomeName::unstable);
}

TEST_F(TimeGate, LessThanAnyKernelCanNeedIsNotBelieved) {
  device = "NVIDIA A100 80GB";
  make_task(std::string(kIncrementTask) + "[floor]\nbytes = \"8*n\"\nflops = \"n\"\n", "right");
  auto verdict = judge("impossible");
  EXPECT_EQ(verdict.outcome, OutcomeName::unstable) << record::text(verdict, {});
  EXPECT_NE(verdict.reason.find("less than any kernel can need"), std::string::npos) << verdict.reason;
  auto honest = again("faster_5");
  EXPECT_EQ(honest.outcome, OutcomeName::faster);
  const auto& size = honest.timing->sizes[0];
  EXPECT_EQ(size.bytes, 800'000);
  EXPECT_NEAR(size.floor_us, 800'000 / (4500 * 1.15) / 1e3, 1e-6) << "it fits into L2";
  EXPECT_EQ(size.roofline_gbs, 1790);
  // Of a device that is not on the sheet nothing is known.
  device = "fake GPU";
  EXPECT_EQ(judge("impossible").timing->sizes[0].floor_us, 0);
}

TEST_F(TimeGate, TheFiguresComeBackFromJson) {
  auto verdict = judge("faster_5");
  auto json = record::to_json(verdict);
  auto back = record::verdict_from_json(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(record::to_json(*back), json);
  auto text = record::text(*back, {});
  EXPECT_NE(text.find("times as fast"), std::string::npos);
  EXPECT_NE(text.find("12 epochs of 8 pairs, 0 dropped; 192 executions checked"), std::string::npos) << text;
  json["timing"]["sizes"] = 3;
  EXPECT_FALSE(record::verdict_from_json(json));
  json.erase("timing");
  EXPECT_TRUE(record::verdict_from_json(json)) << "verdicts of earlier versions have none";
}

TEST_F(TimeGate, UntilExecuteMeasuresNothing) {
  options.until = GateName::execute;
  auto verdict = judge("faster_5");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified);
  EXPECT_EQ(gpu->contests, 0);
  EXPECT_EQ(verdict.gate(GateName::time).status, GateStatus::not_run);
}

}  // namespace
}  // namespace ptxlab::judge
