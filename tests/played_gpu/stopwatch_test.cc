// The stopwatch with real PTX on the played GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine_device.h"
#include "gpu/worker/stopwatch.h"

namespace ptxlab::played {
namespace {

using gpu::Arm;
using gpu::Contest;
using gpu::Done;

constexpr uint32_t kElements = 1024;

// y[i] = x[i] + 1 with `body` between load and store, where %f1 is the sum.
std::string kernel(const std::string& body = "", const std::string& variables = "") {
  return ".version 7.0\n.target sm_70\n.address_size 64\n" + variables + R"(
.visible .entry k(.param .u64 x, .param .u64 y)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 256, %r2;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mul.wide.u32 %rd3, %r3, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f1, [%rd1];
  add.rn.f32 %f1, %f1, 0f3f800000;
)" + body +
         R"(
  st.global.f32 [%rd2], %f1;
END:
  ret;
}
)";
}

struct PlayedStopwatch : ::testing::Test {
  Contest contest;
  PlayedStopwatch() {
    using Role = launch::ResolvedBuffer::Role;
    using Init = launch::ResolvedBuffer::Init;
    std::vector<float> input(kElements);
    for (uint32_t i = 0; i < kElements; ++i) input[i] = std::sin(static_cast<float>(i));
    contest.contents = {std::string(reinterpret_cast<const char*>(input.data()), 4 * kElements), ""};
    for (auto& side : contest.sides) {
      side.code = kernel();
      side.plan.buffers = {{"x", 4 * kElements, Role::in, Init::data}, {"y", 4 * kElements, Role::out, Init::poison}};
      launch::ResolvedLaunch one;
      one.entry = "k";
      one.grid = {kElements / 256, 1, 1};
      one.block = {256, 1, 1};
      one.parameters.resize(16);
      one.pointers = {{0, 0, 0}, {8, 1, 0}};
      side.plan.launches = {one};
    }
    contest.shared = 2;
    contest.change = {0, 4000, std::string("\0\0\x80\x3f", 4)};
    contest.pairs = 6;
  }
  gpu::Measured measure(const std::string& b, const std::string& manners = "") {
    contest.sides[1].code = b;
    EngineDevice device(Manners::named(manners));
    gpu::Stopwatch stopwatch(device, contest);
    opened = stopwatch.open();
    EXPECT_EQ(opened.end, Done::End::executed) << opened.message;
    return stopwatch.measure({4, {}});
  }
  // The mean over pairs of log(tA / tB).
  static double ratio(const gpu::Measured& measured) {
    double sum = 0;
    size_t count = 0;
    for (const auto& epoch : measured.epochs)
      for (const auto& pair : epoch.pairs) sum += std::log(pair.microseconds[0] / pair.microseconds[1]), ++count;
    return sum / static_cast<double>(count);
  }
  gpu::Opened opened;
};

TEST_F(PlayedStopwatch, TheSameKernelTwiceIsTheSame) {
  for (const char* manners : {"", "drift"}) {
    auto measured = measure(kernel(), manners);
    EXPECT_EQ(measured.end, Done::End::executed) << measured.message;
    EXPECT_TRUE(measured.mismatches.empty());
    EXPECT_NEAR(ratio(measured), 0, 0.005) << manners;
  }
}

TEST_F(PlayedStopwatch, MoreInstructionsTakeLonger) {
  auto measured = measure(kernel("  add.u32 %r4, %r3, 1;\n  add.u32 %r5, %r4, 2;\n  add.u32 %r6, %r5, 3;\n"));
  EXPECT_TRUE(measured.mismatches.empty());
  EXPECT_LT(ratio(measured), -0.01);
}

// The baseline's right answer of a moment ago does not help: outputs are poisoned in between.
TEST_F(PlayedStopwatch, AKernelThatCountsItsLaunchesAndStopsWorkingIsSeen) {
  auto lazy = kernel(R"(
  mov.u64 %rd4, calls;
  atom.global.add.u32 %r4, [%rd4], 1;
  setp.ge.u32 %p1, %r4, 40960;  // forty launches
  @%p1 bra END;
)",
                     ".global .u32 calls;\n");
  auto measured = measure(lazy);
  ASSERT_FALSE(measured.mismatches.empty());
  for (const auto& mismatch : measured.mismatches) EXPECT_EQ(mismatch.arm, Arm::b);
}

TEST_F(PlayedStopwatch, AFaultIsTheArmsThatDidIt) {
  contest.sides[1].code = kernel("  mov.u64 %rd5, 64;\n  st.global.f32 [%rd5], %f1;\n");
  EngineDevice device(Manners{});
  gpu::Stopwatch stopwatch(device, contest);
  opened = stopwatch.open();
  EXPECT_EQ(opened.end, Done::End::faulted);
  EXPECT_EQ(opened.arm, Arm::b);
  EXPECT_NE(opened.message.find("ILLEGAL_ADDRESS"), std::string::npos);
}

TEST_F(PlayedStopwatch, HeatIsTold) {
  auto measured = measure(kernel(), "throttle");
  ASSERT_FALSE(measured.epochs.empty());
  EXPECT_NE(measured.epochs.back().after.throttle.value_or(0) & gpu::kThrottling, 0u);
}

}  // namespace
}  // namespace ptxlab::played
