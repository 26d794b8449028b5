// Outcomes, one by one, on an engine that behaves as told: what is tested is who decides what, not the engine.
#include "judge/judge.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "judge/fake_engine.h"
#include "judge/test_task.h"
#include "record/json.h"
#include "record/text.h"
#include "toolchain/fake_tool.h"

namespace ptxlab::judge {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;

struct JudgeTest : IncrementTask {
  record::Verdict judge(const std::string& entry, const std::string& body = "", const std::string& declarations = "",
                        Parts with = parts()) {
    record::Candidate candidate;
    candidate.ptx = kernel(entry, body, declarations);
    candidate.plan = plan(entry);
    return judge(candidate, std::move(with));
  }
  record::Verdict judge(const record::Candidate& candidate, Parts with = parts()) {
    Judge judge(std::move(with));
    auto verdict = judge.judge(task, candidate, options);
    // Whatever comes out can be written and read.
    EXPECT_TRUE(record::verdict_from_json(record::to_json(verdict)));
    EXPECT_FALSE(record::text(verdict, {}).empty());
    EXPECT_FALSE(verdict.reason.empty());
    return verdict;
  }
  static bool has(const record::Verdict& verdict, GateName gate, std::string_view code) {
    for (const auto& finding : verdict.gate(gate).findings) {
      if (finding.code == code) return true;
    }
    return false;
  }
};

TEST_F(JudgeTest, ARightOneWithoutPtxasAndGpuIsUnverifiedAndSaysWhatWasSkipped) {
  auto verdict = judge("right");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified) << record::text(verdict, {});
  EXPECT_EQ(verdict.reason, "passed check, emulate; skipped assemble, execute, time");
  EXPECT_EQ(verdict.gate(GateName::assemble).status, GateStatus::skipped);
  EXPECT_NE(verdict.gate(GateName::assemble).reason.find("no ptxas"), std::string::npos);
  EXPECT_EQ(verdict.gate(GateName::time).status, GateStatus::skipped);
  EXPECT_GE(verdict.cases.size(), 3u);
  for (const auto& one : verdict.cases) EXPECT_TRUE(one.right) << one.summary;
  EXPECT_EQ(verdict.task, "inc");
  EXPECT_EQ(verdict.target, "sm_80");
  EXPECT_NE(verdict.oracle.find("baseline"), std::string::npos);
}

TEST_F(JudgeTest, WrongValuesAreWrong) {
  auto verdict = judge("off_by_two");
  EXPECT_EQ(verdict.outcome, OutcomeName::wrong);
  EXPECT_EQ(verdict.gate(GateName::emulate).status, GateStatus::failed);
  EXPECT_EQ(verdict.gate(GateName::execute).status, GateStatus::not_run);
  EXPECT_NE(verdict.reason.find("expected"), std::string::npos) << verdict.reason;
}

TEST_F(JudgeTest, RightAtSmallSizesIsNotRight) {
  auto verdict = judge("big_only");
  EXPECT_EQ(verdict.outcome, OutcomeName::wrong);
  size_t right = 0;
  for (const auto& one : verdict.cases) right += one.right;
  EXPECT_GT(right, 0u);
  EXPECT_LT(right, verdict.cases.size());
}

TEST_F(JudgeTest, UnwrittenOutputsTouchedInputsAndOrderAreWrong) {
  auto unwritten = judge("unwritten_tail");
  EXPECT_EQ(unwritten.outcome, OutcomeName::wrong);
  EXPECT_TRUE(has(unwritten, GateName::emulate, "CMP0101"));
  auto touched = judge("touches_input");
  EXPECT_EQ(touched.outcome, OutcomeName::wrong);
  EXPECT_TRUE(has(touched, GateName::emulate, "CMP0102"));
  options.seed = 2;  // wrong under odd ones: the first schedule is right
  auto order = judge("order");
  EXPECT_EQ(order.outcome, OutcomeName::wrong);
  EXPECT_NE(order.reason.find("under another"), std::string::npos) << order.reason;
}

