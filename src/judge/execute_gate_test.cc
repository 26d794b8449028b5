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

}  // namespace
}  // namespace ptxlab::judge
