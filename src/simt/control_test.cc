// Divergence, loops, exits, meetings of lanes, barriers, calls, order.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

// A kernel of one output buffer: `body` leaves thread i's result in %v (u32); %t is the thread's number in its CTA.
std::string one_output(const std::string& declarations, const std::string& body, const std::string& before = "") {
  return before +
         ".visible .entry k(.param .u64 out)\n{\n  .reg .pred %p, %q;\n  .reg .b32 %t, %v, %i, %x, %y, %c, %n;\n"
         "  .reg .b64 %o, %d;\n" +
         declarations + "  mov.u32 %t, %tid.x;\n" + body +
         "  ld.param.u64 %o, [out];\n  cvta.to.global.u64 %o, %o;\n  mov.u32 %c, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n"
         "  mad.lo.u32 %c, %c, %n, %t;\n  mul.wide.u32 %d, %c, 4;\n  add.u64 %o, %o, %d;\n  st.global.u32 [%o], %v;\n  "
         "ret;\n}\n";
}
std::vector<uint32_t> run(const std::string& text, uint32_t threads, uint64_t seed = 1, uint32_t ctas = 1) {
  Kernel kernel(text);
  kernel.out(uint64_t{threads} * ctas * 4).shape({ctas, 1, 1}, {threads, 1, 1});
  kernel.options.seed = seed;
  return kernel.result<uint32_t>();
}

TEST(Control, NestedBranchesMeetAgain) {
  std::string text = one_output("", R"(
  and.b32 %x, %t, 1;
  setp.eq.u32 %p, %x, 0;
  mov.u32 %v, 0;
  @%p bra EVEN;
  and.b32 %x, %t, 2;
  setp.eq.u32 %q, %x, 0;
  @%q bra ONE;
  add.u32 %v, %v, 3;
  bra JOIN;
ONE:
  add.u32 %v, %v, 1;
  bra JOIN;
EVEN:
  add.u32 %v, %v, 10;
JOIN:
  activemask.b32 %x;
  popc.b32 %x, %x;
  mad.lo.u32 %v, %x, 100, %v;
)");
  auto v = run(text, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], 3200 + (t % 2 == 0 ? 10 : t & 2 ? 3 : 1)) << t;
}

TEST(Control, LoopsRunTheirOwnTripCounts) {
  auto v = run(one_output("", R"(
  mov.u32 %v, 0;
  mov.u32 %i, 0;
LOOP:
  setp.ge.u32 %p, %i, %t;
  @%p bra OUT;
  add.u32 %v, %v, %i;
  add.u32 %i, %i, 1;
  bra LOOP;
OUT:
)"),
               40);
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(v[t], t * (t - 1) / 2) << t;
}

TEST(Control, GuardedExitLeavesTheOthers) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %t;
  .reg .b64 %o, %d;
  mov.u32 %t, %tid.x;
  ld.param.u64 %o, [out];
  mul.wide.u32 %d, %t, 4;
  add.u64 %o, %o, %d;
  and.b32 %t, %t, 1;
  setp.eq.u32 %p, %t, 1;
  @%p exit;
  mov.u32 %t, 7;
  st.global.u32 [%o], %t;
  bar.sync 0;
  ret;
})");
  kernel.out(64 * 4, launch::ResolvedBuffer::Init::zero).shape({1, 1, 1}, {64, 1, 1});
  auto v = kernel.result<uint32_t>();
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], t % 2 ? 0u : 7u);
}

TEST(Control, SpinLockBetweenLanesMakesProgress) {
  std::string text = R"(
.visible .entry k(.param .u64 lock, .param .u64 sum)
{
  .reg .pred %p;
  .reg .b32 %old, %v, %t;
  .reg .b64 %l, %s;
  ld.param.u64 %l, [lock];
  ld.param.u64 %s, [sum];
  mov.u32 %t, %tid.x;
SPIN:
  atom.global.cas.b32 %old, [%l], 0, 1;
  setp.ne.u32 %p, %old, 0;
  @%p bra SPIN;
  ld.volatile.global.u32 %v, [%s];
  add.u32 %v, %v, %t;
  st.volatile.global.u32 [%s], %v;
  membar.gl;
  atom.global.exch.b32 %old, [%l], 0;
  ret;
})";
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Kernel kernel(text);
    kernel.out(4, launch::ResolvedBuffer::Init::zero).out(4, launch::ResolvedBuffer::Init::zero);
    kernel.shape({1, 1, 1}, {96, 1, 1});
    kernel.options.seed = seed;
    kernel.options.budget = 10'000'000;
    EXPECT_EQ(kernel.result<uint32_t>()[0], 96u * 95 / 2);
  }
}

