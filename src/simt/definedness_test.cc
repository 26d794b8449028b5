// Undefined bits: where they have to stop mattering, and where they have to arrive.
#include <gtest/gtest.h>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

using Init = launch::ResolvedBuffer::Init;

// One thread; %u is an undefined b32, %w an undefined b64, %h an undefined b16, %k a defined 0x12345678. `body` computes
// %d (b32) from them. The result's undefined bits.
uint32_t undefined_bits(const std::string& body) {
  Kernel kernel(
      ".visible .entry k(.param .u64 out)\n{\n  .reg .pred %p, %q;\n  .reg .b16 %h, %g;\n  .reg .b32 %u, %k, %d, %x;\n"
      "  .reg .f32 %f;\n  .reg .b64 %w, %o, %y;\n  .shared .align 16 .b8 s[64];\n  ld.param.u64 %o, [out];\n  mov.u32 "
      "%k, 0x12345678;\n" +
      body + "  st.global.u32 [%o], %d;\n  ret;\n}\n");
  kernel.out(4).shape({1, 1, 1}, {1, 1, 1});
  RunReport report = kernel.run();
  EXPECT_TRUE(report.completed);
  for (const auto& f : report.findings) EXPECT_EQ(f.code, "RUN0021") << f.message;
  uint32_t undefined = 0;
  const auto& defined = kernel.memory.allocation(0).defined;
  for (int i = 0; i < 4; ++i) undefined |= static_cast<uint32_t>(static_cast<uint8_t>(~defined[i])) << (8 * i);
  EXPECT_EQ(undefined != 0, !report.findings.empty());
  return undefined;
}

TEST(Definedness, LogicMasksBits) {
  EXPECT_EQ(undefined_bits("  mov.b32 %d, %u;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  and.b32 %d, %u, 0xff;\n"), 0xffu);
  EXPECT_EQ(undefined_bits("  or.b32 %d, %u, 0xffff0000;\n"), 0xffffu);
  EXPECT_EQ(undefined_bits("  and.b32 %d, %u, 0;\n"), 0u);
  EXPECT_EQ(undefined_bits("  xor.b32 %d, %k, %k;\n"), 0u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xf0;\n  xor.b32 %d, %x, %k;\n"), 0xf0u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xf0;\n  lop3.b32 %d, %x, %k, %k, 0x96;\n"), 0xf0u);
}

