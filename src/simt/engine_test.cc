#include "simt/engine.h"

#include <gtest/gtest.h>

#include <set>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

const char* const kVectorAdd = R"(
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p, %r1, %r2;
  @%p bra DONE;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2;
  add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3;
  add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
DONE:
  ret;
}
)";

TEST(Engine, AddsVectors) {
  std::vector<float> a(1000), b(1000);
  for (int i = 0; i < 1000; ++i) a[i] = 0.5f * i, b[i] = 1000.0f - i;
  Kernel kernel(kVectorAdd);
  kernel.in(a).in(b).out(4000).value(1000u).shape({8, 1, 1}, {128, 1, 1});
  auto c = kernel.result<float>();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(c[i], a[i] + b[i]) << i;
}

// Each warp of a CTA has a slot of its own, and which one says nothing of its number.
TEST(Engine, WarpSlotsAreNoThreadNumbers) {
  Kernel kernel(
      ".entry k(.param .u64 out) { .reg .b64 %rd<4>; .reg .b32 %r<6>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; "
      "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; "
      "add.u64 %rd3, %rd1, %rd2; mov.u32 %r5, %warpid; st.global.u32 [%rd3], %r5; ret; }");
  auto slots = kernel.out(4 * 4 * 256).shape({4, 1, 1}, {256, 1, 1}).result<uint32_t>();
  for (size_t cta = 0; cta < 4; ++cta) {
    std::set<uint32_t> used, low;
    for (size_t thread = 0; thread < 256; ++thread) {
      uint32_t slot = slots[cta * 256 + thread];
      EXPECT_LT(slot, 64U);
      EXPECT_EQ(slot, slots[cta * 256 + thread / 32 * 32]);  // one for the warp
      used.insert(slot);
      low.insert(slot % 8);
    }
    EXPECT_EQ(used.size(), 8U);
    EXPECT_LT(low.size(), 8U);
  }
}

}  // namespace
}  // namespace ptxlab::simt::test
