// What the rule makes of nvcc's code, and above all what it must leave alone. That its results are right is shown on the
// engine by tests/rules.
#include <gtest/gtest.h>

#include <set>

#include "rewrite/rules.h"
#include "rewrite/test_subject.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rewrite {
namespace {

using Kind = task::Tolerance::Kind;

std::string count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return std::to_string(count);
}

// for (i = tid; i < n; i += ntid) with `body` for each i; %rd5 = &x[i], %rd6 = &y[i], in floats; %r2 = n, %r3 = ntid.
std::string loop(const std::string& body, const std::string& after = "", const std::string& before = "") {
  return module_of(R"(
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r2, [n];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %r1;
  mov.f32 %f9, 0f00000000;
)" + before + R"(
  setp.ge.u32 %p1, %r1, %r2;
  @%p1 bra DONE;
LOOP:
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
)" + body + R"(
  add.s32 %r4, %r4, %r3;
  setp.lt.u32 %p2, %r4, %r2;
  @%p2 bra LOOP;
DONE:
)" + after + "ret;\n");
}

const auto kPlan = plan_of("k", "m", "256", "\"x\", \"y\", \"n\"");
const std::string kScale = "ld.global.f32 %f1, [%rd5];\n mul.f32 %f2, %f1, 0f40000000;\n st.global.f32 [%rd6], %f2;\n";

// What the rule says to this module: "" where it rewrites, else why not.
std::string verdict(const std::string& text, const std::string& plan = kPlan, Kind tolerance = Kind::floating,
                    int width = 4) {
  TestSubject subject(text, plan, tolerance);
  EXPECT_TRUE(!base::has_error(subject.findings)) << base::render(subject.findings, text);
  auto result = vectorise_rule()->apply(subject.subject(), {"", width});
  if (result.ok()) return "";
  for (const auto& finding : result.findings())
    EXPECT_NE(finding.code, "RW0099") << base::render(result.findings(), "");
  return result.findings().front().message;
}

void expect_refused(const std::string& text, const std::string& because) {
  auto said = verdict(text);
  EXPECT_NE(said.find(because), std::string::npos) << "said: " << (said.empty() ? "rewritten" : said);
}

TEST(Vectorise, TasksGiveDifferentCodeForEachWidth) {
  for (const std::string name : {"elementwise/vector_add_f32", "norm/rmsnorm_bf16", "softmax/softmax_f32"}) {
    auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/" + name);
    ASSERT_FALSE(base::has_error(subject.findings)) << base::render(subject.findings, "");
    auto choices = vectorise_rule()->choices(subject.subject());
    EXPECT_GE(choices.size(), 3u) << name;
    std::set<std::string> digests;
    size_t made = 0;
    auto assembled = [&](const std::string& text) {
      toolchain::AssembleOptions options;
      options.target = *isa::target_named("sm_90a");
      auto result = toolchain::assemble(text, "test.ptx", options);
      EXPECT_TRUE(result.ok()) << base::render(result.findings(), text);
      if (!result.ok()) return;
      auto digest = toolchain::code_digest(result->cubin, subject.module.entry(subject.plan.launches[0].entry)->name);
      ASSERT_TRUE(digest.ok());
      EXPECT_TRUE(digests.insert(*digest).second) << name << ": the same machine code twice";
    };
    bool ptxas = toolchain::installed().ptxas.has_value();
    if (ptxas) assembled(subject.text);
    for (const auto& choice : choices) {
      auto result = vectorise_rule()->apply(subject.subject(), choice);
      ASSERT_TRUE(result.ok()) << base::render(result.findings(), "");
      EXPECT_NE(result->ptx.find("Rewritten by ptxlab"), std::string::npos);
      if (ptxas) assembled(result->ptx);
      ++made;
    }
    EXPECT_GE(made, 3u);
  }
}

