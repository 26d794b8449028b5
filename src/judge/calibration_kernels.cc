#include "judge/calibration_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace ptxlab::judge {
namespace {

using launch::ResolvedBuffer;

constexpr uint32_t kBlock = 256;
constexpr uint32_t kFmaCtas = 264;  // two for each SM of the largest GPUs; any number would do

// x is zeros, so that no gigabytes are sent; w, one float, differs in the second variant, and with it every output.
constexpr std::string_view kPtx = R"(.version 7.0
.target sm_70
.address_size 64

// y[i] = x[i] + w[0], four floats a thread
.visible .entry stream(.param .u64 x, .param .u64 w, .param .u64 y, .param .u32 work)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [work];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [w];
  ld.param.u64 %rd3, [y];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  mul.wide.u32 %rd4, %r4, 16;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd3, %rd4;
  ld.global.f32 %f5, [%rd2];
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
  add.rn.f32 %f1, %f1, %f5;
  add.rn.f32 %f2, %f2, %f5;
  add.rn.f32 %f3, %f3, %f5;
  add.rn.f32 %f4, %f4, %f5;
  st.global.v4.f32 [%rd6], {%f1, %f2, %f3, %f4};
DONE:
  ret;
}

// y[i] = a chain of `work` steps v = v * w[0] + v0
.visible .entry fma(.param .u64 x, .param .u64 w, .param .u64 y, .param .u32 work)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [work];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [w];
  ld.param.u64 %rd3, [y];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd3, %rd4;
  ld.global.f32 %f2, [%rd2];
  ld.global.f32 %f3, [%rd5];
  add.rn.f32 %f3, %f3, %f2;
  mov.f32 %f1, %f3;
LOOP:
  .pragma "nounroll";
  fma.rn.f32 %f1, %f1, %f2, %f3;
  sub.u32 %r5, %r5, 1;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra LOOP;
  st.global.f32 [%rd6], %f1;
  ret;
}
)";

std::string bytes_of(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

launch::ResolvedLaunch launch_of(CalibrationKernel kernel, uint32_t work) {
  launch::ResolvedLaunch launch;
  launch.entry = std::string(name_of(kernel));
  launch.block = {kBlock, 1, 1};
  launch.grid = {kernel == CalibrationKernel::fma ? kFmaCtas : (work - 1) / kBlock + 1, 1, 1};
  launch.parameters.assign(28, 0);
  std::memcpy(launch.parameters.data() + 24, &work, sizeof work);
  launch.pointers = {{0, 0, 0}, {8, 1, 0}, {16, 2, 0}};
  return launch;
}

}  // namespace

std::string_view name_of(CalibrationKernel kernel) {
  switch (kernel) {
    case CalibrationKernel::stream: return "stream";
    case CalibrationKernel::fma: return "fma";
  }
  return "";
}

std::string_view calibration_ptx() { return kPtx; }

uint32_t first_guess(CalibrationKernel kernel, double us) {
  // 32 bytes a step at 4 TB/s; about 20 cycles a step at 2 GHz. The first two microseconds are the launch itself.
  double steps = std::max(0.5, us - 2) * (kernel == CalibrationKernel::stream ? 125e3 : 100);
  return static_cast<uint32_t>(std::clamp(steps, 16.0, 4e8));
}

gpu::Contest calibration_contest(CalibrationKernel kernel, const std::string& code, uint32_t a, uint32_t b,
                                 uint64_t seed) {
  uint64_t floats = kernel == CalibrationKernel::fma ? uint64_t{kFmaCtas} * kBlock : uint64_t{4} * std::max({a, b, 1u});
  std::vector<ResolvedBuffer> buffers = {
      {"x", 4 * floats, ResolvedBuffer::Role::in, ResolvedBuffer::Init::zero},
      {"w", 4, ResolvedBuffer::Role::in, ResolvedBuffer::Init::data},
      {"y", 4 * floats, ResolvedBuffer::Role::out, ResolvedBuffer::Init::poison},
  };
  gpu::Contest contest;
  for (size_t arm = 0; arm < gpu::kArms; ++arm) {
    contest.sides[arm].code = code;
    contest.sides[arm].plan.buffers = buffers;
    contest.sides[arm].plan.launches = {launch_of(kernel, std::max(1u, arm == 0 ? a : b))};
  }
  contest.shared = 3;
  contest.contents = {"", bytes_of(0.5F), ""};
  contest.change = {1, 0, bytes_of(0.75F)};
  contest.seed = seed;
  contest.outputs = false;
  return contest;
}

}  // namespace ptxlab::judge
