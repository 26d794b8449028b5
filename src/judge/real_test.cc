// Whole judgements on the tasks of the repository, on the real engine: honest candidates pass, and a planted fault of each kind
// comes out as what it is.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "judge/judge.h"
#include "record/text.h"

namespace ptxlab::judge {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;

std::string read(const std::filesystem::path& path) {
  auto content = base::read_file(path);
  EXPECT_TRUE(content) << path;
  return content ? *content : "";
}

// The first `from` becomes `to`; it has to be there.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Real : ::testing::Test {
  // One judge for all: what it knows of a task is made once.
  static Judge& judge() {
    static Judge the_judge;
    return the_judge;
  }
  static task::Task task_named(const std::string& name) {
    auto task = task::find_task(name, std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks");
    EXPECT_TRUE(task) << base::render(task.findings(), "");
    return *task;
  }
  void use(const std::string& name) {
    task = task_named(name);
    candidate.ptx = read(*task.ptx);
    candidate.plan = read(task.plan);
  }
  record::Verdict judged() {
    JudgeOptions options;
    options.until = GateName::emulate;
    auto verdict = judge().judge(task, candidate, options);
    shown = record::text(verdict, {});
    return verdict;
  }
  void change(const std::string& from, const std::string& to) { candidate.ptx = replaced(candidate.ptx, from, to); }
  static bool has(const record::Verdict& verdict, GateName gate, std::string_view code) {
    for (const auto& finding : verdict.gate(gate).findings) {
      if (finding.code == code) return true;
    }
    return false;
  }
  static bool ptxas() { return toolchain::installed().ptxas.has_value(); }

  task::Task task;
  record::Candidate candidate;
  std::string shown;
};

TEST_F(Real, TheBaselineItselfIsTheSameOrUnverified) {
  use("norm/rmsnorm_bf16");
  candidate.ptx = "// another comment\n" + candidate.ptx;
  EXPECT_EQ(judged().outcome, ptxas() ? OutcomeName::same : OutcomeName::unverified) << shown;
}

TEST_F(Real, OtherBlockSizesAreHonestCandidates) {
  for (const char* name : {"norm/rmsnorm_bf16", "softmax/softmax_f32"}) {
    use(name);
    candidate.plan = replaced(*candidate.plan, "block = [\"256\"]", "block = [\"128\"]");
    auto verdict = judged();
    EXPECT_EQ(verdict.outcome, OutcomeName::unverified) << shown;
    EXPECT_EQ(verdict.gate(GateName::emulate).status, GateStatus::passed);
    EXPECT_GT(verdict.cases.size(), 20u);
  }
  use("elementwise/vector_add_f32");
  candidate.plan =
      replaced(replaced(*candidate.plan, "block = [\"256\"]", "block = [\"64\"]"), "ceildiv(n, 256)", "ceildiv(n, 64)");
  EXPECT_EQ(judged().outcome, OutcomeName::unverified) << shown;
}

TEST_F(Real, CountsByLineStandInTheVerdict) {
  use("elementwise/vector_add_f32");
  candidate.plan =
      replaced(replaced(*candidate.plan, "block = [\"256\"]", "block = [\"64\"]"), "ceildiv(n, 256)", "ceildiv(n, 64)");
  JudgeOptions options;
  auto verdict = judge().judge(task, candidate, options);
  auto line_of = [&](const record::LineProfile& profile, std::string_view word) {
    std::optional<record::LineProfile::Counts> found;
    for (const auto& one : profile.lines) {
      size_t at = 0;
      for (uint32_t i = 1; i < one.line; ++i) at = candidate.ptx.find('\n', at) + 1;
      std::string line = candidate.ptx.substr(at, candidate.ptx.find('\n', at) - at);
      if (line.find(word) != std::string::npos) found = one;
    }
    return found;
  };
  ASSERT_TRUE(verdict.profile && verdict.baseline_profile) << record::text(verdict, {});
  EXPECT_EQ(verdict.profile->of, "a few CTAs of every launch at the timed sizes");
  for (const auto* profile : {&*verdict.profile, &*verdict.baseline_profile}) {
    auto load = line_of(*profile, "ld.global");
    ASSERT_TRUE(load);
    EXPECT_GT(load->warps, 0u);
    EXPECT_EQ(load->requests, load->warps);
    EXPECT_EQ(load->sectors, 4 * load->warps) << "128 bytes a warp";
    EXPECT_EQ(load->ideal_sectors, load->sectors);
    EXPECT_EQ(load->passes, 0u);
  }
  // CTAs of 64 threads are 2 warps each, of 256 8.
  EXPECT_EQ(4 * line_of(*verdict.profile, "ld.global")->warps, line_of(*verdict.baseline_profile, "ld.global")->warps);
  options.until = GateName::emulate;
  verdict = judge().judge(task, candidate, options);
  ASSERT_TRUE(verdict.profile) << "wrong and untimed ones have the cases' counts";
  EXPECT_EQ(verdict.profile->of, "all cases, in step");
  EXPECT_FALSE(verdict.baseline_profile);
}

TEST_F(Real, ASumThatStartsAtOneIsWrong) {
  use("norm/rmsnorm_bf16");
  change("mov.f32 \t%f41, 0f00000000;", "mov.f32 \t%f41, 0f3F800000;");
  EXPECT_EQ(judged().outcome, OutcomeName::wrong) << shown;
}

TEST_F(Real, AMissingStepOfTheReductionIsWrong) {
  use("norm/rmsnorm_bf16");
  change("mov.u32 \t%r27, 1;", "mov.u32 \t%r27, 0;");
  EXPECT_EQ(judged().outcome, OutcomeName::wrong) << shown;
}

TEST_F(Real, AMissingBarrierIsARace) {
  use("norm/rmsnorm_bf16");
  change("bar.sync \t0;", "");
  auto verdict = judged();
  EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << shown;
  EXPECT_TRUE(has(verdict, GateName::emulate, "CHK0001")) << shown;
}

TEST_F(Real, AnIndexTooFarIsAFault) {
  use("elementwise/vector_add_f32");
  change("setp.ge.s32", "setp.gt.s32");
  auto verdict = judged();
  EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << shown;
}

TEST_F(Real, ALoopWithoutEndIsAFault) {
  use("norm/rmsnorm_bf16");
  change("add.s32 \t%r54, %r54, %r2;", "add.s32 \t%r54, %r54, 0;");
  auto verdict = judged();
  EXPECT_EQ(verdict.outcome, OutcomeName::faulted) << shown;
  EXPECT_TRUE(has(verdict, GateName::emulate, "RUN0007")) << shown;
}

TEST_F(Real, HalfOfTheOutputIsNotEnough) {
  use("elementwise/vector_add_f32");
  candidate.plan = replaced(*candidate.plan, "ceildiv(n, 256)", "max(1, n / 256)");
  auto verdict = judged();
  EXPECT_EQ(verdict.outcome, OutcomeName::wrong) << shown;
  EXPECT_TRUE(has(verdict, GateName::emulate, "CMP0101")) << shown;
}

TEST_F(Real, MalformedAndRejected) {
  use("norm/rmsnorm_bf16");
  std::string whole = candidate.ptx;
  candidate.ptx = whole.substr(0, whole.size() / 2);
  EXPECT_EQ(judged().outcome, OutcomeName::malformed) << shown;
  candidate.ptx = replaced(whole, "%ctaid.x", "%clock");
  EXPECT_EQ(judged().outcome, OutcomeName::rejected) << shown;
  use("elementwise/vector_add_f32");  // which does not allow it
  change("add.f32 \t%f3, %f2, %f1;", "add.f32 \t%f3, %f2, %f1;\n\tex2.approx.f32 \t%f1, %f3;");
  EXPECT_EQ(judged().outcome, OutcomeName::rejected) << shown;
}

TEST_F(Real, ATerabyteOfScratchIsRejectedBeforeItIsMade) {
  use("elementwise/vector_add_f32");
  *candidate.plan =
      replaced(*candidate.plan, "[[launch]]", "scratch = [{ name = \"much\", bytes = \"1 << 40\" }]\n[[launch]]");
  auto verdict = judged();
  EXPECT_EQ(verdict.outcome, OutcomeName::rejected) << shown;
  EXPECT_TRUE(has(verdict, GateName::check, "POL0015")) << shown;
}

TEST_F(Real, WhatPtxasAloneRefusesIsRejected) {
  if (!ptxas()) GTEST_SKIP() << "no ptxas on this machine";
  use("norm/rmsnorm_bf16");
  change(".shared .align 4 .b8 _ZZ7rmsnormPK13__nv_bfloat16S1_PS_jfE7partial[128];",
         ".shared .align 4 .b8 _ZZ7rmsnormPK13__nv_bfloat16S1_PS_jfE7partial[200000];");
  auto verdict = judged();
  EXPECT_TRUE(verdict.outcome == OutcomeName::rejected || verdict.outcome == OutcomeName::malformed) << shown;
}

}  // namespace
}  // namespace ptxlab::judge
