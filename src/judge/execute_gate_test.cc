// The execute gate on a GPU that is played: right, wrong, faulting, hanging, crashing, and lost.
#include "judge/execute_gate.h"

#include <gtest/gtest.h>

#include "judge/fake_engine.h"
#include "judge/fake_gpu.h"
#include "judge/judge.h"
#include "judge/test_task.h"
#include "record/text.h"

namespace ptxlab::judge {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;

struct ExecuteGate : IncrementTask {
  FakeGpu* gpu = nullptr;  // the judge's, once it has asked for one
  record::Verdict judge(const std::string& entry) {
    Parts with = parts();
    with.gpus = {[this]() -> GpuResult {
      auto made = std::make_unique<FakeGpu>();
      gpu = made.get();
      return std::unique_ptr<gpu::Runner>(std::move(made));
    }};
    Judge judge(std::move(with));
    options.until = GateName::execute;
    record::Candidate candidate;
    candidate.ptx = kernel(entry);
    candidate.plan = plan(entry);
    auto verdict = judge.judge(task, candidate, options);
    jobs = gpu ? gpu->jobs : 0;
    return verdict;
  }
  int jobs = 0;
};

TEST_F(ExecuteGate, ARightOneRunsEveryCaseUnderBothPoisons) {
  auto verdict = judge("right");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified) << record::text(verdict, {});
  EXPECT_EQ(verdict.gate(GateName::execute).status, GateStatus::passed);
  EXPECT_EQ(static_cast<size_t>(jobs), 2 * verdict.cases.size());
  EXPECT_NE(verdict.reason.find("passed check, emulate, execute"), std::string::npos) << verdict.reason;
}

TEST(TargetOnGpu, IsWhatWasJudgedWhereThatRunsThere) {
  const isa::Target sm80{80, 0}, sm90{90, 0}, sm90a{90, 'a'};
  EXPECT_EQ(target_on_gpu(sm80, 90, sm90a), sm90a);
  EXPECT_EQ(target_on_gpu(sm80, 90, sm90), sm90);
  EXPECT_EQ(target_on_gpu(sm90a, 90), sm90a);
  EXPECT_EQ(target_on_gpu(sm80, 90), sm90);
  EXPECT_EQ(target_on_gpu(sm80, 90, sm80), sm90) << "judged for another GPU than this one";
}

TEST_F(ExecuteGate, WhatOnlyTheGpuShowsIsFound) {
  for (const char* entry : {"gpu_wrong", "gpu_poisoned", "gpu_unwritten", "gpu_touches"}) {
    auto verdict = judge(entry);
    EXPECT_EQ(verdict.outcome, OutcomeName::wrong) << entry << record::text(verdict, {});
    EXPECT_EQ(verdict.gate(GateName::execute).status, GateStatus::failed) << entry;
    EXPECT_NE(verdict.reason.find("on the GPU"), std::string::npos) << verdict.reason;
  }
  for (const char* entry : {"gpu_faults", "gpu_hangs", "gpu_crashes", "gpu_overruns"}) {
    auto verdict = judge(entry);
    EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << entry << record::text(verdict, {});
    EXPECT_LE(jobs, 5) << entry << ": cases that fault are not all run";
  }
}

TEST_F(ExecuteGate, ALaunchThatIsNotTakenIsNotTriedAgain) {
  auto verdict = judge("gpu_refuses");
  EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << record::text(verdict, {});
  EXPECT_NE(verdict.reason.find("launch 1 (`gpu_refuses`) is not taken: CUDA_ERROR_COOPERATIVE"), std::string::npos)
      << verdict.reason;
  EXPECT_EQ(jobs, 2);  // two cases, one try each
}

TEST_F(ExecuteGate, OneFaultThatDoesNotComeBackIsNoVerdict) {
  auto verdict = judge("gpu_faults_once");
  EXPECT_EQ(verdict.outcome, OutcomeName::unstable) << record::text(verdict, {});
}

TEST_F(ExecuteGate, ALostWorkerIsNobodysFault) { EXPECT_EQ(judge("gpu_lost").outcome, OutcomeName::infrastructure); }

TEST_F(ExecuteGate, WithoutAGpuItIsSkippedWithTheReason) {
  Parts with = parts();
  with.gpus = {[]() -> GpuResult {
    base::Finding none;
    none.code = "GPU0002";
    none.message = "no GPU to work with: no NVIDIA driver on this machine";
    return none;
  }};
  Judge judge(std::move(with));
  record::Candidate candidate;
  candidate.ptx = kernel("right");
  candidate.plan = plan("right");
  auto verdict = judge.judge(task, candidate, options);
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified);
  EXPECT_EQ(verdict.gate(GateName::execute).status, GateStatus::skipped);
  EXPECT_NE(verdict.gate(GateName::execute).reason.find("no NVIDIA driver"), std::string::npos);
}

// --counters: both sides at the timed size, and a clear note where there is no profiler.
struct Counting : IncrementTask {
  record::Verdict judge(CountJob count, bool gpu = true) {
    Parts with = parts();
    if (gpu) with.gpus = {[]() -> GpuResult { return std::unique_ptr<gpu::Runner>(std::make_unique<FakeGpu>()); }};
    with.count = std::move(count);
    Judge judge(std::move(with));
    record::Candidate candidate;
    candidate.ptx = kernel("right");
    candidate.plan = plan("right");
    options.counters = true;
    return judge.judge(task, candidate, options);
  }
  static std::string codes(const record::Verdict& verdict) {
    std::string all;
    for (const auto& finding : verdict.gate(GateName::time).findings) all += finding.code + " ";
    return all;
  }
};

TEST_F(Counting, BothSidesAtATimedSize) {
  std::vector<std::string> asked;
  auto verdict = judge([&](const gpu::Job& job) -> base::Result<std::vector<gpu::CountedLaunch>> {
    asked.push_back(job.plan.launches.at(0).entry);
    EXPECT_FALSE(job.contents.at(0).empty());
    double bytes = asked.size() == 1 ? 100 : 200;
    return std::vector<gpu::CountedLaunch>{
        {"k",
         {{"dram__bytes_read.sum", bytes}, {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 2.5}}}};
  });
  ASSERT_TRUE(verdict.counters) << record::text(verdict, {});
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked.at(0), "right");
  ASSERT_EQ(verdict.counters->list.size(), 2u);
  EXPECT_EQ(verdict.counters->list[0], (record::Counters::Counter{"DRAM bytes read", "B", 100, 200.0}));
  EXPECT_EQ(verdict.counters->list[1].name, "stalled: barrier");
  EXPECT_NE(record::text(verdict, {}).find("DRAM bytes read"), std::string::npos);
}

TEST_F(Counting, WhyThereAreNone) {
  base::Finding denied;
  denied.code = "GPU0031";
  denied.message = "the driver does not let this user read counters (ERR_NVGPUCTRPERM)";
  auto verdict = judge([&](const gpu::Job&) -> base::Result<std::vector<gpu::CountedLaunch>> { return denied; });
  EXPECT_FALSE(verdict.counters);
  EXPECT_NE(codes(verdict).find("GPU0031"), std::string::npos);
  EXPECT_EQ(verdict.outcome, OutcomeName::same) << "counters decide nothing";
  EXPECT_NE(codes(judge({})).find("JDG0048"), std::string::npos);
  EXPECT_NE(codes(judge({}, false)).find("JDG0048"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::judge