TEST(Control, ReductionThroughSharedMemory) {
  std::string text = one_output("  .shared .align 4 .b8 s[1024];\n", R"(
  mov.u32 %x, s;
  mad.lo.u32 %x, %t, 4, %x;
  st.shared.u32 [%x], %t;
  bar.sync 0;
  mov.u32 %i, 128;
LOOP:
  setp.ge.u32 %p, %t, %i;
  @%p bra SKIP;
  mad.lo.u32 %y, %i, 4, %x;
  ld.shared.u32 %v, [%y];
  ld.shared.u32 %n, [%x];
  add.u32 %v, %v, %n;
  st.shared.u32 [%x], %v;
SKIP:
  bar.sync 0;
  shr.u32 %i, %i, 1;
  setp.ne.u32 %q, %i, 0;
  @%q bra LOOP;
  ld.shared.u32 %v, [s];
)");
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(run(text, 256, seed, 3), std::vector<uint32_t>(768, 255 * 256 / 2));
}

TEST(Control, BarrierReductions) {
  auto v = run(one_output("", R"(
  setp.lt.u32 %p, %t, 40;
  bar.red.popc.u32 %v, 0, %p;
  bar.red.and.pred %q, 1, %p;
  selp.u32 %x, 1000, 0, %q;
  add.u32 %v, %v, %x;
  bar.red.or.pred %q, 1, !%p;
  selp.u32 %x, 2000, 0, %q;
  add.u32 %v, %v, %x;
)"),
               64);
  EXPECT_EQ(v, std::vector<uint32_t>(64, 2040));
}

TEST(Control, ArriveLetsProducersGoOn) {
  std::string text = one_output("  .shared .align 4 .b8 s[128];\n", R"(
  mov.u32 %v, 0;
  mov.u32 %x, s;
  setp.ge.u32 %p, %t, 32;
  @%p bra CONSUMER;
  mad.lo.u32 %x, %t, 4, %x;
  st.shared.u32 [%x], %t;
  bar.arrive 1, 64;
  bra JOIN;
CONSUMER:
  bar.sync 1, 64;
  sub.u32 %y, 63, %t;
  mad.lo.u32 %x, %y, 4, %x;
  ld.shared.u32 %v, [%x];
JOIN:
)");
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto v = run(text, 64, seed);
    for (uint32_t t = 32; t < 64; ++t) EXPECT_EQ(v[t], 63 - t);
  }
}

TEST(Control, UnalignedBarrierMeetsAtTwoPlaces) {
  auto v = run(one_output("", R"(
  and.b32 %x, %t, 1;
  setp.eq.u32 %p, %x, 0;
  @%p bra EVEN;
  barrier.sync 0;
  mov.u32 %v, 1;
  bra JOIN;
EVEN:
  barrier.sync 0;
  mov.u32 %v, 2;
JOIN:
)"),
               64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], t % 2 ? 1u : 2u);
}

TEST(Control, ShufflesOfEveryMode) {
  auto shuffled = [](const std::string& how) {
    return run(one_output("", "  add.u32 %x, %t, 100;\n  shfl.sync." + how +
                                  ";\n  selp.u32 %y, 1000, 0, %p;\n  add.u32 %v, %v, %y;\n"),
               32);
  };
  auto up = shuffled("up.b32 %v|%p, %x, 3, 0, -1"), down = shuffled("down.b32 %v|%p, %x, 3, 31, -1");
  auto butterfly = shuffled("bfly.b32 %v|%p, %x, 5, 31, -1"), index = shuffled("idx.b32 %v|%p, %x, 7, 0x181f, -1");
  auto segmented = shuffled("down.b32 %v|%p, %x, 4, 0x181f, -1");
  for (uint32_t l = 0; l < 32; ++l) {
    EXPECT_EQ(up[l], l >= 3 ? 1100 + l - 3 : 100 + l);
    EXPECT_EQ(down[l], l + 3 <= 31 ? 1100 + l + 3 : 100 + l);
    EXPECT_EQ(butterfly[l], 1100 + (l ^ 5));
    EXPECT_EQ(index[l], 1100 + (l & 24) + 7);  // segments of 8
    EXPECT_EQ(segmented[l], (l & 7) + 4 <= 7 ? 1100 + l + 4 : 100 + l);
  }
}