TEST(Definedness, ShiftsMoveBits) {
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  shl.b32 %d, %x, 8;\n"), 0xff00u);
  EXPECT_EQ(undefined_bits("  shr.u32 %d, %u, 24;\n"), 0xffu);
  EXPECT_EQ(undefined_bits("  shr.s32 %d, %u, 24;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  shl.b32 %d, %u, 40;\n"), 0u);
  EXPECT_EQ(undefined_bits("  shl.b32 %d, %k, %u;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  shf.l.wrap.b32 %d, %x, %k, 8;\n"), 0u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  shf.r.wrap.b32 %d, %k, %x, 8;\n"), 0xff000000u);
}

TEST(Definedness, SumsCarryUpwards) {
  EXPECT_EQ(undefined_bits("  shl.b32 %x, %u, 16;\n  add.u32 %d, %x, %k;\n"), 0xffff0000u);
  EXPECT_EQ(undefined_bits("  shl.b32 %x, %u, 16;\n  mad.lo.u32 %d, %x, 3, %k;\n"), 0xffff0000u);
  EXPECT_EQ(undefined_bits("  shl.b32 %x, %u, 16;\n  mul.hi.u32 %d, %x, %k;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  mov.b32 %f, %u;\n  add.f32 %f, %f, 0f3f800000;\n  mov.b32 %d, %f;\n"), 0xffffffffu);
}

TEST(Definedness, PackingKeepsHalvesApart) {
  EXPECT_EQ(undefined_bits("  cvt.u16.u32 %g, %k;\n  mov.b32 %d, {%g, %h};\n"), 0xffff0000u);
  EXPECT_EQ(
      undefined_bits("  cvt.u16.u32 %g, %k;\n  mov.b32 %x, {%g, %h};\n  mov.b32 {%g, _}, %x;\n  cvt.u32.u16 %d, %g;\n"),
      0u);
  EXPECT_EQ(undefined_bits("  mov.b64 %y, {%k, %u};\n  mov.b64 {%d, %x}, %y;\n"), 0u);
  EXPECT_EQ(undefined_bits("  mov.b64 %y, {%k, %u};\n  cvt.u32.u64 %d, %y;\n"), 0u);
  EXPECT_EQ(undefined_bits("  mov.b64 %y, {%k, %u};\n  shr.u64 %y, %y, 32;\n  cvt.u32.u64 %d, %y;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  prmt.b32 %d, %k, %u, 0x5410;\n"), 0xffff0000u);
  EXPECT_EQ(undefined_bits("  prmt.b32 %d, %k, %u, 0x3210;\n"), 0u);
  EXPECT_EQ(undefined_bits("  prmt.b32 %x, %k, %u, 0x5410;\n  add.f16x2 %d, %x, %x;\n"), 0xffff0000u);
  EXPECT_EQ(undefined_bits("  cvt.u16.u32 %g, %k;\n  mov.b32 %x, {%g, %h};\n  fma.rn.bf16x2 %d, %x, %k, %k;\n"),
            0xffff0000u);
}

TEST(Definedness, FieldsAreExact) {
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  bfe.u32 %d, %x, 4, 8;\n"), 0xfu);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  bfe.u32 %d, %x, 8, 8;\n"), 0u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  bfe.s32 %d, %x, 0, 8;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  bfi.b32 %d, %u, %k, 8, 8;\n"), 0xff00u);
  EXPECT_EQ(undefined_bits("  bfi.b32 %d, %k, %u, 0, 16;\n"), 0xffff0000u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xff;\n  brev.b32 %d, %x;\n"), 0xff000000u);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0x7f;\n  cvt.s32.s8 %d, %x;\n"), 0x7fu);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0x80;\n  cvt.s32.s8 %d, %x;\n"), 0xffffff80u);
  EXPECT_EQ(undefined_bits("  cvt.u32.u16 %d, %h;\n"), 0xffffu);
}

TEST(Definedness, SelectionLooksAtTheChosen) {
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %p, %k, 0x12345678;\n  selp.b32 %d, %k, %u, %p;\n"), 0u);
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %p, %k, 0;\n  selp.b32 %d, %k, %u, %p;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %p, %u, 0;\n  selp.b32 %d, 5, 4, %p;\n"), 1u);
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %p, %u, 0;\n  selp.b32 %d, 5, 5, %p;\n"), 0u);
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %q, %k, 0;\n  setp.eq.and.u32 %p, %u, 0, %q;\n  selp.b32 %d, 5, 4, %p;\n"),
            0u);
  EXPECT_EQ(
      undefined_bits(
          "  setp.eq.u32 %q, %k, 0;\n  setp.eq.u32 %p, %u, 0;\n  and.pred %p, %p, %q;\n  selp.b32 %d, 5, 4, %p;\n"),
      0u);
  EXPECT_EQ(
      undefined_bits(
          "  setp.eq.u32 %q, %k, 0;\n  setp.eq.u32 %p, %u, 0;\n  or.pred %p, %p, %q;\n  selp.b32 %d, 5, 4, %p;\n"),
      1u);
}

TEST(Definedness, MemoryKeepsBits) {
  EXPECT_EQ(undefined_bits("  st.shared.u8 [s+1], %k;\n  ld.shared.u32 %d, [s];\n"), 0xffff00ffu);
  EXPECT_EQ(undefined_bits("  st.shared.u16 [s+2], %k;\n  ld.shared.u16 %d, [s+2];\n"), 0u);
  EXPECT_EQ(undefined_bits("  ld.shared.u8 %d, [s];\n"), 0xffu);
  EXPECT_EQ(undefined_bits("  ld.shared.s8 %d, [s];\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  and.b32 %x, %u, 0xf;\n  st.shared.u32 [s], %x;\n  ld.shared.u32 %d, [s];\n"), 0xfu);
  EXPECT_EQ(undefined_bits("  st.shared.v2.u32 [s], {%k, %u};\n  ld.shared.v2.u32 {%d, %x}, [s];\n"), 0u);
  EXPECT_EQ(undefined_bits("  st.shared.v2.u32 [s], {%k, %u};\n  ld.shared.v2.u32 {%x, %d}, [s];\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  st.shared.u32 [s], %u;\n  st.shared.u32 [s], %k;\n  ld.shared.u32 %d, [s];\n"), 0u);
}