TEST_F(JudgeTest, FaultsAndEndlessLoops) {
  auto verdict = judge("faults");
  EXPECT_EQ(verdict.outcome, OutcomeName::faulted);
  EXPECT_TRUE(has(verdict, GateName::emulate, "RUN0002"));
  EXPECT_EQ(verdict.gate(GateName::emulate).findings.size(), 1u);  // once, not once a case
  EXPECT_NE(verdict.gate(GateName::emulate).findings[0].message.find("more)"), std::string::npos);
  EXPECT_EQ(judge("races").outcome, OutcomeName::faulted);  // although its values are right
  options.threads = 1;
  auto endless = judge("endless");
  EXPECT_EQ(endless.outcome, OutcomeName::faulted);
  EXPECT_NE(endless.reason.find("not run"), std::string::npos) << endless.reason;
}

TEST_F(JudgeTest, WhatTheUsersKernelDoesItselfIsNotHeldAgainstACandidate) {
  make_task(kIncrementTask, "races");
  auto verdict = judge("races");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified) << record::text(verdict, {});
  ASSERT_TRUE(has(verdict, GateName::emulate, "CHK0001"));
  EXPECT_EQ(verdict.gate(GateName::emulate).findings[0].severity, base::Severity::warning);
}

TEST_F(JudgeTest, WhatTheEngineLacksIsSkippedWithAWarning) {
  auto verdict = judge("lacks");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified);
  EXPECT_EQ(verdict.gate(GateName::emulate).status, GateStatus::skipped);
  EXPECT_EQ(verdict.gate(GateName::emulate).reason, "no handler for wgmma");
  EXPECT_FALSE(base::has_error(verdict.gate(GateName::emulate).findings));
}

TEST_F(JudgeTest, AnExceptionIsTroubleOfTheMachine) {
  auto verdict = judge("throws");
  EXPECT_EQ(verdict.outcome, OutcomeName::infrastructure);
  EXPECT_TRUE(has(verdict, GateName::emulate, "JDG0001"));
  Parts bad = parts();
  bad.engine = []() -> std::unique_ptr<simt::Engine> { throw std::runtime_error("no engine"); };
  EXPECT_EQ(judge("right", "", "", bad).outcome, OutcomeName::infrastructure);
}

TEST_F(JudgeTest, MalformedTextAndPlans) {
  auto verdict = judge("right", "  add.u32 %r1, %r2;\n  mov.u32 %r9, 1;\n");
  EXPECT_EQ(verdict.outcome, OutcomeName::malformed);
  EXPECT_GE(verdict.gate(GateName::check).findings.size(), 2u);
  EXPECT_EQ(verdict.gate(GateName::emulate).status, GateStatus::not_run);
  record::Candidate candidate;
  candidate.ptx = "\x01\x02 garbage";
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::malformed);
  candidate.ptx = "";
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::malformed);
  candidate.ptx = kernel("right");
  candidate.plan = "schema = \"ptxlab.plan/1\"\n[[launch]\n";
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::malformed);
  candidate.plan = plan("absent");
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::malformed);
  candidate.plan = plan("right", "2048");
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::malformed);
  candidate.plan.reset();  // the baseline's
  EXPECT_EQ(judge(candidate).outcome, OutcomeName::unverified);
}

TEST_F(JudgeTest, PolicyAndConstraintsReject) {
  auto clock = judge("right", "  mov.u32 %r1, %clock;\n");
  EXPECT_EQ(clock.outcome, OutcomeName::rejected);
  EXPECT_TRUE(has(clock, GateName::check, "POL0002"));
  EXPECT_EQ(clock.gate(GateName::assemble).status, GateStatus::not_run);
  options.constraints.max_block_threads = 64;
  auto block = judge("right");
  EXPECT_EQ(block.outcome, OutcomeName::rejected);
  EXPECT_TRUE(has(block, GateName::check, "POL0012"));
}

