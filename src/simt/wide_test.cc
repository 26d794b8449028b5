// 128-bit registers, vectors of every width, vector atomics, and the rarer instructions about memory and lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/narrow_float.h"
#include "simt/run_kernel.h"
#include "simt/run_op.h"

namespace ptxlab::simt::test {
namespace {

constexpr char kBlackwell[] = ".version 9.0\n.target sm_100a\n.address_size 64\n";

std::string kernel_of(const std::string& body, const std::string& registers = "") {
  return ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %i, %o, %at, %d<8>; .reg .b32 %t, %x, "
         "%r<16>; "
         ".reg .b16 %h<16>; .reg .b128 %q<4>; .reg .pred %p, %n; .reg .f32 %f<8>;\n.shared .align 16 .b8 "
         "tile[1024];\n" +
         registers + "ld.param.u64 %i, [in];\nld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\n" + body + "ret;\n}\n";
}

TEST(Wide, RegistersOf128Bits) {
  Kernel kernel(
      kernel_of("mul.wide.u32 %at, %t, 16;\nadd.s64 %i, %i, %at;\nadd.s64 %o, %o, %at;\nld.global.b128 %q0, [%i];\n"
                "mov.b128 {%d0, %d1}, %q0;\nmov.b128 %q1, {%d1, %d0};\nmov.b128 %q2, %q1;\n"
                "st.global.b128 [%o], %q2;\n"),
      kBlackwell);
  std::vector<uint64_t> in;
  for (uint64_t k = 0; k < 64; ++k) in.push_back(k * 0x123456789abcdefULL);
  kernel.in(in).out(512).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint64_t>();
  for (size_t k = 0; k < 64; ++k) EXPECT_EQ(out[k], in[k ^ 1]);
}

TEST(Wide, UndefinedHalvesStayApart) {
  Kernel kernel(kernel_of("mov.u64 %d0, 5;\nmov.b128 %q0, {%d0, %d1};\nmov.b128 %q1, %q0;\nmov.b128 {%d2, %d3}, %q1;\n"
                          "st.global.u64 [%o], %d2;\nst.global.u64 [%o+8], %d3;\n"),
                kBlackwell);
  kernel.in(std::vector<uint32_t>(4)).out(16).shape({1, 1, 1}, {1, 1, 1});
  base::Finding f = kernel.finding();
  EXPECT_EQ(f.code, "RUN0021");
  EXPECT_NE(f.message.find("8 bytes"), std::string::npos) << f.message;
  EXPECT_EQ(f.place.line, 16u) << f.message;
}

TEST(Wide, VectorsOf256Bits) {
  Kernel kernel(kernel_of("mul.wide.u32 %at, %t, 32;\nadd.s64 %i, %i, %at;\nadd.s64 %o, %o, %at;\n"
                          "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%i];\n"
                          "st.global.v4.b64 [%o], {%d0, %d1, %d2, %d3};\n"
                          "st.global.v8.b32 [%o], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};\n",
                          "mov.b64 %d0, 0; mov.b64 %d1, 0; mov.b64 %d2, 0; mov.b64 %d3, 0;\n"),
                kBlackwell);
  std::vector<uint32_t> in(256);
  for (uint32_t k = 0; k < 256; ++k) in[k] = k;
  kernel.in(in).out(1024).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint32_t>();
  for (uint32_t k = 0; k < 256; ++k) EXPECT_EQ(out[k], k ^ 7);
  Kernel misaligned(kernel_of("ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%i+16];\n"), kBlackwell);
  misaligned.in(in).out(16).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(misaligned.finding().code, "RUN0004");
}

TEST(Wide, CompareAndSwapOf128Bits) {
  // All lanes try 0 -> (lane, lane + 100): one wins, all others read what it wrote.
  Kernel kernel(
      kernel_of("cvt.u64.u32 %d0, %t;\nadd.u64 %d0, %d0, 1;\nadd.u64 %d1, %d0, 100;\nmov.b128 %q0, {%d0, %d1};\n"
                "mov.u64 %d2, 0;\nmov.b128 %q1, {%d2, %d2};\natom.global.cas.b128 %q2, [%i], %q1, %q0;\n"
                "mov.b128 {%d4, %d5}, %q2;\nmul.wide.u32 %at, %t, 16;\nadd.s64 %o, %o, %at;\n"
                "st.global.v2.b64 [%o], {%d4, %d5};\nbar.sync 0;\nsetp.eq.u32 %p, %t, 0;\n"
                "@%p atom.global.exch.b128 %q3, [%i], %q0;\n@%p st.global.b128 [%o], %q3;\n"),
      kBlackwell);
  kernel.in(std::vector<uint64_t>(2), true).out(512).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint64_t>();
  int zeros = 0;
  uint64_t winner = out[0];
  for (size_t lane = 1; lane < 32; ++lane) {
    zeros += out[2 * lane] == 0;
    if (out[2 * lane]) {
      EXPECT_EQ(out[2 * lane], winner);
      EXPECT_EQ(out[2 * lane + 1], winner + 100);
    }
  }
  EXPECT_EQ(zeros, winner == 1 ? 0 : 1);
  EXPECT_EQ(kernel.read<uint64_t>(0), (std::vector<uint64_t>{1, 101}));
}

TEST(Wide, VectorAtomics) {
  Kernel kernel(
      kernel_of("mov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f40000000;\n"
                "red.global.add.v2.f32 [%i], {%f0, %f1};\n"
                "atom.global.add.v4.f32 {%f4, %f5, %f6, _}, [%i+16], {%f0, %f0, %f1, %f1};\n"
                "mov.b16 %h0, 0x3c00;\nmov.b16 %h1, 0xbc00;\nred.global.max.noftz.v2.f16 [%i+8], {%h0, %h1};\n"
                "mov.b32 %r0, 0x3f803f80;\nred.global.add.noftz.v4.bf16x2 [%i+32], {%r0, %r0, %r0, %r0};\n"
                "add.f32 %f4, %f4, %f5;\nmul.wide.u32 %at, %t, 4;\nadd.s64 %o, %o, %at;\nst.global.f32 [%o], %f4;\n"),
      kBlackwell);
  std::vector<uint32_t> in(12);
  in[2] = 0x80003800;  // 0.5, -0
  kernel.in(in, true).out(128).shape({1, 1, 1}, {32, 1, 1});
  auto sums = kernel.result<float>();
  std::sort(sums.begin(), sums.end());
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(sums[lane], 2.0f * static_cast<float>(lane));
  auto memory = kernel.read<uint32_t>(0);
  EXPECT_EQ(memory[0], std::bit_cast<uint32_t>(32.0f));
  EXPECT_EQ(memory[1], std::bit_cast<uint32_t>(64.0f));
  EXPECT_EQ(memory[2], 0x80003c00u);
  EXPECT_EQ(memory[4], std::bit_cast<uint32_t>(32.0f));
  EXPECT_EQ(memory[7], std::bit_cast<uint32_t>(64.0f));
  for (size_t k = 8; k < 12; ++k) EXPECT_EQ(memory[k], 0x42004200u);
}

// --- comparisons and arithmetic of pairs ---

TEST(Wide, ComparesPairs) {
  // (1, NaN) against (2, 1): low less, high unordered.
  const Column a = {0x7e003c00}, b = {0x3c004000};
  EXPECT_EQ(apply("set.lt.f16x2.f16x2 %d, %a, %b;", {"b32", "b32", "b32"}, {a, b}), (Column{0x00003c00}));
  EXPECT_EQ(apply("set.ltu.u32.f16x2 %d, %a, %b;", {"b32", "b32", "b32"}, {a, b}), (Column{0xffffffff}));
  EXPECT_EQ(apply("set.gt.s32.f16x2 %d, %a, %b;", {"b32", "b32", "b32"}, {a, b}), (Column{0}));
  EXPECT_EQ(apply("setp.lt.f16x2 %p|%q, %a, %b; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;", {"b32", "b32", "b32"},
                  {a, b}),
            (Column{1}));
  EXPECT_EQ(apply("setp.nan.f16x2 %p|%q, %a, %b; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;", {"b32", "b32", "b32"},
                  {a, b}),
            (Column{2}));
  // bf16: denormals are not flushed; f16 with .ftz they are.
  EXPECT_EQ(apply("set.gt.bf16x2.bf16x2 %d, %a, %b;", {"b32", "b32", "b32"}, {{0x00010001}, {0}}),
            (Column{0x3f803f80}));
  EXPECT_EQ(apply("set.gt.ftz.f16x2.f16x2 %d, %a, %b;", {"b32", "b32", "b32"}, {{0x00010400}, {0}}),
            (Column{0x00003c00}));
  EXPECT_EQ(apply("set.ge.f16.s32 %d, %a, %b;", {"b16", "b32", "b32"}, {{0xffffffff, 5}, {0, 5}}), (Column{0, 0x3c00}));
  EXPECT_EQ(apply("set.lt.u16.f16 %d, %a, %b;", {"b16", "b16", "b16"}, {{0x3c00}, {0x4000}}), (Column{0xffff}));
  EXPECT_EQ(apply("set.eq.bf16.f32 %d, %a, %b;", {"b16", "b32", "b32"}, {{f32(2)}, {f32(2)}}), (Column{0x3f80}));
}

TEST(Wide, OutOfBoundsNanMakesZero) {
  const std::vector<std::string> types = {"b16", "b16", "b16", "b16"};
  EXPECT_EQ(apply("fma.rn.oob.f16 %d, %a, %b, %c;", types,
                  {{0x7ff7, 0x3c00, 0x3c00}, {0x3c00, 0x7ff7, 0x4000}, {0x3c00, 0x3c00, 0x3c00}}),
            (Column{0, 0, 0x4200}));
  EXPECT_EQ(apply("fma.rn.oob.relu.bf16x2 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
                  {{0x7ff73f80}, {0x3f80bf80}, {0x3f800000}}),
            (Column{0}));
}

Column on_blackwell(const std::string& text, const std::vector<Column>& in, const char* type = "b64") {
  const std::string t(type);
  std::string body =
      "mul.wide.u32 %at, %t, 8;\nadd.s64 %o, %o, %at;\nmul.wide.u32 %at, %t, 32;\nadd.s64 %i, %i, %at;\n"
      "mov.b64 %d7, 0;\n";
  for (size_t k = 0; k < in.size(); ++k)
    body += "ld.global." + t + " " + (t == "b64" ? "%d" : "%r") + std::to_string(k) + ", [%i+" + std::to_string(8 * k) +
            "];\n";
  body += text + "\nst.global.b64 [%o], %d7;\n";
  Kernel kernel(kernel_of(body), kBlackwell);
  std::vector<uint64_t> memory(4 * in[0].size());
  for (size_t k = 0; k < in.size(); ++k)
    for (size_t row = 0; row < in[k].size(); ++row) memory[4 * row + k] = in[k][row];
  kernel.in(memory).out(8 * in[0].size()).shape({1, 1, 1}, {static_cast<uint32_t>(in[0].size()), 1, 1});
  return kernel.result<uint64_t>();
}
uint64_t two(float low, float high) { return f32(low) | f32(high) << 32; }

TEST(Wide, PairsOfSingles) {
  EXPECT_EQ(on_blackwell("add.f32x2 %d7, %d0, %d1;", {{two(1, 2)}, {two(10, -2)}}), (Column{two(11, 0)}));
  EXPECT_EQ(on_blackwell("sub.rn.f32x2 %d7, %d0, %d1;", {{two(1, 2)}, {two(10, -2)}}), (Column{two(-9, 4)}));
  EXPECT_EQ(on_blackwell("mul.rz.f32x2 %d7, %d0, %d1;", {{two(0x1.000002p0f, 3)}, {two(0x1.000002p0f, 5)}}),
            (Column{two(0x1.000004p0f, 15)}));
  EXPECT_EQ(on_blackwell("fma.rp.f32x2 %d7, %d0, %d1, %d2;", {{two(1, 2)}, {two(1, 3)}, {two(0x1p-30f, 1)}}),
            (Column{two(0x1.000002p0f, 7)}));
  EXPECT_EQ(on_blackwell("add.ftz.f32x2 %d7, %d0, %d1;", {{two(0x1p-140f, 1)}, {two(0, 1)}}), (Column{two(0, 2)}));
}

TEST(Wide, HalvesAddedToSingles) {
  EXPECT_EQ(on_blackwell("cvt.u16.u64 %h0, %d0; cvt.u32.u64 %r1, %d1; add.f32.f16 %r2, %h0, %r1; cvt.u64.u32 %d7, %r2;",
                         {{0x3c00}, {f32(0.25f)}}),
            (Column{f32(1.25f)}));
  EXPECT_EQ(
      on_blackwell("cvt.u16.u64 %h0, %d0; cvt.u32.u64 %r1, %d1; sub.rz.f32.bf16 %r2, %h0, %r1; cvt.u64.u32 %d7, %r2;",
                   {{0x3f80}, {f32(0x1p-40f)}}),
      (Column{f32(0x1.fffffep-1f)}));
  EXPECT_EQ(
      on_blackwell(
          "cvt.u16.u64 %h0, %d0; cvt.u32.u64 %r1, %d1; fma.rn.sat.f32.f16 %r2, %h0, %h0, %r1; cvt.u64.u32 %d7, %r2;",
          {{0x4000, 0x3800}, {f32(0), f32(0.5f)}}),
      (Column{f32(1), f32(0.75f)}));
}

TEST(Wide, ExtremesOfThree) {
  auto of = [](const std::string& name, float a, float b, float c) {
    return static_cast<uint32_t>(
        on_blackwell(name + " %r3, %r0, %r1, %r2; cvt.u64.u32 %d7, %r3;", {{f32(a)}, {f32(b)}, {f32(c)}}, "b32")[0]);
  };
  EXPECT_EQ(of("min.f32", 3, -1, 2), f32(-1));
  EXPECT_EQ(of("max.f32", 3, -1, NAN), f32(3));
  EXPECT_EQ(of("max.NaN.f32", 3, -1, NAN), 0x7fffffffu);
  EXPECT_EQ(of("min.abs.f32", 3, -1, 2), f32(1));
  EXPECT_EQ(of("max.abs.f32", -3, 1, 2), f32(3));
}

TEST(Wide, ReductionsOfSingles) {
  auto of = [](const std::string& name, bool nan) {
    std::string body = "cvt.rn.f32.s32 %f0, %t;\nsub.f32 %f0, %f0, 0f41200000;\n";  // -10 .. 21
    if (nan) body += "setp.eq.u32 %p, %t, 3;\n@%p mov.b32 %f0, 0x7fc00000;\n";
    Kernel kernel(kernel_of(body + "mov.b32 %r0, %f0;\n" + name + " %r1, %r0, 0xffffffff;\nst.global.b32 [%o], %r1;\n"),
                  kBlackwell);
    kernel.in(std::vector<uint32_t>(4)).out(4).shape({1, 1, 1}, {32, 1, 1});
    return kernel.result<uint32_t>()[0];
  };
  EXPECT_EQ(of("redux.sync.min.f32", false), f32(-10));
  EXPECT_EQ(of("redux.sync.max.f32", true), f32(21));
  EXPECT_EQ(of("redux.sync.max.NaN.f32", true), 0x7fffffffu);
  EXPECT_EQ(of("redux.sync.min.abs.f32", false), f32(0));
  EXPECT_EQ(of("redux.sync.max.abs.NaN.f32", false), f32(21));
}

// --- narrow formats ---

TEST(Wide, SixAndFourBitFloats) {
  // e3m2 ends at 28, e2m3 at 7.5, e2m1 at 6; ties go to even.
  auto packed = [](const std::string& to, float high, float low) {
    return on_blackwell("cvt.rn.satfinite." + to + ".f32 %h0, %r0, %r1; cvt.u64.u16 %d7, %h0;",
                        {{f32(high)}, {f32(low)}}, "b32")[0];
  };
  EXPECT_EQ(packed("e3m2x2", 100, -0.25f), 0x1f24u);
  EXPECT_EQ(packed("e2m3x2", 7.25f, -1e9f), 0x1e3fu);
  EXPECT_EQ(on_blackwell("{.reg .b8 %c; cvt.rn.satfinite.e2m1x2.f32 %c, %r0, %r1; cvt.u64.u8 %d7, %c;}",
                         {{f32(2.5f)}, {f32(-9)}}, "b32")[0],
            0x4fu);
  EXPECT_EQ(on_blackwell("{.reg .b8 %c; cvt.u8.u32 %c, %r0; cvt.rn.f16x2.e2m1x2 %r2, %c; cvt.u64.u32 %d7, %r2;}",
                         {{0x4f}}, "b32")[0],
            0x4000c600u);
}

TEST(Wide, PowersOfTwo) {
  auto of = [](const std::string& how, float x) {
    return on_blackwell("cvt." + how + "ue8m0x2.f32 %h0, %r1, %r0; cvt.u64.u16 %d7, %h0;", {{f32(x)}, {f32(1)}},
                        "b32")[0];
  };
  EXPECT_EQ(of("rz.", 3.0f), 0x7f80u);
  EXPECT_EQ(of("rp.", 3.0f), 0x7f81u);
  EXPECT_EQ(of("rp.", 4.0f), 0x7f81u);
  EXPECT_EQ(of("rp.", -3.0f), 0x7f81u);
  EXPECT_EQ(of("rz.", 0.0f), 0x7f00u);
  EXPECT_EQ(of("rp.", 0x1p-127f), 0x7f00u);
  EXPECT_EQ(of("rp.", 0x1.2p-127f), 0x7f01u);
  EXPECT_EQ(of("rz.", INFINITY), 0x7fffu);
  EXPECT_EQ(of("rz.satfinite.", INFINITY), 0x7ffeu);
  EXPECT_EQ(of("rz.satfinite.", NAN), 0x7fffu);
  EXPECT_EQ(
      on_blackwell("cvt.u16.u32 %h0, %r0; cvt.rn.bf16x2.ue8m0x2 %r2, %h0; cvt.u64.u32 %d7, %r2;", {{0xff80}}, "b32")[0],
      0x7fff4000u);
}

TEST(Wide, PacksIntegersOfTwoAndFourBits) {
  const std::vector<std::string> types = {"b32", "b32", "b32", "b32"};
  EXPECT_EQ(apply("cvt.pack.sat.u2.s32.b32 %d, %a, %b, %c;", types, {{9}, {0xfffffffe}, {5}}),
            (Column{5 << 4 | 3 << 2}));
  EXPECT_EQ(apply("cvt.pack.sat.s2.s32.b32 %d, %a, %b, %c;", types, {{9}, {0xfffffff0}, {0}}), (Column{1 << 2 | 2}));
  EXPECT_EQ(apply("cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c;", types, {{9}, {0xfffffff0}, {1}}),
            (Column{1 << 8 | 7 << 4 | 8}));
}

TEST(Wide, LogicThatDecides) {
  const std::string test = " selp.b32 %d, 1, 0, %q;";
  const std::vector<std::string> types = {"b32", "b32", "b32", "b32"};
  // 0xc0: a & b. The predicate q comes in as %p.
  EXPECT_EQ(apply("setp.ne.u32 %p, %c, 0; lop3.or.b32 %d|%q, %a, %b, 0, 0xc0, %p;" + test, types,
                  {{1, 1, 1}, {1, 2, 2}, {0, 0, 1}}),
            (Column{1, 0, 1}));
  EXPECT_EQ(apply("setp.ne.u32 %p, %c, 0; lop3.and.b32 _|%q, %a, %b, 0, 0xc0, !%p;" + test, types,
                  {{1, 1, 1}, {1, 2, 1}, {0, 0, 1}}),
            (Column{1, 0, 0}));
}

// --- memory ---

TEST(Wide, SpacesAreToldApart) {
  Kernel kernel(
      ".const .align 4 .u32 c[4] = {1, 2, 3, 4};\n.global .align 4 .u32 g[4];\n" +
      kernel_of(".local .align 4 .b8 l[16];\n"
                "mov.u64 %d0, c;\ncvta.const.u64 %d0, %d0;\nmov.u64 %d1, g;\ncvta.global.u64 %d1, %d1;\n"
                "mov.u64 %d2, l;\ncvta.local.u64 %d2, %d2;\nmov.u64 %d3, tile;\ncvta.shared.u64 %d3, %d3;\n"
                "mov.u32 %x, 0;\n"
                "isspacep.const %p, %d0;\n@%p or.b32 %x, %x, 1;\nisspacep.global %p, %d0;\n@%p or.b32 %x, %x, 2;\n"
                "isspacep.global %p, %d1;\n@%p or.b32 %x, %x, 4;\nisspacep.const %p, %d1;\n@%p or.b32 %x, %x, 8;\n"
                "isspacep.local %p, %d2;\n@%p or.b32 %x, %x, 16;\nisspacep.shared %p, %d3;\n@%p or.b32 %x, %x, 32;\n"
                "isspacep.shared::cluster %p, %d3;\n@%p or.b32 %x, %x, 64;\nisspacep.global %p, %d3;\n"
                "@%p or.b32 %x, %x, 128;\nisspacep.shared %p, %d2;\n@%p or.b32 %x, %x, 256;\n"
                "st.global.u32 [%o], %x;\nmov.u32 %x, tile;\nst.global.u32 [%o+4], %x;\n"));
  kernel.in(std::vector<uint32_t>(4)).out(8).shape({1, 1, 1}, {1, 1, 1});
  // A 32-bit shared address starts at 0.
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{1 + 4 + 16 + 32 + 64, 0}));
}