TEST(Control, LanesWaitForTheirMembers) {
  // Odd lanes come late; the two halves of the warp name themselves alone.
  auto v = run(one_output("", R"(
  and.b32 %x, %t, 1;
  setp.eq.u32 %p, %x, 0;
  @%p bra MEET;
  mov.u32 %i, 0;
LATE:
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, 50;
  @%q bra LATE;
MEET:
  setp.lt.u32 %q, %t, 16;
  selp.b32 %y, 0xffff, 0xffff0000, %q;
  vote.sync.ballot.b32 %v, %p, %y;
  redux.sync.add.u32 %x, %t, %y;
  add.u32 %v, %v, %x;
)"),
               32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t < 16 ? 0x5555u + 120 : 0x55550000u + 16 * 16 + 120) << t;
}

TEST(Control, VotesMatchesAndElections) {
  auto v = run(one_output("", R"(
  shr.u32 %x, %t, 3;
  match.any.sync.b32 %v, %x, -1;
  setp.lt.u32 %p, %t, 99;
  vote.sync.all.pred %q, %p, -1;
  selp.u32 %y, 0, 1, %q;
  or.b32 %v, %v, %y;
  match.all.sync.b32 %y|%p, %x, -1;
  @%p mov.u32 %v, 0;
  elect.sync %y|%p, -1;
  @%p mov.u32 %v, 12345;
)"),
               32);
  EXPECT_EQ(v[0], 12345u);
  for (uint32_t t = 1; t < 32; ++t) EXPECT_EQ(v[t], 0xffu << (t / 8 * 8));
}

TEST(Control, WarpBarriersAtTwoPlacesMeet) {
  auto v = run(one_output("  .shared .align 4 .b8 s[128];\n", R"(
  mov.u32 %x, s;
  setp.lt.u32 %p, %t, 16;
  @%p bra LOW;
  mad.lo.u32 %y, %t, 4, %x;
  st.shared.u32 [%y], %t;
  bar.warp.sync -1;
  mov.u32 %v, 0;
  bra JOIN;
LOW:
  bar.warp.sync -1;
  add.u32 %y, %t, 16;
  mad.lo.u32 %y, %y, 4, %x;
  ld.shared.u32 %v, [%y];
JOIN:
)"),
               32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t < 16 ? t + 16 : 0);
}

TEST(Control, CallsRecurseLaneByLane) {
  const char* factorial = R"(
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .pred %p;
  .reg .b32 %n, %m, %r;
  ld.param.u32 %n, [n];
  setp.lt.u32 %p, %n, 2;
  mov.u32 %r, 1;
  @%p bra DONE;
  sub.u32 %m, %n, 1;
  {
  .param .b32 arg;
  st.param.b32 [arg+0], %m;
  .param .b32 back;
  call.uni (back), factorial, (arg);
  ld.param.b32 %r, [back+0];
  }
  mul.lo.u32 %r, %r, %n;
DONE:
  st.param.b32 [result+0], %r;
  ret;
}
)";
  auto v = run(one_output("", R"(
  rem.u32 %x, %t, 11;
  {
  .param .b32 arg;
  st.param.b32 [arg+0], %x;
  .param .b32 back;
  call (back), factorial, (arg);
  ld.param.b32 %v, [back+0];
  }
)",
                          factorial),
               64);
  std::vector<uint32_t> f = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800};
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], f[t % 11]) << t;
}

TEST(Control, CallsThroughRegisterParameters) {
  const char* twice = ".func (.reg .u32 %r) twice(.reg .u32 %x)\n{\n  shl.b32 %r, %x, 1;\n  ret;\n}\n";
  auto v = run(one_output("", "  call (%v), twice, (%t);\n", twice), 33);
  for (uint32_t t = 0; t < 33; ++t) EXPECT_EQ(v[t], 2 * t);
}