TEST_F(JudgeTest, UntilStopsEarly) {
  options.until = GateName::check;
  auto verdict = judge("off_by_two");
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified);
  EXPECT_EQ(verdict.reason, "passed check");
  EXPECT_EQ(verdict.gate(GateName::assemble).status, GateStatus::not_run);
  EXPECT_EQ(verdict.gate(GateName::emulate).status, GateStatus::not_run);
}

TEST_F(JudgeTest, ATaskWithoutTargetNeedsOne) {
  task.targets.clear();
  EXPECT_EQ(judge("right").outcome, OutcomeName::infrastructure);
  options.target = isa::Target{90, 'a'};
  EXPECT_EQ(judge("right").target, "sm_90a");
}

TEST_F(JudgeTest, ACrashOfPtxasIsHeldAgainstTheTextAndAMissingOneIsNot) {
  toolchain::FakeTool crash("grep -q absurd input.ptx && kill -SEGV $$; exit 255");
  Parts with = parts();
  with.assemblers.preferred = crash.tool();
  auto crashed = judge("absurd", "", "", with);
  EXPECT_EQ(crashed.outcome, OutcomeName::rejected);
  EXPECT_TRUE(has(crashed, GateName::assemble, "ASM0003"));
  with.assemblers.preferred = toolchain::Tool{"/nonexistent/ptxas", "13.0.88", 90};
  auto missing = judge("right", "", "", with);
  EXPECT_EQ(missing.outcome, OutcomeName::infrastructure);
  EXPECT_TRUE(has(missing, GateName::assemble, "ASM0006"));
}

TEST_F(JudgeTest, ATextNewerThanPtxasIsNotRefused) {
  toolchain::FakeTool old("exit 255");
  Parts with = parts();
  with.assemblers.preferred = old.tool();
  with.assemblers.preferred->ptx_version = 70;
  auto verdict = judge("right", "", "", with);
  EXPECT_EQ(verdict.outcome, OutcomeName::unverified);
  EXPECT_EQ(verdict.gate(GateName::assemble).status, GateStatus::skipped);
  EXPECT_NE(verdict.gate(GateName::assemble).reason.find("7.0"), std::string::npos);
}

// Plays a ptxas that writes the real cubin of `ptx`.
struct Copier {
  toolchain::FakeTool fake{"exec cp \"$0.cubin\" output.cubin"};
  explicit Copier(const std::string& ptx) {
    toolchain::AssembleOptions how;
    how.target = {80, 0};
    auto real = toolchain::assemble(ptx, "k.ptx", how);
    if (real) std::ofstream(fake.tool().path.string() + ".cubin", std::ios::binary) << real->cubin;
  }
  toolchain::Tool tool(const char* version, isa::PtxVersion newest) const {
    return {fake.tool().path, version, newest};
  }
};

std::string witness_of(const record::Verdict& verdict, base::Severity severity) {
  for (const auto& finding : verdict.gate(GateName::assemble).findings) {
    if (finding.code == "JDG0026" && finding.severity == severity) return finding.message;
  }
  return "none";
}

TEST_F(JudgeTest, ANewerPtxasTakesWhatThePreferredOneIsTooOldFor) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  Copier copies(kernel("right"));
  Parts with = parts();
  const std::vector<toolchain::Tool> all = {copies.tool("7.0.1", 70), copies.tool("99.1.2", 99)};
  with.assemblers.preferred = all[0];
  with.assemblers.every = [&]() -> const std::vector<toolchain::Tool>& { return all; };
  auto verdict = judge("right", "", "", with);
  EXPECT_EQ(verdict.gate(GateName::assemble).status, GateStatus::passed) << record::text(verdict, {});
  EXPECT_TRUE(has(verdict, GateName::assemble, "JDG0025"));
}