TEST(Definedness, CarriesAreTracked) {
  EXPECT_EQ(undefined_bits("  add.cc.u32 %x, %u, 1;\n  addc.u32 %d, 0, 0;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  add.cc.u32 %x, %k, 1;\n  addc.u32 %d, 0, 0;\n"), 0u);
}

TEST(Definedness, LoopsOverwriteRegisters) {
  // Registers of an earlier CTA do not count as written in the next one.
  Kernel kernel(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %c, %v;
  .reg .b64 %o, %d;
  mov.u32 %c, %ctaid.x;
  setp.eq.u32 %p, %c, 7;
  @!%p mov.u32 %v, 1;
  ld.param.u64 %o, [out];
  mul.wide.u32 %d, %c, 4;
  add.u64 %o, %o, %d;
  st.global.u32 [%o], %v;
  ret;
})");
  kernel.out(40).shape({10, 1, 1}, {1, 1, 1});
  auto f = kernel.finding();
  EXPECT_EQ(f.code, "RUN0021");
  EXPECT_EQ(f.severity, base::Severity::warning);
  const auto& defined = kernel.memory.allocation(0).defined;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(defined[4 * i], i == 7 ? 0 : 0xff);
}

TEST(Definedness, TheUnwrittenTailOfARowShows) {
  // A padded row whose tail nobody writes, times zero: the sum is undefined although the factor is 0.
  std::string text = R"(
.visible .entry k(.param .u64 in, .param .u32 valid, .param .u64 out)
{
  .shared .align 4 .b8 row[128];
  .reg .pred %p;
  .reg .f32 %v, %m, %w;
  .reg .b32 %t, %n, %a, %x;
  .reg .b64 %s, %d, %o;
  ld.param.u64 %s, [in];
  ld.param.u32 %n, [valid];
  ld.param.u64 %d, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %a, row;
  mad.lo.u32 %a, %t, 4, %a;
  setp.ge.u32 %p, %t, %n;
CLEAR
  @%p bra LOADED;
  mul.wide.u32 %o, %t, 4;
  add.s64 %s, %s, %o;
  ld.global.f32 %v, [%s];
  st.shared.f32 [%a], %v;
LOADED:
  bar.sync 0;
  ld.shared.f32 %v, [%a];
  selp.f32 %m, 0f00000000, 0f3f800000, %p;
  mul.f32 %v, %v, %m;
  mov.b32 %x, %v;
  shfl.sync.bfly.b32 %x, %x, 16, 31, -1;
  mov.b32 %w, %x;
  add.f32 %v, %v, %w;
  setp.ne.u32 %p, %t, 0;
  @%p ret;
  st.global.f32 [%d], %v;
  ret;
})";
  auto prepared = [&](const std::string& clear, uint32_t valid) {
    Kernel kernel(std::string(text).replace(text.find("CLEAR"), 5, clear));
    kernel.in(std::vector<float>(32, 1.0f)).value(valid).out(4).shape({1, 1, 1}, {32, 1, 1});
    return kernel;
  };
  Kernel bad = prepared("", 10);
  EXPECT_EQ(bad.finding().code, "RUN0021");
  EXPECT_EQ(bad.memory.allocation(1).defined[0], 0);
  EXPECT_EQ(prepared("", 32).result<float>(), (std::vector<float>{2.0f}));
  EXPECT_EQ(prepared("  st.shared.u32 [%a], 0;", 10).result<float>(), (std::vector<float>{1.0f}));
}

TEST(Definedness, UndefinedShuffleSourceAndVote) {
  EXPECT_EQ(undefined_bits("  shfl.sync.idx.b32 %d, %u, 0, 31, 1;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  setp.eq.u32 %p, %u, 0;\n  vote.sync.ballot.b32 %d, %p, 1;\n"), 0xffffffffu);
  EXPECT_EQ(undefined_bits("  redux.sync.add.u32 %d, %k, 1;\n"), 0u);
}

}  // namespace
}  // namespace ptxlab::simt::test