TEST(Control, LocalMemoryIsEachThreadsOwn) {
  auto v = run(one_output("  .local .align 8 .b8 depot[64];\n  .reg .b64 %l, %g;\n", R"(
  mov.u64 %l, depot;
  cvta.local.u64 %g, %l;
  st.u32 [%g+8], %t;
  mul.lo.u32 %x, %t, 3;
  st.local.u32 [%l+12], %x;
  ld.local.v2.u32 {%x, %y}, [%l+8];
  add.u32 %v, %x, %y;
)"),
               64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(v[t], 4 * t);
}

TEST(Control, BranchesByIndex) {
  auto v = run(one_output("", R"(
  and.b32 %x, %t, 3;
  mov.u32 %v, 0;
TABLE: .branchtargets A, B, A, C;
  brx.idx %x, TABLE;
A:
  mov.u32 %v, 1;
  bra JOIN;
B:
  mov.u32 %v, 2;
  bra JOIN;
C:
  mov.u32 %v, 3;
JOIN:
)"),
               32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], (t & 3) == 1 ? 2u : (t & 3) == 3 ? 3u : 1u);
}

TEST(Control, SpecialRegisters) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %o, %d;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %tid.y;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %laneid;
  mov.u32 %r6, %lanemask_lt;
  popc.b32 %r6, %r6;
  sub.u32 %r6, %r6, %r5;
  mad.lo.u32 %r7, %r2, %r3, %r4;
  mad.lo.u32 %r7, %r7, 48, %r0;
  mad.lo.u32 %r7, %r1, 8, %r7;
  ld.param.u64 %o, [out];
  mul.wide.u32 %d, %r7, 4;
  add.u64 %o, %o, %d;
  add.u32 %r7, %r7, %r6;
  st.global.u32 [%o], %r7;
  ret;
})");
  kernel.out(6 * 48 * 4).shape({3, 2, 1}, {8, 6, 1});
  auto v = kernel.result<uint32_t>();
  for (uint32_t i = 0; i < v.size(); ++i) EXPECT_EQ(v[i], i);
}

// A kernel whose result depends on the order of its warps and CTAs.
TEST(Control, OrderIsDrawnFromTheSeed) {
  std::string text = R"(
.visible .entry k(.param .u64 next, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %t, %c, %i;
  .reg .b64 %n, %o, %d;
  mov.u32 %t, %tid.x;
  and.b32 %i, %t, 31;
  setp.ne.u32 %p, %i, 0;
  @%p ret;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, 1024, %t;
  ld.param.u64 %n, [next];
  ld.param.u64 %o, [out];
  atom.global.add.u32 %i, [%n], 1;
  mul.wide.u32 %d, %i, 4;
  add.u64 %o, %o, %d;
  st.global.u32 [%o], %t;
  ret;
})";
  auto order = [&](uint64_t seed) {
    Kernel kernel(text);
    kernel.out(4, launch::ResolvedBuffer::Init::zero).out(64 * 4, launch::ResolvedBuffer::Init::zero);
    kernel.shape({8, 1, 1}, {256, 1, 1});
    kernel.options.seed = seed;
    return kernel.result<uint32_t>();
  };
  auto one = order(1), again = order(1), other = order(2);
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  EXPECT_EQ(one, other);
}

TEST(Control, OnlyTheChosenCtasRun) {
  Kernel kernel(one_output("", "  mov.u32 %v, 1;\n"));
  kernel.out(4 * 4, launch::ResolvedBuffer::Init::zero).shape({4, 1, 1}, {1, 1, 1});
  kernel.options.ctas = {0, 3};
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{1, 0, 0, 1}));
}

TEST(Control, ModuleVariablesKeepTheirValues) {
  Kernel kernel(R"(
.global .align 4 .u32 served = 5;
.const .align 4 .u32 table[3] = {10, 20, 30};
.global .align 8 .u64 where = served;
.visible .entry k(.param .u64 out)
{
  .reg .b32 %v, %x;
  .reg .b64 %o, %w;
  ld.global.u32 %v, [served];
  ld.const.u32 %x, [table+8];
  add.u32 %x, %x, %v;
  add.u32 %v, %v, 1;
  ld.global.u64 %w, [where];
  st.global.u32 [%w], %v;
  ld.param.u64 %o, [out];
  st.global.u32 [%o], %x;
  ret;
})");
  kernel.out(4).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{35}));
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{36}));
}