TEST_F(JudgeTest, AWitnessIsHeardAndDecidesNothing) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  Copier copies(kernel("right"));
  toolchain::FakeTool refuses("echo 'ptxas input.ptx, line 3; error   : Never heard of it' >&2; exit 255");
  Parts with = parts();
  with.assemblers.preferred = copies.tool("13.0.88", 90);
  auto alone = judge("right", "", "", with);
  EXPECT_FALSE(has(alone, GateName::assemble, "JDG0026"));
  with.assemblers.witness = toolchain::Tool{refuses.tool().path, "13.5.37", 95};
  auto against = judge("right", "", "", with);
  EXPECT_EQ(against.outcome, alone.outcome) << record::text(against, {});
  EXPECT_NE(witness_of(against, base::Severity::warning).find("Never heard of it"), std::string::npos);
  with.assemblers.witness = copies.tool("13.5.37", 95);
  EXPECT_NE(witness_of(judge("right", "", "", with), base::Severity::note).find("takes it"), std::string::npos);
  with.assemblers.preferred = toolchain::Tool{refuses.tool().path, "13.0.88", 90};
  auto rejected = judge("right", "", "", with);
  EXPECT_EQ(rejected.outcome, OutcomeName::rejected);
  EXPECT_NE(witness_of(rejected, base::Severity::note).find("takes it"), std::string::npos);
  with.assemblers.witness = toolchain::Tool{refuses.tool().path, "12.0.1", 60};
  EXPECT_NE(witness_of(judge("right", "", "", with), base::Severity::note).find("6.0 only"), std::string::npos);
}

TEST_F(JudgeTest, CheckErrorsThatPtxasDoesNotShareAreNobodysFaultYet) {
  toolchain::FakeTool takes_all("exec cp \"$0.cubin\" output.cubin");
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  toolchain::AssembleOptions how;
  how.target = {80, 0};
  auto real = toolchain::assemble(kernel("right"), "k.ptx", how);
  ASSERT_TRUE(real);
  std::ofstream(takes_all.tool().path.string() + ".cubin", std::ios::binary) << real->cubin;
  Parts with = parts();
  with.assemblers.preferred = takes_all.tool();
  auto verdict = judge("right", "  add.u32 %r1, %r2;\n", "", with);
  EXPECT_EQ(verdict.outcome, OutcomeName::infrastructure) << record::text(verdict, {});
  EXPECT_TRUE(has(verdict, GateName::check, "JDG0004"));
  // Where ptxas is known to be too lax, the check is believed.
  auto lax = judge("right", "  testp.f32 %p1, %f1;\n", "", with);
  EXPECT_EQ(lax.outcome, OutcomeName::malformed) << record::text(lax, {});
}

TEST_F(JudgeTest, WithRealPtxasTheSameCodeIsTheSame) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  Parts with = parts();
  with.assemblers.preferred = toolchain::installed().ptxas;
  auto same = judge("renamed", "", "// another comment\n", with);
  EXPECT_EQ(same.outcome, OutcomeName::same) << record::text(same, {});
  EXPECT_EQ(same.gate(GateName::emulate).status, GateStatus::skipped);
  EXPECT_EQ(same.resources.size(), 1u);
  EXPECT_EQ(same.code_digest.size(), 64u);
  // Another launch of the same code is another candidate.
  record::Candidate candidate;
  candidate.ptx = kernel("right");
  candidate.plan = plan("right", "64");
  EXPECT_EQ(judge(candidate, with).outcome, OutcomeName::unverified);
  auto refused = judge("right", "  wgmma.fence.sync.aligned;\n", "", with);
  EXPECT_TRUE(refused.outcome == OutcomeName::malformed || refused.outcome == OutcomeName::rejected)
      << record::text(refused, {});
}

TEST_F(JudgeTest, ABaselineThatCannotBeHadIsTroubleNotMalformed) {
  write("inc.ptx", "nonsense");
  EXPECT_EQ(judge("right").outcome, OutcomeName::infrastructure);
  record::Candidate garbage;
  garbage.ptx = "more nonsense";
  EXPECT_EQ(judge(garbage).outcome, OutcomeName::malformed);
}

}  // namespace
}  // namespace ptxlab::judge
