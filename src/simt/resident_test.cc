// CTAs that wait for one another: whichever begins first, the one that it waits for gets its turn.
#include <gtest/gtest.h>

#include "simt/run_kernel.h"

namespace ptxlab::simt {
namespace {

using test::Kernel;

// Every CTA waits for its predecessor's sum, adds its own number and hands it on.
const char* const kChain = R"(
.visible .entry k(.param .u64 sums)
{
  .reg .pred %p;
  .reg .b32 %c, %v, %t;
  .reg .b64 %s, %o, %f;
  ld.param.u64 %s, [sums];
  cvta.to.global.u64 %s, %s;
  mov.u32 %c, %ctaid.x;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p bra BEHIND;
  mul.wide.u32 %o, %c, 4;
  add.u64 %s, %s, %o;
  mov.u32 %v, 1;
  setp.eq.u32 %p, %c, 0;
  @%p bra OWN;
WAIT:
  ld.acquire.gpu.global.u32 %v, [%s+-4];
  setp.eq.u32 %p, %v, 0;
  @%p bra WAIT;
OWN:
  add.u32 %v, %v, 1;
  st.release.gpu.global.u32 [%s], %v;
BEHIND:
  bar.sync 0;
  ret;
}
)";

TEST(Resident, AChainOfCtasEndsInEveryOrder) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Kernel kernel(kChain);
    kernel.options.seed = seed;
    kernel.options.budget = 20'000'000;
    kernel.out(64 * 4, launch::ResolvedBuffer::Init::zero).shape({64, 1, 1}, {96, 1, 1});
    auto sums = kernel.result<uint32_t>();
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(sums[i], i + 2) << "seed " << seed;
  }
}

// A barrier of the whole grid, as cooperative groups make it: an atomic counts, a volatile load waits. Shared memory and
// registers of a CTA that rests stay its own.
TEST(Resident, ABarrierOfTheGrid) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Kernel kernel(R"(
.visible .entry k(.param .u64 counter, .param .u64 out)
{
  .shared .align 4 .b8 own[128];
  .reg .pred %p;
  .reg .b32 %c, %n, %v, %t, %a, %old;
  .reg .b64 %s, %o, %q;
  ld.param.u64 %s, [counter];
  ld.param.u64 %q, [out];
  cvta.to.global.u64 %s, %s;
  cvta.to.global.u64 %q, %q;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %nctaid.x;
  mov.u32 %t, %tid.x;
  mov.u32 %a, own;
  mad.lo.u32 %a, %t, 4, %a;
  mad.lo.u32 %v, %c, 100, %t;
  st.shared.u32 [%a], %v;
  bar.sync 0;
  setp.ne.u32 %p, %t, 0;
  @%p bra JOIN;
  membar.gl;
  atom.global.add.u32 %old, [%s], 1;
WAIT:
  ld.volatile.global.u32 %old, [%s];
  setp.lt.u32 %p, %old, %n;
  @%p bra WAIT;
  membar.gl;
JOIN:
  bar.sync 0;
  ld.shared.u32 %v, [%a];
  mad.lo.u32 %c, %c, 32, %t;
  mul.wide.u32 %o, %c, 4;
  add.u64 %q, %q, %o;
  st.global.u32 [%q], %v;
  ret;
}
)");
    kernel.options.seed = seed;
    kernel.options.budget = 3'000'000;
    kernel.out(4, launch::ResolvedBuffer::Init::zero).out(32 * 32 * 4).shape({32, 1, 1}, {32, 1, 1});
    auto out = kernel.result<uint32_t>();
    for (uint32_t i = 0; i < 32 * 32; ++i) ASSERT_EQ(out[i], i / 32 * 100 + i % 32) << "seed " << seed;
  }
}

TEST(Resident, AWaitForNobodyEnds) {
  Kernel kernel(kChain);
  kernel.options.budget = 200'000;
  kernel.options.ctas = {3};  // without its predecessor
  kernel.out(64 * 4, launch::ResolvedBuffer::Init::zero).shape({64, 1, 1}, {32, 1, 1});
  EXPECT_EQ(kernel.finding().code, "RUN0007");
}

}  // namespace
}  // namespace ptxlab::simt