TEST(Control, DynamicSharedMemoryFollowsTheStatic) {
  auto text = one_output("  .shared .align 4 .b8 fixed[8];\n", R"(
  mov.u32 %x, dynamic;
  mov.u32 %y, fixed;
  setp.eq.u32 %p, %x, %y;
  mad.lo.u32 %x, %t, 4, %x;
  st.shared.u32 [%x], %t;
  st.shared.u32 [fixed], %t;
  ld.shared.u32 %v, [%x];
  @%p mov.u32 %v, 99;
)",
                         ".extern .shared .align 16 .b8 dynamic[];\n");
  Kernel kernel(text);
  kernel.out(32 * 4).shape({1, 1, 1}, {32, 1, 1}, 128);
  auto v = kernel.result<uint32_t>();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t);
}

TEST(Control, AtomicsOfEveryKind) {
  auto updated = [](const std::string& op, uint32_t start, const std::string& operand) {
    Kernel kernel(R"(
.visible .entry k(.param .u64 at)
{
  .reg .b32 %t, %one;
  .reg .f32 %f;
  .reg .b64 %a;
  mov.u32 %t, %tid.x;
  mov.b32 %one, 0x00003c00;
  cvt.rn.f32.u32 %f, %t;
  ld.param.u64 %a, [at];
  )" + op + " [%a], " +
                  operand + ";\n  ret;\n}");
    kernel.in(std::vector<uint32_t>{start}, true).shape({2, 1, 1}, {48, 1, 1});
    return kernel.result<uint32_t>()[0];
  };
  EXPECT_EQ(updated("red.global.add.u32", 5, "%t"), 5 + 2 * 48 * 47 / 2);
  EXPECT_EQ(updated("red.global.max.u32", 5, "%t"), 47u);
  EXPECT_EQ(updated("red.global.min.s32", 5, "-7"), 0xfffffff9u);
  EXPECT_EQ(updated("red.global.or.b32", 0, "%t"), 63u);
  EXPECT_EQ(updated("red.global.and.b32", 0xff, "0xf0"), 0xf0u);
  EXPECT_EQ(updated("red.global.xor.b32", 3, "1"), 3u);
  EXPECT_EQ(updated("red.global.inc.u32", 0, "6"), 96 % 7);
  EXPECT_EQ(updated("red.global.dec.u32", 0, "6"), (7 - 96 % 7) % 7);
  EXPECT_EQ(updated("red.global.add.f32", 0, "%f"), std::bit_cast<uint32_t>(2.0f * 48 * 47 / 2));
  EXPECT_EQ(updated("red.global.add.noftz.f16x2", 0x3c003c00, "%one"), 0x3c005610u);
}

// Two tiles in flight; `wait` is the first wait, which has to leave one group pending.
std::string copies(const std::string& wait) {
  return R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .shared .align 16 .b8 s[1024];
  .reg .b32 %t, %x, %v, %w;
  .reg .b64 %a, %o, %d;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 16;
  ld.param.u64 %a, [in];
  add.u64 %a, %a, %d;
  mov.u32 %x, s;
  mad.lo.u32 %x, %t, 16, %x;
  cp.async.cg.shared.global [%x], [%a], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%x+512], [%a+512], 16, 4;
  cp.async.commit_group;
  )" + wait +
         R"(;
  bar.warp.sync -1;
  xor.b32 %x, %x, 16;
  ld.shared.u32 %v, [%x+4];
  cp.async.wait_all;
  bar.warp.sync -1;
  ld.shared.v2.u32 {%w, %t}, [%x+512];
  add.u32 %v, %v, %w;
  add.u32 %v, %v, %t;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4;
  ld.param.u64 %o, [out];
  add.u64 %o, %o, %d;
  st.global.u32 [%o], %v;
  ret;
})";
}
TEST(Control, AsynchronousCopiesLandAtTheWait) {
  std::vector<uint32_t> in(256);
  std::iota(in.begin(), in.end(), 1000);
  auto prepared = [&](const std::string& wait) {
    Kernel kernel(copies(wait));
    kernel.in(in).out(128).shape({1, 1, 1}, {32, 1, 1});
    return kernel;
  };
  auto v = prepared("cp.async.wait_group 1").result<uint32_t>();
  // Word 1 of the neighbour's first 16 bytes, and word 0 of its second; the rest of that is zero.
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], in[4 * (t ^ 1) + 1] + in[128 + 4 * (t ^ 1)]) << t;
  EXPECT_EQ(prepared("cp.async.wait_group 2").finding().code, "RUN0021");  // waits for too little
}

}  // namespace
}  // namespace ptxlab::simt::test