TEST(Wide, DiscardedLinesAreUndefined) {
  const std::string body = "st.global.u32 [%o], 7;\nst.global.u32 [%o+128], 7;\ndiscard.global.L2 [%o+128], 128;\n";
  Kernel kept(kernel_of(body + "ld.global.u32 %x, [%o];\nst.global.u32 [%o], %x;\n"));
  kept.in(std::vector<uint32_t>(4)).out(256).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_TRUE(kept.run().findings.empty());
  Kernel lost(kernel_of(body + "ld.global.u32 %x, [%o+128];\nst.global.u32 [%o], %x;\n"));
  lost.in(std::vector<uint32_t>(4)).out(256).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(lost.finding().code, "RUN0021");
}

TEST(Wide, OwnSharedMemoryThroughTheCluster) {
  Kernel kernel(
      kernel_of("mov.u32 %x, tile;\nst.shared::cluster.u32 [%x], 41;\natom.shared::cluster.add.u32 %r0, [%x], 1;\n"
                "ld.shared.u32 %x, [%x];\nst.global.u32 [%o], %x;\n"));
  kernel.in(std::vector<uint32_t>(4)).out(4).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>()[0], 42u);
}

TEST(Wide, RegistersOfThePlainLaunch) {
  Kernel kernel(
      kernel_of("mov.b32 %x, %envreg0;\nst.global.u32 [%o], %x;\nmov.u64 %d0, %current_graph_exec;\n"
                "st.global.u64 [%o+8], %d0;\nmov.b32 %x, %reserved_smem_offset_begin;\nst.global.u32 [%o+4], %x;\n"
                "mov.pred %p, %is_explicit_cluster;\nselp.u32 %x, 5, 6, %p;\nst.global.u32 [%o+16], %x;\n"
                "mov.u32 %x, %cluster_nctarank;\nst.global.u32 [%o+20], %x;\n"));
  kernel.in(std::vector<uint32_t>(4)).out(24).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{0, 0, 0, 0, 6, 1}));
}

TEST(Wide, ABreakpointEndsTheLaunch) {
  Kernel kernel(kernel_of("brkpt;\n"));
  kernel.in(std::vector<uint32_t>(4)).out(4).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.finding().code, "RUN0017");
}

}  // namespace
}  // namespace ptxlab::simt::test