TEST(Vectorise, AssemblesForEveryTaskTarget) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas here";
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/norm/rmsnorm_bf16");
  auto result = vectorise_rule()->apply(subject.subject(), {"8", 8});
  ASSERT_TRUE(result.ok());
  for (auto name : {"sm_80", "sm_90", "sm_100"}) {
    toolchain::AssembleOptions options;
    options.target = *isa::target_named(name);
    auto made = toolchain::assemble(result->ptx, "test.ptx", options);
    ASSERT_TRUE(made.ok()) << base::render(made.findings(), result->ptx);
    EXPECT_EQ(made->entries[0].spill_loads, 0);
  }
}

TEST(Vectorise, GuardedBodyShrinksTheGrid) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  auto result = vectorise_rule()->apply(subject.subject(), {"4", 4});
  ASSERT_TRUE(result.ok()) << base::render(result.findings(), "");
  EXPECT_NE(result->plan.find("ceildiv(n, 1024)"), std::string::npos) << result->plan;
  EXPECT_EQ(count_of(result->ptx, "ld.global.v4.f32"), "2");
  EXPECT_EQ(count_of(result->ptx, "st.global.v4.f32"), "1");
  EXPECT_EQ(result->name, "vectorise-4");
}

TEST(Vectorise, AGuardedBodyThatKnowsItsGridStays) {
  auto text = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32").text;
  text.replace(text.find("setp.ge.s32"), 0, "mov.u32 %r5, %nctaid.x;\n");
  auto said = verdict(text, plan_of("vector_add", "ceildiv(n, 256)", "256", "\"a\", \"b\", \"c\", \"n\""));
  EXPECT_NE(said.find("size of its grid"), std::string::npos) << said;
}

TEST(Vectorise, AGridWhoseCtasLeaveAResultEachStays) {
  const auto body = [](const std::string& after) {
    return module_of(R"(
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r2, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r4, %r1, %r3, %r5;
  mov.u32 %r6, %nctaid.x;
  mul.lo.u32 %r7, %r6, %r3;
  setp.ge.u32 %p1, %r4, %r2;
  @%p1 bra DONE;
LOOP:
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.f32 %f1, [%rd5];
  st.global.f32 [%rd5], %f1;
  add.u32 %r4, %r4, %r7;
  setp.lt.u32 %p2, %r4, %r2;
  @%p2 bra LOOP;
DONE:
)" + after + "ret;\n");
  };
  for (bool leaves : {false, true}) {
    TestSubject subject(body(leaves ? "st.global.u32 [%rd2], %r1;\n" : ""),
                        plan_of("k", "ceildiv(n, 256)", "256", "\"x\", \"y\", \"n\""), Kind::exact);
    auto result = vectorise_rule()->apply(subject.subject(), {"4", 4});
    ASSERT_TRUE(result.ok()) << base::render(result.findings(), "");
    EXPECT_EQ(result->plan.empty(), leaves) << result->plan;
  }
}

TEST(Vectorise, SixteenBitElementsTravelInPairs) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/norm/rmsnorm_bf16");
  auto result = vectorise_rule()->apply(subject.subject(), {"8", 8});
  ASSERT_TRUE(result.ok()) << base::render(result.findings(), "");
  EXPECT_TRUE(result->plan.empty());
  EXPECT_EQ(count_of(result->ptx, "ld.global.v4.b32"), "3");
  EXPECT_EQ(count_of(result->ptx, "st.global.v4.b32"), "1");
}

TEST(Vectorise, LoopsThatNvccUnrolled) {
  auto text = *base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/src/analysis/testdata/kernels.ptx");
  for (const std::string name : {"scale_rows", "sum_of_squares"}) {
    auto arguments = name == "scale_rows" ? "\"x\", \"y\", \"n\", \"s\"" : "\"x\", \"y\", \"n\"";
    EXPECT_EQ(verdict(text, plan_of(name, "m", "256", arguments)), "") << name;
    // Another bound for the unrolled part, or more work in it, is another loop.
    auto main = text.find(", 4096;", text.find(".entry " + name + "("));
    ASSERT_NE(main, std::string::npos);
    auto changed = text;
    changed.replace(main, 7, ", 2048;");
    auto step = changed.find(", 1024;", main);
    changed.replace(step, 7, ", 512;");
    EXPECT_NE(verdict(changed, plan_of(name, "m", "256", arguments)), "") << name;
  }
}

