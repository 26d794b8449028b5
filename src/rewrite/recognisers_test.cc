// What the rules share: counted loops, what no round changes, exact addresses, and which accesses may meet.
#include <gtest/gtest.h>

#include "rewrite/aliasing.h"
#include "rewrite/counted_loop.h"
#include "rewrite/exact_address.h"
#include "rewrite/loop_front.h"
#include "rewrite/test_subject.h"

namespace ptxlab::rewrite {
namespace {

struct Looked {
  explicit Looked(const std::string& body)
      : subject(module_of(body), plan_of("k", "1", "32", "\"x\", \"y\", \"n\""), task::Tolerance::Kind::exact),
        flow(subject.module.functions[0]) {
    EXPECT_TRUE(subject.findings.empty()) << base::render(subject.findings, subject.text);
  }
  uint32_t reg(const std::string& name) const {
    const auto& registers = flow.function.registers;
    for (uint32_t i = 0; i < registers.size(); ++i)
      if (registers[i].name == name) return i;
    return analysis::kNone;
  }
  TestSubject subject;
  Flow flow;
};

const std::string kHead = "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u32 %r1, [n];\nmov.u32 %r3, 0;\n";

std::string only_reason(const std::string& body) {
  Looked looked(kHead + body);
  auto found = counted_loops(looked.flow);
  EXPECT_TRUE(found.loops.empty()) << body;
  return found.rejected.empty() ? "" : found.rejected[0];
}

TEST(CountedLoops, WhatTheyAre) {
  Looked looked(kHead +
                "TOP:\nadd.s32 %r4, %r3, 2;\nmov.b32 %r3, %r4;\nsetp.gt.s32 %p1, %r1, %r4;\n@%p1 bra TOP;\nret;\n");
  auto found = counted_loops(looked.flow);
  ASSERT_EQ(found.loops.size(), 1u) << (found.rejected.empty() ? "" : found.rejected[0]);
  const auto& loop = found.loops[0];
  EXPECT_TRUE(loop.bottom_tested && loop.straight && loop.is_signed && !loop.falls);
  EXPECT_EQ(loop.test, CountedLoop::Test::less);
  EXPECT_EQ(loop.index_reg, looked.reg("%r3"));
  EXPECT_EQ(loop.step.bits, 2u);
}

TEST(CountedLoops, WhatTheyAreNot) {
  auto body = [](const std::string& middle) { return "TOP:\n" + middle + "@%p1 bra TOP;\nret;\n"; };
  // The condition or the step changes, the index is masked, moves away, or is compared for something else.
  EXPECT_NE(only_reason(body("ld.global.u32 %r5, [%rd1];\nsetp.ne.u32 %p1, %r5, 0;\n")).find("no operand"),
            std::string::npos);
  EXPECT_NE(only_reason(body("add.u32 %r3, %r3, %r3;\nsetp.lt.u32 %p1, %r3, %r1;\n")).find("no operand"),
            std::string::npos);
  EXPECT_NE(
      only_reason(body("add.u32 %r3, %r3, 1;\nand.b32 %r3, %r3, 15;\nsetp.lt.u32 %p1, %r3, %r1;\n")).find("no operand"),
      std::string::npos);
  EXPECT_NE(only_reason(body("add.s32 %r3, %r3, -1;\nsetp.lt.s32 %p1, %r3, %r1;\n")).find("moves away"),
            std::string::npos);
  EXPECT_NE(only_reason(body("add.s32 %r3, %r3, 1;\nsetp.eq.s32 %p1, %r3, %r1;\n")).find("none of"), std::string::npos);
  EXPECT_NE(
      only_reason(body("add.s32 %r3, %r3, 1;\nadd.s32 %r1, %r1, 2;\nsetp.lt.s32 %p1, %r3, %r1;\n")).find("no operand"),
      std::string::npos);
  EXPECT_NE(
      only_reason(body("add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\nsetp.gt.s32 %p2, %r1, 3;\n@%p2 bra OUT;\n") +
                  "OUT:\nret;\n")
          .find("more than one way out"),
      std::string::npos);
  // The line is that of the comparison.
  EXPECT_NE(only_reason(body("add.s32 %r3, %r3, 1;\nsetp.eq.s32 %p1, %r3, %r1;\n")).find("'setp.eq.s32' in line 17"),
            std::string::npos);
}

TEST(LoopFront, InvariantsAreWrittenOnceFromWhatStays) {
  Looked looked(kHead +
                "TOP:\nadd.s32 %r4, %r1, 5;\nadd.s32 %r5, %r4, 1;\nadd.s32 %r6, %r3, %r5;\nmov.u32 %r7, %clock;\n"
                "add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, %r1;\n@%p1 bra TOP;\nret;\n");
  auto invariants = loop_invariants(looked.flow, 0);
  auto wrote = [&](const char* name) {
    uint32_t d = looked.flow.definitions.of(looked.reg(name))[0];
    return invariants.count(looked.flow.definitions.all()[d].statement) > 0;
  };
  EXPECT_TRUE(wrote("%r4") && wrote("%r5"));
  EXPECT_FALSE(wrote("%r6") || wrote("%r7"));
}

TEST(ExactAddress, SeesThroughWhatCannotWrap) {
  Looked looked(
      kHead +
      "mov.u32 %r4, %tid.x;\nshl.b32 %r5, %r4, 3;\nadd.u32 %r6, %r5, 7;\nmul.wide.u32 %rd3, %r6, 4;\n"
      "add.s64 %rd4, %rd1, %rd3;\nmul.lo.u32 %r7, %r4, 4198406;\nadd.u32 %r8, %r7, 7;\n"
      "mul.wide.u32 %rd5, %r8, 4;\nadd.s64 %rd6, %rd5, -8;\nadd.u32 %r9, %r1, 1;\ncvt.u64.u32 %rd7, %r9;\nret;\n");
  ExactAddresses exact(looked.flow);
  auto end = static_cast<uint32_t>(looked.flow.function.body.size() - 1);
  auto sum = exact.sum_of(end, looked.reg("%rd4"));
  EXPECT_EQ(sum.constant, 28u);
  EXPECT_EQ(sum.terms.at(looked.reg("%r4")), 32u);
  EXPECT_EQ(sum.terms.at(looked.reg("%rd1")), 1u);
  // 1023 * 4198406 + 7 does wrap, and so may what comes from a parameter.
  sum = exact.sum_of(end, looked.reg("%rd6"));
  EXPECT_EQ(sum.constant, ~uint64_t{7});
  EXPECT_EQ(sum.terms.at(looked.reg("%rd5")), 1u);
  EXPECT_EQ(exact.sum_of(end, looked.reg("%rd7")).terms.at(looked.reg("%rd7")), 1u);
}

TEST(Aliasing, BuffersOfThePlanAreApartAndPickedPointersAreBoth) {
  Looked looked(kHead +
                "setp.gt.u32 %p1, %r1, 3;\nselp.b64 %rd3, %rd1, %rd2, %p1;\nld.global.f32 %f1, [%rd1];\n"
                "st.global.f32 [%rd2+4], %f1;\nst.global.f32 [%rd3], %f1;\nld.global.u64 %rd4, [%rd1];\n"
                "st.global.f32 [%rd4], %f1;\nst.global.f32 [%rd2+8], %f1;\nret;\n");
  const auto& launch = looked.subject.plan.launches[0];
  Aliasing aliasing(looked.flow, {&launch});
  const auto& a = looked.flow.accesses;  // x, y+4, x or y, x, loaded, y+8
  ASSERT_EQ(a.size(), 6u);
  EXPECT_FALSE(aliasing.may_overlap(a[0], a[1]));
  EXPECT_TRUE(aliasing.may_overlap(a[0], a[2]) && aliasing.may_overlap(a[1], a[2]));
  EXPECT_TRUE(aliasing.may_overlap(a[0], a[4]) && aliasing.may_overlap(a[1], a[4]));
  EXPECT_TRUE(aliasing.may_overlap(a[1], a[5]));
  EXPECT_TRUE(aliasing.disjoint_now(a[1], a[5]));
  EXPECT_FALSE(aliasing.disjoint_now(a[1], a[1]));
  auto same = launch;
  same.arguments[1] = same.arguments[0];
  EXPECT_TRUE(Aliasing(looked.flow, {&same}).may_overlap(a[0], a[1]));
}

// "x[n + i]" of bytes with a 64-bit n: which of the two parameters is the pointer is not to be guessed.
TEST(Aliasing, TwoWideParametersInOneAddressNameNoBuffer) {
  TestSubject subject(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 n) {\n.reg .b16 %h<3>;\n"
      ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u64 %rd3, [n];\n"
      "add.s64 %rd4, %rd1, %rd3;\nld.global.u8 %h1, [%rd4];\nst.global.u8 [%rd1], %h1;\nret;\n}\n",
      plan_of("k", "1", "32", "\"x\", \"y\", \"n\""), task::Tolerance::Kind::exact);
  Flow flow(subject.module.functions[0]);
  Aliasing aliasing(flow, {&subject.plan.launches[0]});
  EXPECT_FALSE(flow.accesses[0].parameter.has_value());
  EXPECT_TRUE(aliasing.may_overlap(flow.accesses[0], flow.accesses[1]));
}

}  // namespace
}  // namespace ptxlab::rewrite
