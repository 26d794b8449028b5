// The estimate has to order pairs whose order is known: fewer and wider accesses, coalescing, occupancy, and stay near
// what was measured for the scalar vector add.
#include "estimate/cost.h"

#include <gtest/gtest.h>

#include "estimate/hardware.h"

namespace ptxlab::estimate {
namespace {

const isa::Target kHopper{90, 'a'};

ptx::Statement instruction(std::vector<std::string> words) {
  ptx::Instruction made;
  made.words = std::move(words);
  ptx::Statement statement;
  statement.what = std::move(made);
  return statement;
}

// A straight kernel: `loads` global loads, arithmetic, a store; every warp runs each once.
struct Kernel {
  ptx::Function function;
  analysis::FunctionProfile counts;

  void add(std::vector<std::string> words, uint64_t warps, uint64_t sectors_a_warp = 0) {
    function.body.push_back(instruction(std::move(words)));
    counts.statements.push_back({warps, warps * 32, warps * sectors_a_warp, sectors_a_warp ? warps : 0, 0, 0, 0});
  }
  LaunchCost launch(uint64_t run, uint64_t total, int threads = 256, int registers = 32) const {
    return {&function, &counts, run, total, threads, registers, 0, 0};
  }
};

// Vector add with `width` floats a thread, `sectors` sectors a warp and access.
Kernel vector_add(int width, uint64_t sectors) {
  Kernel k;
  const uint64_t warps = 8;
  for (int i = 0; i < 8; ++i) k.add({"add", ".s64"}, warps);
  k.add({"ld", ".global", ".f32"}, warps, sectors);
  k.add({"ld", ".global", ".f32"}, warps, sectors);
  for (int i = 0; i < width; ++i) k.add({"add", ".f32"}, warps);
  k.add({"st", ".global", ".f32"}, warps, sectors);
  k.add({"ret"}, warps);
  return k;
}

TEST(Cost, ScalarVectorAddIsNearItsMeasuredTime) {
  const uint64_t elements = uint64_t{1} << 28;
  auto k = vector_add(1, 4);
  auto estimate = cost(k.launch(1, elements / 256), kHopper);
  const double measured_ns = 12.0 * static_cast<double>(elements) / 3430;  // 3.43 TB/s on an H200
  EXPECT_GT(estimate.nanoseconds, 0.8 * measured_ns);
  EXPECT_LT(estimate.nanoseconds, 1.2 * measured_ns);
}

TEST(Cost, FourNeighboursAThreadBeatOne) {
  const uint64_t elements = uint64_t{1} << 28;
  auto one = vector_add(1, 4), four = vector_add(4, 16);
  auto slow = cost(one.launch(1, elements / 256), kHopper);
  auto fast = cost(four.launch(1, elements / 1024), kHopper);
  EXPECT_LT(fast.nanoseconds, 0.95 * slow.nanoseconds);
  EXPECT_DOUBLE_EQ(fast.sectors, slow.sectors);
  // And no faster than memory allows.
  EXPECT_GT(fast.nanoseconds, 12.0 * static_cast<double>(elements) / hardware_of(kHopper).dram_gbs);
  EXPECT_EQ(fast.bound_by, "memory");
}

TEST(Cost, UncoalescedIsSlower) {
  auto good = vector_add(1, 4), bad = vector_add(1, 32);
  EXPECT_LT(4 * cost(good.launch(1, 1 << 20), kHopper).nanoseconds, cost(bad.launch(1, 1 << 20), kHopper).nanoseconds);
}

TEST(Cost, FewWarpsCannotHideLatency) {
  auto k = vector_add(1, 4);
  auto many = cost(k.launch(1, 1 << 18, 256, 32), kHopper);
  auto few = cost(k.launch(1, 1 << 18, 256, 255), kHopper);
  EXPECT_LT(few.occupancy, many.occupancy);
  EXPECT_GT(few.nanoseconds, 1.5 * many.nanoseconds);
  EXPECT_EQ(few.bound_by, "latency");
}

TEST(Cost, ArithmeticIsBoundByIssue) {
  Kernel k;
  for (int i = 0; i < 4000; ++i) k.add({"fma", ".rn", ".f32"}, 8);
  auto estimate = cost(k.launch(1, 100000), kHopper);
  EXPECT_EQ(estimate.bound_by, "issue");
  Kernel doubles;
  for (int i = 0; i < 4000; ++i) doubles.add({"fma", ".rn", ".f64"}, 8);
  const isa::Target gaming{86, 0};
  EXPECT_GT(cost(doubles.launch(1, 1000), gaming).nanoseconds, 10 * cost(k.launch(1, 1000), gaming).nanoseconds);
}

TEST(Cost, WhatIsReadAgainComesFromL2) {
  auto k = vector_add(1, 4);
  auto launch = k.launch(1, 1 << 20);
  auto once = cost(launch, kHopper);
  launch.footprint_bytes = 12ull * 256 * (1 << 20) / 2;  // half of what is touched
  EXPECT_LT(cost(launch, kHopper).nanoseconds, once.nanoseconds);
}

TEST(Cost, AnEmptyLaunchCostsItsOverhead) {
  Kernel k;
  k.add({"ret"}, 1);
  auto estimate = cost(k.launch(1, 1, 32), kHopper);
  EXPECT_GE(estimate.nanoseconds, hardware_of(kHopper).launch_ns);
  EXPECT_LT(estimate.nanoseconds, 2 * hardware_of(kHopper).launch_ns);
  EXPECT_EQ(estimate.bound_by, "launch");
  auto launch = k.launch(1, 1, 32);
  LaunchCost twice[] = {launch, launch};
  EXPECT_NEAR(cost(twice, kHopper).nanoseconds, 2 * estimate.nanoseconds, 1);
}

TEST(Cost, EveryTargetHasADevice) {
  for (int sm : {50, 80, 86, 89, 90, 100, 103, 110, 120}) {
    const auto& h = hardware_of({static_cast<uint16_t>(sm), 0});
    EXPECT_GT(h.sms, 0);
    EXPECT_GT(h.dram_gbs, 0);
  }
  EXPECT_EQ(hardware_of({90, 'a'}).device, "H200");
  EXPECT_EQ(hardware_of({87, 0}).device, "RTX 3090");
}

}  // namespace
}  // namespace ptxlab::estimate