TEST(Vectorise, ALoopIsRewritten) { EXPECT_EQ(verdict(loop(kScale)), ""); }

TEST(Vectorise, SumsNeedATolerance) {
  auto text = loop("ld.global.f32 %f1, [%rd5];\n fma.rn.f32 %f9, %f1, %f1, %f9;\n",
                   "shfl.sync.bfly.b32 %r9, %f9, 16, 31, -1;\n red.global.add.u32 [%rd2], %r9;\n");
  EXPECT_EQ(verdict(text), "");
  EXPECT_NE(verdict(text, kPlan, Kind::exact).find("another order"), std::string::npos);
  // A maximum is the same in any order, and an element's own arithmetic is not touched.
  auto maximum = loop("ld.global.f32 %f1, [%rd5];\n max.f32 %f9, %f1, %f9;\n",
                      "shfl.sync.bfly.b32 %r9, %f9, 16, 31, -1;\n red.global.add.u32 [%rd2], %r9;\n");
  EXPECT_EQ(verdict(maximum, kPlan, Kind::exact), "");
  EXPECT_EQ(verdict(loop(kScale), kPlan, Kind::exact), "");
}

TEST(Vectorise, EachThreadsOwnSumIsNotMoved) {
  expect_refused(loop("ld.global.f32 %f1, [%rd5];\n add.f32 %f9, %f1, %f9;\n",
                      "mul.wide.u32 %rd7, %r1, 4;\n add.s64 %rd8, %rd2, %rd7;\n st.global.f32 [%rd8], %f9;\n"),
                 "not combined with other threads");
}

TEST(Vectorise, WhatIsCarriedMustBeAReduction) {
  auto end = "shfl.sync.bfly.b32 %r9, %f9, 16, 31, -1;\n red.global.add.u32 [%rd2], %r9;\n";
  expect_refused(loop("ld.global.f32 %f1, [%rd5];\n sub.f32 %f9, %f1, %f9;\n", end), "not as a reduction");
  expect_refused(loop("ld.global.f32 %f1, [%rd5];\n add.f32 %f9, %f1, %f9;\n st.global.f32 [%rd6], %f9;\n", end),
                 "uses the running value");
  expect_refused(loop("ld.global.f32 %f1, [%rd5];\n add.f32 %f2, %f9, %f1;\n max.f32 %f9, %f2, %f1;\n", end),
                 "not as a reduction");
}

TEST(Vectorise, ABodyThatKnowsItsThreadIsNotMoved) {
  expect_refused(loop("ld.global.f32 %f1, [%rd5];\n cvt.rn.f32.u32 %f2, %r1;\n add.f32 %f1, %f1, %f2;\n st.global.f32 "
                      "[%rd6], %f1;\n"),
                 "differs from thread to thread");
  expect_refused(
      loop("ld.global.f32 %f1, [%rd5];\n mov.u32 %r9, %laneid;\n cvt.rn.f32.u32 %f2, %r9;\n add.f32 %f1, %f1, %f2;\n"
           "st.global.f32 [%rd6], %f1;\n"),
      "depends on the thread");
  expect_refused(
      loop("ld.global.f32 %f1, [%rd5];\n shfl.sync.bfly.b32 %r9, %f1, 1, 31, -1;\n st.global.b32 [%rd6], %r9;\n"),
      "exchanges with other threads");
}

