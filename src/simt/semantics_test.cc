// Values worked out by hand from the manual for the instructions whose corners are easily got wrong.
#include <gtest/gtest.h>

#include <cmath>

#include "simt/binding.h"
#include "simt/run_op.h"

namespace ptxlab::simt::test {
namespace {

constexpr uint64_t kNan = 0x7fffffff, kInf = 0x7f800000, kNegative = 0x80000000;

// Every test runs on each level of the lane handlers that this processor has.
class Semantics : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!use_lane_level(GetParam())) GTEST_SKIP() << "this processor lacks " << GetParam();
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Semantics, ::testing::Values("v2", "v3", "v4"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Semantics, MinMaxLoseNanAndOrderZeros) {
  Column a = {0x3f800000, 0xffc00000, 0x7fc00000, 0x80000000, 0x00000000, 0x3f800000, 0xff800000, 0x00000001};
  Column b = {0x7fc00001, 0x40000000, 0xffc00000, 0x00000000, 0x80000000, 0x40000000, 0x7fc00000, 0x80000001};
  std::vector<std::string> types = {"b32", "b32", "b32"};
  EXPECT_EQ(apply("max.f32 %d, %a, %b;", types, {a, b}),
            (Column{0x3f800000, 0x40000000, kNan, 0, 0, 0x40000000, 0xff800000, 0x00000001}));
  EXPECT_EQ(apply("min.f32 %d, %a, %b;", types, {a, b}),
            (Column{0x3f800000, 0x40000000, kNan, kNegative, kNegative, 0x3f800000, 0xff800000, 0x80000001}));
  EXPECT_EQ(apply("max.NaN.f32 %d, %a, %b;", types, {a, b}), (Column{kNan, kNan, kNan, 0, 0, 0x40000000, kNan, 1}));
  EXPECT_EQ(apply("min.NaN.f32 %d, %a, %b;", types, {a, b}),
            (Column{kNan, kNan, kNan, kNegative, kNegative, 0x3f800000, kNan, 0x80000001}));
  EXPECT_EQ(apply("min.ftz.f32 %d, %a, %b;", types, {{0x80000001}, {0x00000001}}), (Column{kNegative}));
  EXPECT_EQ(apply("max.f16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0x8000, 0x7e00}, {0x0000, 0x3c00}}),
            (Column{0, 0x3c00}));
  EXPECT_EQ(apply("min.bf16x2 %d, %a, %b;", types, {{0x3f80c000}, {0xbf804000}}), (Column{0xbf80c000}));
}

TEST_P(Semantics, FusesOnce) {
  Column a = {0x3fb504f3}, b = {0x3fddb3d7}, c = {0xc01cc470};
  std::vector<std::string> types = {"b32", "b32", "b32", "b32"};
  EXPECT_EQ(apply("fma.rn.f32 %d, %a, %b, %c;", types, {a, b, c}), (Column{0x3388222a}));
  EXPECT_EQ(apply("mad.rn.f32 %d, %a, %b, %c;", types, {a, b, c}), (Column{0x3388222a}));
  EXPECT_EQ(apply("mul.rn.f32 %d, %a, %b; add.rn.f32 %d, %d, %c;", types, {a, b, c}), (Column{0}));
}

TEST_P(Semantics, FusedHalvesRoundOnce) {
  // (1 + 3u)^2 - 1 with u = 2^-10 is 6u + 9u^2; the product alone, rounded to f16, would lose the 9u^2.
  EXPECT_EQ(apply("fma.rn.f16 %d, %a, %a, %b;", {"b16", "b16", "b16"}, {{0x3c03}, {0xbc00}}), (Column{0x1e02}));
  // Halfway between 2048 and 2050: 2048 + 1 ties to even, a product just above 1 goes up.
  EXPECT_EQ(apply("fma.rn.f16 %d, %a, %b, %c;", {"b16", "b16", "b16", "b16"}, {{0x3c01}, {0x3c00}, {0x6800}}),
            (Column{0x6801}));
  EXPECT_EQ(apply("add.rn.f16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0x6800}, {0x3c00}}), (Column{0x6800}));
  EXPECT_EQ(apply("fma.rn.relu.bf16x2 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
                  {{0x3f80bf80}, {0x40004000}, {0x00000000}}),
            (Column{0x40000000}));
}

TEST_P(Semantics, FlushesByInstruction) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  Column tiny = {0x00000001, 0x80000001, 0x00400000}, zero = {0, kNegative, 0};
  EXPECT_EQ(apply("add.f32 %d, %a, %b;", types, {tiny, zero}), tiny);
  EXPECT_EQ(apply("add.ftz.f32 %d, %a, %b;", types, {tiny, zero}), (Column{0, kNegative, 0}));
  EXPECT_EQ(apply("mul.ftz.f32 %d, %a, %b;", types, {{0x00800000, 0x80800000}, {0x3f000000, 0x3f000000}}),
            (Column{0, kNegative}));
  EXPECT_EQ(apply("mul.f32 %d, %a, %b;", types, {{0x00800000}, {0x3f000000}}), (Column{0x00400000}));
  EXPECT_EQ(apply("setp.eq.ftz.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", types, {tiny, zero}), (Column{1, 1, 1}));
  EXPECT_EQ(apply("setp.eq.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", types, {tiny, zero}), (Column{0, 0, 0}));
}

TEST_P(Semantics, NanIsCanonical) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  EXPECT_EQ(apply("add.f32 %d, %a, %b;", types, {{0xffc12345, kInf, kInf}, {0, 0xff800000, kInf}}),
            (Column{kNan, kNan, kInf}));
  EXPECT_EQ(apply("mul.rn.f32 %d, %a, %b;", types, {{kInf}, {0}}), (Column{kNan}));
  EXPECT_EQ(apply("add.sat.f32 %d, %a, %b;", types, {{0x7fc00000, 0x40000000, 0xbf800000, 0x3f000000}, {0, 0, 0, 0}}),
            (Column{0, 0x3f800000, 0, 0x3f000000}));
  EXPECT_EQ(apply("add.f16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0x7c00}, {0xfc00}}), (Column{0x7fff}));
  EXPECT_EQ(apply("neg.f32 %d, %a;", {"b32", "b32"}, {{0xff812345, f32(1)}}), (Column{kNan, f32(-1)}));
  EXPECT_EQ(apply("abs.ftz.f16x2 %d, %a;", {"b32", "b32"}, {{0x8001bc00}}), (Column{0x00003c00}));
  EXPECT_EQ(apply("min.xorsign.abs.f16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0xbc00}, {0x4000}}), (Column{0xbc00}));
  EXPECT_EQ(apply("max.xorsign.abs.f32 %d, %a, %b;", types, {{f32(-3), kNan}, {f32(-2), f32(-2)}}),
            (Column{f32(3), f32(-2)}));
}

TEST_P(Semantics, RoundsInEveryDirection) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  Column one = {f32(1.0f)}, tiny = {0x30800000};  // 2^-30
  EXPECT_EQ(apply("add.rn.f32 %d, %a, %b;", types, {one, tiny}), one);
  EXPECT_EQ(apply("add.rz.f32 %d, %a, %b;", types, {one, tiny}), one);
  EXPECT_EQ(apply("add.rp.f32 %d, %a, %b;", types, {one, tiny}), (Column{0x3f800001}));
  EXPECT_EQ(apply("add.rm.f32 %d, %a, %b;", types, {one, tiny}), one);
  EXPECT_EQ(apply("sub.rm.f32 %d, %a, %a;", types, {one, one}), (Column{kNegative}));
  EXPECT_EQ(apply("sub.rn.f32 %d, %a, %a;", types, {one, one}), (Column{0}));
  EXPECT_EQ(apply("div.rm.f32 %d, %a, %b;", types, {one, {f32(3.0f)}}), (Column{0x3eaaaaaa}));
  EXPECT_EQ(apply("div.rp.f32 %d, %a, %b;", types, {one, {f32(3.0f)}}), (Column{0x3eaaaaab}));
  EXPECT_EQ(apply("rcp.rz.f32 %d, %a;", {"b32", "b32"}, {{f32(-3.0f)}}), (Column{0xbeaaaaaa}));
  EXPECT_EQ(apply("sqrt.rp.f32 %d, %a;", {"b32", "b32"}, {{f32(2.0f)}}), (Column{0x3fb504f4}));
  EXPECT_EQ(apply("sqrt.rn.f32 %d, %a;", {"b32", "b32"}, {{f32(2.0f), f32(-1.0f), kNegative}}),
            (Column{0x3fb504f3, kNan, kNegative}));
  EXPECT_EQ(apply("mul.rp.f32 %d, %a, %b;", types, {{1}, {1}}), (Column{1}));  // underflow, upwards
  EXPECT_EQ(apply("mul.rp.f32 %d, %a, %b;", types, {{0x7f7fffff}, {f32(2.0f)}}), (Column{kInf}));
  EXPECT_EQ(apply("mul.rz.f32 %d, %a, %b;", types, {{0x7f7fffff}, {f32(2.0f)}}), (Column{0x7f7fffff}));
  std::vector<std::string> wide = {"b64", "b64", "b64", "b64"};
  Column d = {f64(1.0)}, e = {f64(0x1p-60)};
  EXPECT_EQ(apply("fma.rp.f64 %d, %a, %a, %b;", wide, {d, e, e}), (Column{f64(1.0) + 1}));
  EXPECT_EQ(apply("fma.rn.f64 %d, %a, %a, %b;", wide, {d, e, e}), d);
}

TEST_P(Semantics, IntegersWrapAndSaturate) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  EXPECT_EQ(apply("add.s32 %d, %a, %b;", types, {{0x7fffffff}, {1}}), (Column{0x80000000}));
  EXPECT_EQ(apply("add.sat.s32 %d, %a, %b;", types, {{0x7fffffff, 0x80000000, 5}, {1, 0xffffffff, 0xfffffffe}}),
            (Column{0x7fffffff, 0x80000000, 3}));
  EXPECT_EQ(apply("sub.sat.s32 %d, %a, %b;", types, {{0x80000000, 0x7fffffff}, {1, 0xffffffff}}),
            (Column{0x80000000, 0x7fffffff}));
  EXPECT_EQ(apply("mul.hi.s32 %d, %a, %b;", types, {{0x80000000, 0xffffffff}, {0x80000000, 1}}),
            (Column{0x40000000, 0xffffffff}));
  EXPECT_EQ(apply("mul.hi.u32 %d, %a, %b;", types, {{0xffffffff}, {0xffffffff}}), (Column{0xfffffffe}));
  EXPECT_EQ(apply("mul.wide.s32 %d, %a, %b;", {"b64", "b32", "b32"}, {{0xffffffff}, {2}}), (Column{~uint64_t{1}}));
  EXPECT_EQ(apply("mul.wide.u16 %d, %a, %b;", {"b32", "b16", "b16"}, {{0xffff}, {0xffff}}), (Column{0xfffe0001}));
  EXPECT_EQ(apply("mul.hi.u64 %d, %a, %b;", {"b64", "b64", "b64"}, {{~uint64_t{0}}, {~uint64_t{0}}}),
            (Column{~uint64_t{1}}));
  EXPECT_EQ(apply("mad.wide.u32 %d, %a, %b, %c;", {"b64", "b32", "b32", "b64"}, {{0xffffffff}, {0xffffffff}, {1}}),
            (Column{0xfffffffe00000002}));
  EXPECT_EQ(apply("mad.lo.s32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{0xfffffffe}, {3}, {7}}), (Column{1}));
  EXPECT_EQ(apply("sad.s32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{0xfffffffe}, {3}, {7}}), (Column{12}));
  EXPECT_EQ(apply("abs.s32 %d, %a;", {"b32", "b32"}, {{0x80000000, 0xffffffff}}), (Column{0x80000000, 1}));
  EXPECT_EQ(apply("min.s16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0xffff}, {1}}), (Column{0xffff}));
  EXPECT_EQ(apply("max.u16x2 %d, %a, %b;", types, {{0x00018000}, {0x00020001}}), (Column{0x00028000}));
  EXPECT_EQ(apply("mul24.lo.u32 %d, %a, %b;", types, {{0xff000003}, {5}}), (Column{15}));
  EXPECT_EQ(apply("mul24.hi.s32 %d, %a, %b;", types, {{0x00800000}, {0x00800000}}), (Column{0x40000000}));
  EXPECT_EQ(apply("dp4a.s32.u32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{0xff01ff01}, {0x02ff0102}, {10}}),
            (Column{10 - 2 + 255 - 1 + 2}));
}

TEST_P(Semantics, DivisionWrapsAtItsEdge) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  Column a = {0xfffffff9, 7, 0x80000000, 10}, b = {2, 0xfffffffe, 0xffffffff, 3};
  EXPECT_EQ(apply("div.s32 %d, %a, %b;", types, {a, b}), (Column{0xfffffffd, 0xfffffffd, 0x80000000, 3}));
  EXPECT_EQ(apply("rem.s32 %d, %a, %b;", types, {a, b}), (Column{0xffffffff, 1, 0, 1}));
  EXPECT_EQ(apply("div.u32 %d, %a, %b;", types, {a, b}), (Column{0x7ffffffc, 0, 0, 3}));
  EXPECT_EQ(apply("rem.u32 %d, %a, %b;", types, {a, b}), (Column{1, 7, 0x80000000, 1}));
  EXPECT_EQ(apply("div.s64 %d, %a, %b;", {"b64", "b64", "b64"}, {{uint64_t{1} << 63}, {~uint64_t{0}}}),
            (Column{uint64_t{1} << 63}));
  EXPECT_EQ(apply("div.s16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0x8000}, {0xffff}}), (Column{0x8000}));
}

TEST_P(Semantics, CarriesChain) {
  EXPECT_EQ(apply("{ .reg .b32 %lo, %hi, %x, %y; mov.b64 {%lo, %hi}, %a; mov.b64 {%x, %y}, %b;\n"
                  "add.cc.u32 %lo, %lo, %x; addc.u32 %hi, %hi, %y; mov.b64 %d, {%lo, %hi}; }",
                  {"b64", "b64", "b64"}, {{0x00000001ffffffff, ~uint64_t{0}}, {1, 1}}),
            (Column{0x0000000200000000, 0}));
  EXPECT_EQ(apply("{ .reg .b32 %lo, %hi, %x, %y; mov.b64 {%lo, %hi}, %a; mov.b64 {%x, %y}, %b;\n"
                  "sub.cc.u32 %lo, %lo, %x; subc.u32 %hi, %hi, %y; mov.b64 %d, {%lo, %hi}; }",
                  {"b64", "b64", "b64"}, {{0x0000000100000000, 0}, {1, 1}}),
            (Column{0xffffffff, ~uint64_t{0}}));
  EXPECT_EQ(apply("{ .reg .b32 %lo, %hi; mad.lo.cc.u32 %lo, %a, %b, %c; madc.hi.u32 %hi, %a, %b, 0;\n"
                  "mov.b64 %d, {%lo, %hi}; }",
                  {"b64", "b32", "b32", "b32"}, {{0xffffffff}, {0xffffffff}, {0xffffffff}}),
            (Column{0xfffffffe00000001 + 0xffffffff}));
}

TEST_P(Semantics, ShiftsClamp) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  EXPECT_EQ(apply("shl.b32 %d, %a, %b;", types, {{1, 1, 1}, {31, 32, 0xffffffff}}), (Column{0x80000000, 0, 0}));
  EXPECT_EQ(apply("shr.u32 %d, %a, %b;", types, {{0x80000000, 0x80000000}, {31, 40}}), (Column{1, 0}));
  EXPECT_EQ(apply("shr.s32 %d, %a, %b;", types, {{0x80000000, 0x80000000, 0x40000000}, {31, 40, 99}}),
            (Column{0xffffffff, 0xffffffff, 0}));
  EXPECT_EQ(apply("shl.b64 %d, %a, %b;", {"b64", "b64", "b32"}, {{1, 1}, {63, 64}}), (Column{uint64_t{1} << 63, 0}));
  EXPECT_EQ(apply("shr.s16 %d, %a, %b;", {"b16", "b16", "b32"}, {{0x8000, 0x8000}, {15, 16}}),
            (Column{0xffff, 0xffff}));
  std::vector<std::string> three = {"b32", "b32", "b32", "b32"};
  EXPECT_EQ(apply("shf.l.wrap.b32 %d, %a, %b, %c;", three, {{0x80000000, 0x12345678}, {1, 0x9abcdef0}, {1, 33}}),
            (Column{3, 0x3579bde0}));
  EXPECT_EQ(apply("shf.l.clamp.b32 %d, %a, %b, %c;", three, {{0x12345678}, {0x9abcdef0}, {33}}), (Column{0x12345678}));
  EXPECT_EQ(apply("shf.r.clamp.b32 %d, %a, %b, %c;", three, {{0x12345678}, {0x9abcdef0}, {99}}), (Column{0x9abcdef0}));
  EXPECT_EQ(apply("shf.r.wrap.b32 %d, %a, %b, %c;", three, {{0x12345678}, {0x9abcdef0}, {36}}), (Column{0x01234567}));
}

TEST_P(Semantics, BitFields) {
  std::vector<std::string> types = {"b32", "b32", "b32", "b32"};
  EXPECT_EQ(apply("bfe.u32 %d, %a, %b, %c;", types, {{0x80000000}, {40}, {8}}), (Column{0}));
  EXPECT_EQ(apply("bfe.s32 %d, %a, %b, %c;", types, {{0x7fffffff, 0x80000000, 0x80000000}, {40, 40, 28}, {8, 8, 8}}),
            (Column{0, 0xffffffff, 0xfffffff8}));
  EXPECT_EQ(apply("bfe.u32 %d, %a, %b, %c;", types, {{0x12345678, 0x12345678, 0x12345678}, {4, 0, 4}, {8, 32, 0}}),
            (Column{0x67, 0x12345678, 0}));
  EXPECT_EQ(apply("bfe.s64 %d, %a, %b, %c;", {"b64", "b64", "b32", "b32"}, {{0x00000f0000000000}, {40}, {4}}),
            (Column{~uint64_t{0}}));
  EXPECT_EQ(apply("bfi.b32 %d, %a, %b, %c, %e;", {"b32", "b32", "b32", "b32", "b32"},
                  {{0xff, 0xff, 0xff}, {0x12345678, 0x12345678, 0x12345678}, {8, 28, 32}, {8, 8, 8}}),
            (Column{0x1234ff78, 0xf2345678, 0x12345678}));
  EXPECT_EQ(apply("prmt.b32 %d, %a, %b, 0x7610;", {"b32", "b32", "b32"}, {{0x33221100}, {0x77665544}}),
            (Column{0x77661100}));
  EXPECT_EQ(apply("prmt.b32 %d, %a, %b, 0xba98;", {"b32", "b32", "b32"}, {{0x80ff7f00}, {0}}), (Column{0xffff0000}));
  EXPECT_EQ(apply("prmt.b32.f4e %d, %a, %b, 1;", {"b32", "b32", "b32"}, {{0x33221100}, {0x77665544}}),
            (Column{0x44332211}));
  EXPECT_EQ(apply("prmt.b32.rc16 %d, %a, %b, 1;", {"b32", "b32", "b32"}, {{0x33221100}, {0x77665544}}),
            (Column{0x33223322}));
  EXPECT_EQ(apply("lop3.b32 %d, %a, %b, %c, 0xe8;", types, {{0xff00ff00}, {0xf0f0f0f0}, {0xcccccccc}}),
            (Column{0xfcc0fcc0}));
  EXPECT_EQ(apply("popc.b64 %d, %a;", {"b32", "b64"}, {{~uint64_t{0}, 0x8000000000000001}}), (Column{64, 2}));
  EXPECT_EQ(apply("clz.b32 %d, %a;", {"b32", "b32"}, {{0, 1, 0x80000000}}), (Column{32, 31, 0}));
  EXPECT_EQ(apply("brev.b32 %d, %a;", {"b32", "b32"}, {{1, 0x12345678}}), (Column{0x80000000, 0x1e6a2c48}));
  EXPECT_EQ(apply("bfind.u32 %d, %a;", {"b32", "b32"}, {{0, 1, 0x80000000}}), (Column{0xffffffff, 0, 31}));
  EXPECT_EQ(apply("bfind.s32 %d, %a;", {"b32", "b32"}, {{0xffffffff, 0xfffffffe, 5}}), (Column{0xffffffff, 0, 2}));
  EXPECT_EQ(apply("bfind.shiftamt.u32 %d, %a;", {"b32", "b32"}, {{1, 0}}), (Column{31, 0xffffffff}));
  EXPECT_EQ(apply("fns.b32 %d, %a, %b, %c;", types,
                  {{0x0000ffff, 0x0000ffff, 0xf0}, {0, 31, 7}, {4, 0xffffffff, 0xfffffffe}}),
            (Column{3, 15, 6}));
  EXPECT_EQ(apply("bmsk.clamp.b32 %d, %a, %b;", {"b32", "b32", "b32"}, {{4, 28}, {8, 40}}),
            (Column{0xff0, 0xf0000000}));
}

TEST_P(Semantics, ComparesAndSelects) {
  std::vector<std::string> types = {"b32", "b32", "b32"};
  auto compare = [&](const std::string& how, const Column& a, const Column& b) {
    return apply("setp." + how + " %p, %a, %b; selp.b32 %d, 1, 0, %p;", types, {a, b});
  };
  Column x = {f32(1), f32(2), f32(1), 0x7fc00000}, y = {f32(2), f32(1), f32(1), f32(1)};
  EXPECT_EQ(compare("lt.f32", x, y), (Column{1, 0, 0, 0}));
  EXPECT_EQ(compare("ltu.f32", x, y), (Column{1, 0, 0, 1}));
  EXPECT_EQ(compare("ne.f32", x, y), (Column{1, 1, 0, 0}));
  EXPECT_EQ(compare("neu.f32", x, y), (Column{1, 1, 0, 1}));
  EXPECT_EQ(compare("num.f32", x, y), (Column{1, 1, 1, 0}));
  EXPECT_EQ(compare("nan.f32", x, y), (Column{0, 0, 0, 1}));
  EXPECT_EQ(compare("geu.f32", x, y), (Column{0, 1, 1, 1}));
  EXPECT_EQ(compare("lt.s32", {0xffffffff}, {0}), (Column{1}));
  EXPECT_EQ(compare("lt.u32", {0xffffffff}, {0}), (Column{0}));
  EXPECT_EQ(compare("hi.u32", {0xffffffff}, {0}), (Column{1}));
  EXPECT_EQ(apply("setp.lt.f32 %p, %a, %b; selp.b32 %d, 5, 7, !%p;", types, {{0x7fc00000, f32(0)}, {f32(1), f32(1)}}),
            (Column{5, 7}));
  EXPECT_EQ(apply("set.lt.u32.f32 %d, %a, %b;", types, {x, y}), (Column{0xffffffff, 0, 0, 0}));
  EXPECT_EQ(apply("set.ge.f32.s32 %d, %a, %b;", types, {{1, 0}, {0, 1}}), (Column{f32(1), 0}));
  EXPECT_EQ(
      apply("slct.ftz.b32.f32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{1, 1}, {2, 2}, {0x80000001, f32(-1)}}),
      (Column{1, 2}));
  EXPECT_EQ(apply("slct.b32.s32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{1, 1}, {2, 2}, {0, 0xffffffff}}),
            (Column{1, 2}));
  // Two results, with the first as the third source: p = (a < b) & p_old, q = !(a < b) & p_old.
  EXPECT_EQ(
      apply("setp.eq.u32 %p, 1, 1; setp.lt.and.u32 %p|%q, %a, %b, %p;\n{ .reg .b32 %x, %y; selp.b32 %x, 1, 0, %p; "
            "selp.b32 %y, 2, 0, %q; or.b32 %d, %x, %y; }",
            types, {{1, 9}, {5, 5}}),
      (Column{1, 2}));
  EXPECT_EQ(apply("setp.eq.u32 %p, %a, 1; setp.lt.xor.s32 %q, %b, 0, !%p; selp.b32 %d, 1, 0, %q;", types,
                  {{1, 2}, {0xffffffff, 0xffffffff}}),
            (Column{1, 0}));
}

TEST_P(Semantics, ConvertsBetweenIntegers) {
  EXPECT_EQ(apply("cvt.s32.s8 %d, %a;", {"b32", "b32"}, {{0x80, 0x17f}}), (Column{0xffffff80, 0x7f}));
  EXPECT_EQ(apply("cvt.u64.s32 %d, %a;", {"b64", "b32"}, {{0xffffffff}}), (Column{~uint64_t{0}}));
  EXPECT_EQ(apply("cvt.u64.u32 %d, %a;", {"b64", "b32"}, {{0xffffffff}}), (Column{0xffffffff}));
  EXPECT_EQ(apply("cvt.u16.u64 %d, %a;", {"b16", "b64"}, {{0x123456789}}), (Column{0x6789}));
  EXPECT_EQ(apply("cvt.sat.u8.s32 %d, %a;", {"b32", "b32"}, {{0xffffffff, 300, 7}}), (Column{0, 255, 7}));
  EXPECT_EQ(apply("cvt.sat.s32.u64 %d, %a;", {"b32", "b64"}, {{~uint64_t{0}}}), (Column{0x7fffffff}));
  EXPECT_EQ(apply("cvt.s8.s32 %d, %a;", {"b32", "b32"}, {{0x1ff}}), (Column{0xffffffff}));  // extended to the register
  EXPECT_EQ(apply("cvt.u8.u32 %d, %a;", {"b64", "b32"}, {{0x1ff}}), (Column{0xff}));
  EXPECT_EQ(
      apply("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, {{300}, {0xffffffff}, {0x1234}}),
      (Column{0x1234ff00}));
}

TEST_P(Semantics, ConvertsIntegersToFloat) {
  Column odd = {16777219};
  EXPECT_EQ(apply("cvt.rz.f32.s32 %d, %a;", {"b32", "b32"}, {odd}), (Column{0x4b800001}));
  EXPECT_EQ(apply("cvt.rn.f32.s32 %d, %a;", {"b32", "b32"}, {odd}), (Column{0x4b800002}));
  Column negative = {0xffffffff & static_cast<uint64_t>(-16777219)};
  EXPECT_EQ(apply("cvt.rm.f32.s32 %d, %a;", {"b32", "b32"}, {negative}), (Column{0xcb800002}));
  EXPECT_EQ(apply("cvt.rp.f32.s32 %d, %a;", {"b32", "b32"}, {negative}), (Column{0xcb800001}));
  EXPECT_EQ(apply("cvt.rn.f32.u32 %d, %a;", {"b32", "b32"}, {{0xffffffff}}), (Column{f32(0x1p32f)}));
  EXPECT_EQ(
      apply("cvt.rn.f32.u64 %d, %a;", {"b32", "b64"}, {{0xffffffffffffffff, 0x8000008000000001, 0x8000008000000000}}),
      (Column{f32(0x1p64f), 0x5f000001, 0x5f000000}));
  EXPECT_EQ(apply("cvt.rz.f64.u64 %d, %a;", {"b64", "b64"}, {{0xffffffffffffffff}}),
            (Column{f64(0x1.fffffffffffffp63)}));
  EXPECT_EQ(apply("cvt.rp.f64.s64 %d, %a;", {"b64", "b64"}, {{0x8000000000000001}}),
            (Column{f64(-0x1.fffffffffffffp62)}));
  EXPECT_EQ(apply("cvt.rn.f16.s32 %d, %a;", {"b16", "b32"}, {{2049, 65520}}), (Column{0x6800, 0x7c00}));
  EXPECT_EQ(apply("cvt.rn.f64.s32 %d, %a;", {"b64", "b32"}, {{0xffffffff}}), (Column{f64(-1)}));
}

TEST_P(Semantics, ConvertsFloatToIntegersSaturating) {
  Column x = {f32(1.5f), f32(2.5f), f32(-1.5f), f32(3e9f), f32(-3e9f), 0x7fc00000, kInf, f32(-0.5f)};
  std::vector<std::string> types = {"b32", "b32"};
  EXPECT_EQ(apply("cvt.rni.s32.f32 %d, %a;", types, {x}),
            (Column{2, 2, 0xfffffffe, 0x7fffffff, 0x80000000, 0, 0x7fffffff, 0}));
  EXPECT_EQ(apply("cvt.rzi.s32.f32 %d, %a;", types, {x}),
            (Column{1, 2, 0xffffffff, 0x7fffffff, 0x80000000, 0, 0x7fffffff, 0}));
  EXPECT_EQ(apply("cvt.rmi.s32.f32 %d, %a;", types, {x}),
            (Column{1, 2, 0xfffffffe, 0x7fffffff, 0x80000000, 0, 0x7fffffff, 0xffffffff}));
  EXPECT_EQ(apply("cvt.rpi.s32.f32 %d, %a;", types, {x}),
            (Column{2, 3, 0xffffffff, 0x7fffffff, 0x80000000, 0, 0x7fffffff, 0}));
  EXPECT_EQ(apply("cvt.rzi.u32.f32 %d, %a;", types, {x}), (Column{1, 2, 0, 3000000000u, 0, 0, 0xffffffff, 0}));
  EXPECT_EQ(apply("cvt.rzi.s8.f32 %d, %a;", types, {{f32(200), f32(-200)}}), (Column{127, 0xffffff80}));
  EXPECT_EQ(apply("cvt.rzi.s64.f32 %d, %a;", {"b64", "b32"}, {{0x7fc00000, f32(1e30f)}}),
            (Column{uint64_t{1} << 63, 0x7fffffffffffffff}));
  EXPECT_EQ(apply("cvt.rzi.u64.f64 %d, %a;", {"b64", "b64"}, {{f64(1e19), f64(-1)}}),
            (Column{10000000000000000000u, 0}));
  EXPECT_EQ(apply("cvt.rzi.s32.f64 %d, %a;", {"b32", "b64"}, {{f64(-7.9), 0x7ff8000000000000}}),
            (Column{0xfffffff9, 0x80000000}));
  EXPECT_EQ(apply("cvt.rni.f32.f32 %d, %a;", types, {{f32(2.5f), f32(-0.4f)}}), (Column{f32(2), kNegative}));
  EXPECT_EQ(apply("cvt.sat.f32.f32 %d, %a;", types, {{f32(2.5f), f32(-1), 0x7fc00000, f32(0.25f)}}),
            (Column{f32(1), 0, 0, f32(0.25f)}));
}

TEST_P(Semantics, ConvertsNarrowFloats) {
  std::vector<std::string> types = {"b16", "b32"};
  EXPECT_EQ(apply("cvt.rn.f16.f32 %d, %a;", types,
                  {{f32(65519), f32(65520), f32(0x1p-24f), f32(0x1p-25f), 0x7fc00000, f32(-1)}}),
            (Column{0x7bff, 0x7c00, 1, 0, 0x7fff, 0xbc00}));
  EXPECT_EQ(apply("cvt.rz.f16.f32 %d, %a;", types, {{f32(65520)}}), (Column{0x7bff}));
  EXPECT_EQ(apply("cvt.rn.bf16.f32 %d, %a;", types, {{0x3f808000, 0x3f818000, 0x7f7fffff}}),
            (Column{0x3f80, 0x3f82, 0x7f80}));
  EXPECT_EQ(apply("cvt.f32.f16 %d, %a;", {"b32", "b16"}, {{1, 0xfc00, 0x7e01}}),
            (Column{f32(0x1p-24f), 0xff800000, kNan}));
  EXPECT_EQ(apply("cvt.f32.bf16 %d, %a;", {"b32", "b16"}, {{0xbf80}}), (Column{f32(-1)}));
  EXPECT_EQ(apply("cvt.rn.bf16x2.f32 %d, %a, %b;", {"b32", "b32", "b32"}, {{f32(1)}, {f32(2)}}), (Column{0x3f804000}));
  EXPECT_EQ(apply("cvt.rn.relu.f16x2.f32 %d, %a, %b;", {"b32", "b32", "b32"}, {{f32(-1)}, {f32(2)}}),
            (Column{0x00004000}));
  EXPECT_EQ(apply("cvt.rz.relu.bf16.f32 %d, %a;", types, {{kNegative, 0x80000001}}), (Column{0, 0}));
  EXPECT_EQ(apply("cvt.rna.tf32.f32 %d, %a;", {"b32", "b32"}, {{0x3f801000, 0x3f800fff}}),
            (Column{0x3f802000, 0x3f800000}));
  EXPECT_EQ(apply("cvt.rp.f32.f64 %d, %a;", {"b32", "b64"}, {{f64(1.0 + 0x1p-40)}}), (Column{0x3f800001}));
  EXPECT_EQ(apply("cvt.rn.ftz.f32.f64 %d, %a;", {"b32", "b64"}, {{f64(-0x1p-130)}}), (Column{kNegative}));
}

TEST_P(Semantics, ConvertsToFp8) {
  Column a = {0xc0100000, 0x43fa0000, 0x41880000, 0x3b000000, 0x3ac00000, 0x43e00000, 0x00000000};
  Column b = {0x3fc00000, 0xc47a0000, 0x41980000, 0x3a800000, 0x80000000, 0x43e80000, 0xba000000};
  EXPECT_EQ(apply("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", {"b16", "b32", "b32"}, {a, b}),
            (Column{0xc13c, 0x7efe, 0x585a, 0x0100, 0x0180, 0x7e7e, 0x0080}));
  EXPECT_EQ(apply("cvt.rn.satfinite.e5m2x2.f16x2 %d, %a;", {"b16", "b32"},
                  {{0x7c00fc00, 0x7bff3c00, 0x3c803d80, 0x00010100, 0x00808080, 0x7b00bc40, 0xfbff7c00, 0x40004200}}),
            (Column{0x7bfb, 0x7b3c, 0x3c3e, 0x0001, 0x0080, 0x7bbc, 0xfb7b, 0x4042}));
  EXPECT_EQ(apply("cvt.rn.f16x2.e4m3x2 %d, %a;", {"b32", "b16"}, {{0x3c7e}}), (Column{0x3e005f00}));
}

TEST_P(Semantics, Approximations) {
  std::vector<std::string> types = {"b32", "b32"};
  EXPECT_EQ(apply("ex2.approx.f32 %d, %a;", types, {{f32(3), f32(-149), kInf, 0xff800000}}),
            (Column{f32(8), 1, kInf, 0}));
  EXPECT_EQ(apply("ex2.approx.ftz.f32 %d, %a;", types, {{f32(-130)}}), (Column{0}));
  EXPECT_EQ(apply("lg2.approx.f32 %d, %a;", types, {{f32(8), 0, f32(-1)}}), (Column{f32(3), 0xff800000, kNan}));
  EXPECT_EQ(apply("rsqrt.approx.f32 %d, %a;", types, {{f32(4), 0, kNegative, f32(-1)}}),
            (Column{f32(0.5f), kInf, 0xff800000, kNan}));
  EXPECT_EQ(apply("rcp.approx.ftz.f32 %d, %a;", types, {{f32(4), 1, kInf}}), (Column{f32(0.25f), kInf, 0}));
  EXPECT_EQ(apply("sin.approx.f32 %d, %a;", types, {{0, kInf}}), (Column{0, kNan}));
  EXPECT_EQ(apply("cos.approx.f32 %d, %a;", types, {{0}}), (Column{f32(1)}));
  EXPECT_EQ(apply("tanh.approx.f32 %d, %a;", types, {{kInf, f32(-100)}}), (Column{f32(1), f32(-1)}));
  // 11 bits and no more: tanh(0.5) = 0.462117 = 1892.8 / 4096, tanh(-3) = -0.995055 = -2037.9 / 2048.
  EXPECT_EQ(apply("tanh.approx.f32 %d, %a;", types, {{f32(0.5f), f32(-3), f32(0x1p-140f)}}),
            (Column{f32(1893.0f / 4096), f32(-2038.0f / 2048), f32(0x1p-140f)}));
  EXPECT_EQ(apply("div.full.f32 %d, %a, %b;", {"b32", "b32", "b32"}, {{f32(6)}, {f32(3)}}), (Column{f32(2)}));
  EXPECT_EQ(apply("rcp.approx.ftz.f64 %d, %a;", {"b64", "b64"}, {{f64(3)}}),
            (Column{f64(1.0 / 3) & 0xffffffff00000000}));
  EXPECT_EQ(apply("ex2.approx.f16x2 %d, %a;", types, {{0x40003c00}}), (Column{0x44004000}));
}

TEST_P(Semantics, PacksAndUnpacks) {
  EXPECT_EQ(apply("{ .reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %d, {%y, %x}; }", {"b32", "b32"}, {{0x12345678}}),
            (Column{0x56781234}));
  EXPECT_EQ(apply("{ .reg .b16 %w, %x, %y, %z; mov.b64 {%w, %x, %y, %z}, %a; mov.b64 %d, {%z, %y, %x, %w}; }",
                  {"b64", "b64"}, {{0x0123456789abcdef}}),
            (Column{0xcdef89ab45670123}));
  EXPECT_EQ(apply("{ .reg .b32 %x; mov.b64 {_, %x}, %a; mov.b32 %d, %x; }", {"b32", "b64"}, {{0x0123456789abcdef}}),
            (Column{0x01234567}));
  EXPECT_EQ(apply("mov.f32 %d, 0fff812345;", {"b32", "b32"}, {{0}}),
            (Column{0xff812345}));  // a signalling NaN's own bits
}

}  // namespace
}  // namespace ptxlab::simt::test
