// Kernels that call functions: what these cost counts where they are called, wherever they stand in the text.
#include "subject.h"

namespace ptxlab::test {
namespace {

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";
const std::string kPrototype = ".func (.param .b32 result) halve(.param .b32 of);\n";
const std::string kFunction = R"(
.func (.param .b32 result) halve(.param .b32 of)
{
  .reg .f32 %f<3>;
  ld.param.f32 %f1, [of];
  mul.rn.f32 %f2, %f1, 0f3f000000;
  st.param.f32 [result], %f2;
  ret;
}
)";
const std::string kKernel = R"(
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<5>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  {
    .param .b32 from;
    .param .b32 to;
    st.param.f32 [from], %f1;
    call.uni (to), halve, (from);
    ld.param.f32 %f2, [to];
  }
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%rd3], %f3;
  ret;
}
)";

TEST(Calls, CountWhereverTheFunctionStands) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  const std::string plan =
      "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"k\"\ngrid = [\"4096\"]\nblock = [256]\nargs = [\"x\"]\n";
  const Setting setting{{}, {}, {{"x", 4 << 20, true}}};
  const isa::Target target{80, 0};
  const auto before = estimate(kHead + kFunction + kKernel, plan, setting, target);
  const auto behind = estimate(kHead + kPrototype + kKernel + kFunction, plan, setting, target);
  EXPECT_GT(before.nanoseconds, 0);
  EXPECT_NEAR(behind.nanoseconds / before.nanoseconds, 1, 0.01) << describe(before) << describe(behind);
}

}  // namespace
}  // namespace ptxlab::test
