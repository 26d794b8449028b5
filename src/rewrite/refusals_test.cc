// Why rules keep their hands off: one kernel for each reason, beside the one that differs in it and is rewritten.
#include <gtest/gtest.h>

#include "rewrite/rules.h"
#include "rewrite/test_subject.h"

namespace ptxlab::rewrite {
namespace {

using Kind = task::Tolerance::Kind;

const auto kPlan = plan_of("k", "ceildiv(n, 64)", "64", "\"x\", \"y\", \"n\"");
const std::string kHead =
    "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n";

// "" where the first choice that applies was applied; else the first refusal.
std::string refused(const Rule* rule, const std::string& body, const std::string& plan = kPlan,
                    Kind tolerance = Kind::exact) {
  TestSubject subject(body.starts_with(".version") ? body : module_of(kHead + body), plan, tolerance);
  EXPECT_FALSE(base::has_error(subject.findings)) << base::render(subject.findings, subject.text);
  std::string why = "no choices";
  for (const auto& choice : rule->choices(subject.subject())) {
    auto made = rule->apply(subject.subject(), choice);
    if (made.ok()) return "";
    EXPECT_NE(made.findings().front().code, "RW0099") << base::render(made.findings(), "");
    if (why == "no choices") why = made.findings().front().message;
  }
  return why;
}

#define EXPECT_SAID(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

const std::string kLoop =
    "mov.u32 %r3, 0;\nTOP:\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\nadd.f32 %f2, %f2, %f1;\n"
    "st.global.f32 [%rd2], %f2;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra TOP;\nret;\n";

TEST(Refusals, Promote) {
  EXPECT_EQ(refused(promote_rule(), kLoop), "");
  EXPECT_SAID(refused(promote_rule(), kLoop, replaced(kPlan, "\"x\", \"y\"", "\"y\", \"y\"")),
              "may be seen by 'ld.global.f32'");
  EXPECT_SAID(refused(promote_rule(), replaced(kLoop, "st.global.f32 [%rd2]", "@%p2 st.global.f32 [%rd2]")),
              "is guarded");
  EXPECT_SAID(refused(promote_rule(), replaced(kLoop, "add.u32 %r3", "add.s64 %rd2, %rd2, 4;\nadd.u32 %r3")),
              "no store");
  EXPECT_SAID(refused(promote_rule(), replaced(kLoop, "add.u32 %r3", "membar.gl;\nadd.u32 %r3")),
              "'membar.gl' in line");
  EXPECT_SAID(refused(promote_rule(), replaced(kLoop, "ld.global.f32 %f2, [%rd2]", "ld.global.f32 %f2, [%rd2+4]")),
              "may be seen");
  EXPECT_SAID(refused(promote_rule(), replaced(kLoop, "ld.global.f32 %f1, [%rd1]", "red.global.add.f32 [%rd2], %f1")),
              "is an atomic");
}

TEST(Refusals, Invariant) {
  EXPECT_EQ(refused(invariant_rule(), kLoop), "");
  EXPECT_SAID(refused(invariant_rule(), kLoop, replaced(kPlan, "\"x\", \"y\"", "\"y\", \"y\"")), "may read what");
  EXPECT_SAID(refused(invariant_rule(), replaced(kLoop, "ld.global.f32 %f1",
                                                 "setp.gt.u32 %p2, %r3, 4;\n@%p2 bra ON;\nld.global.f32 %f1") +
                                            "ON:\nret;\n"),
              "");
  auto skipped =
      replaced(replaced(kLoop, "ld.global.f32 %f1", "setp.gt.u32 %p2, %r3, 4;\n@%p2 bra ON;\nld.global.f32 %f1"),
               "ld.global.f32 %f2", "ON:\nld.global.f32 %f2");
  EXPECT_SAID(refused(invariant_rule(), skipped), "is not passed by every round");
  EXPECT_SAID(refused(invariant_rule(), replaced(kLoop, "add.u32 %r3", "bar.sync 0;\nadd.u32 %r3")),
              "must not pass 'bar.sync'");
  EXPECT_SAID(refused(invariant_rule(), replaced(kLoop, "ld.global.f32 %f1", "ld.volatile.global.f32 %f1")), "ordered");
}

TEST(Refusals, Unroll) {
  EXPECT_EQ(refused(unroll_rule(), kLoop), "");
  EXPECT_SAID(refused(unroll_rule(), replaced(kLoop, "add.u32 %r3", "bar.sync 0;\nadd.u32 %r3")),
              "waits for or exchanges");
  EXPECT_SAID(
      refused(unroll_rule(), replaced(kLoop, "add.u32 %r3", "ld.volatile.global.f32 %f4, [%rd1];\nadd.u32 %r3")),
      "ordered");
  EXPECT_SAID(refused(unroll_rule(), replaced(kLoop, "add.u32 %r3", "add.cc.u32 %r5, %r2, 1;\nadd.u32 %r3")),
              "carry flag");
  EXPECT_SAID(refused(unroll_rule(), replaced(kLoop, "add.u32 %r3", "@%p2 exit;\nadd.u32 %r3")), "ends the thread");
  EXPECT_SAID(refused(unroll_rule(),
                      "mov.u32 %r3, 0;\nTOP:\nst.global.u32 [%rd2], %r3;\nadd.u32 %r3, %r3, 1;\n"
                      "setp.lt.u32 %p1, %r3, %r1;\n@%p1 bra TOP;\nret;\n"),
              "loads nothing");
}

TEST(Refusals, Unswitch) {
  const std::string asks =
      "setp.gt.u32 %p2, %r1, 9;\nmov.u32 %r3, 0;\nTOP:\n@%p2 bra WIDE;\nadd.f32 %f1, %f1, %f1;\nWIDE:\n"
      "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra TOP;\nst.global.f32 [%rd2], %f1;\nret;\n";
  EXPECT_EQ(refused(unswitch_rule(), asks), "");
  EXPECT_SAID(refused(unswitch_rule(), replaced(asks, "TOP:\n", "TOP:\nsetp.gt.u32 %p2, %r3, 9;\n")), "asks the same");
  EXPECT_SAID(refused(unswitch_rule(), replaced(asks, "WIDE:\n", "WIDE:\nbar.sync 0;\n")), "'bar.sync' in line");
}

TEST(Refusals, Vectorise) {
  const std::string rows =
      "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r5, %r3, %r4, %r2;\nmov.u32 %r6, %ctaid.y;\n"
      "setp.ge.s32 %p1, %r5, %r1;\nsetp.gt.s32 %p2, %r6, 7;\nor.pred %p3, %p1, %p2;\n@%p3 bra OUT;\n"
      "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\n"
      "st.global.f32 [%rd5], %f1;\nOUT:\nret;\n";
  EXPECT_EQ(refused(vectorise_rule(), rows), "");
  EXPECT_SAID(refused(vectorise_rule(), replaced(rows, "%r6, 7", "%r2, 7")), "not a whole row alike");
  EXPECT_SAID(refused(vectorise_rule(), replaced(rows, "st.global.f32", "st.volatile.global.f32")), "ordered");
  EXPECT_SAID(
      refused(vectorise_rule(), replaced(rows, "[%rd4]", "[%rd4+4]"), replaced(kPlan, "\"x\", \"y\"", "\"y\", \"y\"")),
      "may read what");
  const std::string in_place =
      "shr.u32 %r6, %r1, 1;\nmov.u32 %r3, %r2;\nmov.u32 %r4, %ntid.x;\nsetp.ge.u32 %p1, %r3, %r6;\n@%p1 bra "
      "OUT;\nTOP:\n"
      "mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd2, %rd3;\nadd.u32 %r5, %r3, %r6;\nmul.wide.u32 %rd5, %r5, 4;\n"
      "add.s64 %rd6, %rd2, %rd5;\nld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd6];\nst.global.f32 [%rd4], %f2;\n"
      "st.global.f32 [%rd6], %f1;\nadd.u32 %r3, %r3, %r4;\nsetp.lt.u32 %p1, %r3, %r6;\n@%p1 bra TOP;\nOUT:\nret;\n";
  EXPECT_EQ(refused(vectorise_rule(), in_place), "");
  // Two apart from what the loop's bound keeps apart.
  EXPECT_SAID(refused(vectorise_rule(), replaced(in_place, "[%rd6];\nst", "[%rd6+8];\nst")), "may read what");
  // The sum of a CTA is kept by the CTA: other CTAs would add it up.
  const std::string sums =
      "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r8, %nctaid.x;\nmad.lo.s32 %r5, %r3, %r4, %r2;\n"
      "mul.lo.s32 %r9, %r8, %r4;\nmov.u32 %r6, 0;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra OUT;\nTOP:\n"
      "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r7, [%rd4];\nadd.s32 %r6, %r6, %r7;\n"
      "add.s32 %r5, %r5, %r9;\nsetp.lt.s32 %p1, %r5, %r1;\n@%p1 bra TOP;\nOUT:\nred.global.add.u32 [%rd2], "
      "%r6;\nret;\n";
  EXPECT_EQ(refused(vectorise_rule(), sums), "");
  EXPECT_SAID(refused(vectorise_rule(), replaced(sums, "red.global.add", "red.global.max")), "keeps its own");
  EXPECT_SAID(refused(vectorise_rule(), replaced(sums, "OUT:\n", "OUT:\nmul.lo.u32 %r6, %r6, %r6;\n")),
              "keeps its own");
  EXPECT_SAID(refused(vectorise_rule(), replaced(sums, "red.global.add.u32 [%rd2], %r6",
                                                 "red.global.add.u32 [%rd2], %r6;\nst.global.u32 [%rd2+64], %r3")),
              "may keep what one CTA alone");
}

TEST(Refusals, CacheRegistersNarrowDead) {
  const std::string plain =
      "mul.wide.u32 %rd3, %r2, 4;\nmov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd4, %r3, 256;\n"
      "add.s64 %rd5, %rd1, %rd3;\nadd.s64 %rd6, %rd5, %rd4;\nld.global.f32 %f1, [%rd6];\n"
      "st.global.f32 [%rd2], %f1;\nret;\n";
  EXPECT_EQ(refused(cache_rule(), plain), "");
  auto words =
      replaced(replaced(plain, "ld.global.f32", "ld.global.cg.f32"), "st.global.f32", "st.volatile.global.f32");
  EXPECT_SAID(refused(cache_rule(), words), "already says how it is to be cached");
  auto old = replaced(module_of(kHead + words), ".version 8.0", ".version 7.1");
  EXPECT_SAID(refused(cache_rule(), old), "PTX ISA 7.4");

  auto sized = replaced(module_of(kHead + plain), ".param .u32 n) {", ".param .u32 n)\n.maxntid 64, 1, 1\n{");
  EXPECT_SAID(refused(registers_rule(), sized), "carries .maxntid already");
  EXPECT_SAID(refused(registers_rule(), plain, replaced(kPlan, "block = [\"64\"]", "block = [\"n\"]")),
              "not a constant");

  const std::string divides =
      "cvt.u64.u32 %rd3, %r1;\nadd.s64 %rd4, %rd1, %rd3;\ndiv.u64 %rd5, %rd4, %rd3;\n"
      "st.global.u64 [%rd2], %rd5;\nret;\n";
  EXPECT_EQ(refused(narrow_rule(), divides), "");
  EXPECT_SAID(refused(narrow_rule(), replaced(divides, "div.u64", "or.b64 %rd6, %rd4, %rd3;\ndiv.u64")),
              "checked already");
  EXPECT_SAID(refused(narrow_rule(), replaced(divides, "div.u64 %rd5, %rd4, %rd3", "div.u64 %rd5, %rd4, 3")),
              "no 64-bit");

  const std::string twice =
      "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nst.global.f32 [%rd2], %f1;\n"
      "st.global.f32 [%rd2], %f2;\nret;\n";
  auto overwrites = [](const std::string& body) {
    TestSubject subject(module_of(kHead + body), kPlan, Kind::exact);
    auto made = dead_rule()->apply(subject.subject(), {"code", 0});
    return made.ok() && made->idea.find("overwrites") != std::string::npos;
  };
  EXPECT_TRUE(overwrites(twice));
  EXPECT_TRUE(overwrites(
      replaced(twice, "st.global.f32 [%rd2], %f2", "st.global.f32 [%rd1], %f1;\nst.global.f32 [%rd2], %f2")));
  for (const std::string between :
       {"membar.gl;\n", "ld.global.f32 %f3, [%rd2];\nst.global.f32 [%rd1], %f3;\n", "@%p1 exit;\n",
        "ld.volatile.global.f32 %f3, [%rd1];\n", "add.s64 %rd2, %rd2, 4;\n"})
    EXPECT_FALSE(overwrites(replaced(twice, "st.global.f32 [%rd2], %f2", between + "st.global.f32 [%rd2], %f2")))
        << between;
}

}  // namespace
}  // namespace ptxlab::rewrite