TEST(Vectorise, NeighboursThatDependAreNotGrouped) {
  // y[i] = y[i - 1] * 2 is a recurrence where one thread runs it.
  expect_refused(loop("ld.global.f32 %f1, [%rd6+-4];\n mul.f32 %f2, %f1, 0f40000000;\n st.global.f32 [%rd6], %f2;\n"),
                 "may read what");
  // x and y are one buffer for this plan, at different places.
  auto said = verdict(loop(kScale), plan_of("k", "m", "256", "\"x\", \"x + 4\", \"n\""));
  EXPECT_NE(said.find("may read what"), std::string::npos) << said;
  // In place is fine.
  EXPECT_EQ(verdict(loop("ld.global.f32 %f1, [%rd6];\n mul.f32 %f2, %f1, 0f40000000;\n st.global.f32 [%rd6], %f2;\n")),
            "");
}

TEST(Vectorise, MemoryHandedOnNeedsABarrier) {
  auto again = [](const std::string& between) {
    return loop(kScale, between + R"(
  @%p1 bra END;
  mov.u32 %r5, %r1;
AGAIN:
  mul.wide.u32 %rd7, %r5, 4;
  add.s64 %rd8, %rd2, %rd7;
  ld.global.f32 %f3, [%rd8];
  add.f32 %f4, %f3, 0f3F800000;
  st.global.f32 [%rd8], %f4;
  add.s32 %r5, %r5, %r3;
  setp.lt.u32 %p3, %r5, %r2;
  @%p3 bra AGAIN;
END:
)");
  };
  EXPECT_EQ(verdict(again("bar.sync 0;\n")), "");
  expect_refused(again(""), "no barrier between");
}

TEST(Vectorise, StridesOfOtherLoopsAreLeftAlone) {
  EXPECT_NE(verdict(module_of(R"(
  ld.param.u64 %rd1, [x];
  mov.u32 %r4, 0;
LOOP:
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.f32 %f1, [%rd5];
  st.global.f32 [%rd5], %f1;
  add.s32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 100;
  @%p2 bra LOOP;
  ret;
)")),
            "");
}

TEST(Vectorise, TheBoundMustGuardTheFirstRound) {
  auto text = loop(kScale);
  text.replace(text.find("@%p1 bra DONE;"), 14, "");
  expect_refused(text, "not guarded");
}

TEST(Vectorise, TheBoundMustBeTheSameForAll) {
  expect_refused(loop(kScale, "", "sub.s32 %r2, %r2, %r1;\n"), "its bound differs");
}

TEST(Vectorise, TheIndexMustNotBeUsedAfterwards) {
  auto text = loop(kScale, "st.global.u32 [%rd2], %r4;\n");
  auto said = verdict(text);
  EXPECT_FALSE(said.empty());
}

TEST(Vectorise, MisalignedNeighboursStayScalar) {
  // x[i + 1] never lies where a vector may.
  TestSubject subject(loop("ld.global.f32 %f1, [%rd5];\n ld.global.f32 %f3, [%rd5+4];\n add.f32 %f2, %f1, %f3;\n "
                           "st.global.f32 [%rd6], %f2;\n"),
                      kPlan, Kind::exact);
  auto result = vectorise_rule()->apply(subject.subject(), {"4", 4});
  ASSERT_TRUE(result.ok()) << base::render(result.findings(), "");
  EXPECT_EQ(count_of(result->ptx, "ld.global.v4.f32"), "1");
  EXPECT_EQ(count_of(result->ptx, "[%rd5+4]"), "6");  // four copies, the rest, the original
}

TEST(Vectorise, ConstraintsOfTheBrief) {
  TestSubject subject(loop(kScale), kPlan, Kind::exact);
  auto limited = subject.subject();
  limited.constraints.vector_bytes = 8;
  EXPECT_FALSE(vectorise_rule()->apply(limited, {"4", 4}).ok());
  EXPECT_TRUE(vectorise_rule()->apply(limited, {"2", 2}).ok());
}

TEST(Vectorise, NamesOfItsOwnDoNotClash) {
  auto text = loop("ld.global.f32 %vec_f0, [%rd5];\n st.global.f32 [%rd6], %vec_f0;\n");
  text.insert(text.find(".reg .pred"), ".reg .f32 %vec_f<2>;\n");
  EXPECT_EQ(verdict(text), "");
}

}  // namespace
}  // namespace ptxlab::rewrite
