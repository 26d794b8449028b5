// Where the bytes of an access come from, by the worked-out cases.
#include "estimate/trace.h"

#include <gtest/gtest.h>

#include <array>

namespace ptxlab::estimate {
namespace {

struct Recorded {  // a trace with one CTA of two warps
  LaunchTrace trace;
  Tracer tracer;
  bool not_into_l1 = false;  // of the accesses that follow
  explicit Recorded(uint64_t l1 = 16 * 1024, uint64_t l2 = 64 * 1024, uint64_t steps = 1000)
      : tracer(trace, {l1, l2}, steps) {
    trace.buffers.resize(2);
    trace.ctas_total = 1;
    tracer.begin_cta(2, false);
  }
  AccessCost access(uint64_t start, uint64_t stride, uint32_t bytes, bool write = false, bool atomic = false,
                    isa::Space space = isa::Space::global, uint32_t active = ~0u) {
    std::array<uint64_t, 32> addresses{};
    for (uint64_t l = 0; l < 32; ++l) addresses[l] = start + l * stride;
    tracer.step(0, 7);
    Tracer::Event event;
    event.active = active;
    event.bytes = bytes;
    event.address = addresses.data();
    event.space = space;
    event.write = write;
    event.atomic = atomic;
    event.not_into_l1 = not_into_l1;
    tracer.access(event);
    return trace.ctas.back().accesses.back();
  }
};

TEST(Trace, NeighboursShareALineAndComeOnceFromDram) {
  Recorded s;
  auto first = s.access(4096, 4, 4);
  EXPECT_EQ(first.wavefronts, 1);
  EXPECT_EQ(first.ideal, 1);
  EXPECT_EQ(first.l2_sectors, 4);
  EXPECT_EQ(first.cold_sectors, 4);
  EXPECT_EQ(s.trace.buffers[0].cold_read, 4u);
  auto again = s.access(4096, 4, 4);
  EXPECT_EQ(again.l1_sectors, 4);
  EXPECT_EQ(again.l2_sectors, 0);
}

// .L1::no_allocate: what is read a second time comes from L2 again, unless another access has brought it in.
TEST(Trace, WhatIsKeptOutOfL1IsNotFoundThereAgain) {
  Recorded s;
  s.not_into_l1 = true;
  s.access(4096, 4, 4);
  auto again = s.access(4096, 4, 4);
  EXPECT_EQ(again.l1_sectors, 0);
  EXPECT_EQ(again.l2_sectors, 4);
  s.not_into_l1 = false;
  s.access(4096, 4, 4);
  s.not_into_l1 = true;
  EXPECT_EQ(s.access(4096, 4, 4).l1_sectors, 4);
}

TEST(Trace, ScatteredLanesTakeALineEach) {
  Recorded s;
  auto cost = s.access(0, 128, 4);
  EXPECT_EQ(cost.wavefronts, 32);
  EXPECT_EQ(cost.ideal, 1);
  EXPECT_EQ(cost.l2_sectors, 32);
  EXPECT_EQ(cost.cold_sectors, 64);    // DRAM gives two sectors at once
  auto beside = s.access(32, 128, 4);  // and the second is in L2 when it is asked for
  EXPECT_EQ(beside.l2_sectors, 32);
  EXPECT_EQ(beside.cold_sectors, 0);
  EXPECT_EQ(s.access(4, 128, 4).l1_sectors, 32);
}

TEST(Trace, WideAccessesGoByParts) {
  Recorded s;
  auto cost = s.access(0, 16, 16);
  EXPECT_EQ(cost.wavefronts, 4);
  EXPECT_EQ(cost.ideal, 4);
  EXPECT_EQ(cost.l2_sectors, 16);
}

TEST(Trace, WhatDoesNotFitIntoTheShareOfL1ComesFromL2AndThenFromDram) {
  Recorded s(1024, 4096);
  s.access(0, 4, 4);
  for (uint64_t at = 128; at < 2048; at += 128) s.access(at, 4, 4);
  auto from_l2 = s.access(0, 4, 4);
  EXPECT_EQ(from_l2.l2_sectors, 4);
  EXPECT_EQ(from_l2.cold_sectors + from_l2.dram_sectors, 0);
  for (uint64_t at = 128; at < 16384; at += 128) s.access(at, 4, 4);
  auto from_dram = s.access(0, 4, 4);
  EXPECT_EQ(from_dram.dram_sectors, 4);
  EXPECT_EQ(from_dram.cold_sectors, 0);  // this CTA has had it before
}

TEST(Trace, StoresGoToL2AndOnceToDram) {
  Recorded s;
  auto first = s.access(0, 4, 4, true);
  EXPECT_TRUE(first.write);
  EXPECT_EQ(first.l2_sectors, 4);
  EXPECT_EQ(first.cold_sectors, 4);
  auto again = s.access(0, 4, 4, true);
  EXPECT_EQ(again.l2_sectors, 4);
  EXPECT_EQ(again.cold_sectors, 0);
  EXPECT_EQ(s.trace.buffers[0].cold_written, 4u);
}

TEST(Trace, AtomicsCollideAtOneAddress) {
  Recorded s;
  EXPECT_EQ(s.access(0, 4, 4, true, true).collisions, 1);
  EXPECT_EQ(s.access(0, 0, 4, true, true).collisions, 32);
  EXPECT_EQ(s.trace.hottest_atomics, 33u);
  EXPECT_FALSE(s.trace.hottest_shared);
  s.tracer.begin_cta(2, false);
  s.access(0, 0, 4, true, true, isa::Space::global, 1);
  EXPECT_EQ(s.trace.hottest_atomics, 34u);
  EXPECT_TRUE(s.trace.hottest_shared);
}

TEST(Trace, ThreadMemoryIsLaidOutByLanes) {
  Recorded s;
  auto same_word = s.access(64, 0, 4, true, false, isa::Space::local);
  EXPECT_EQ(same_word.wavefronts, 1);
  auto different = s.access(0, 4, 4, false, false, isa::Space::local);
  EXPECT_EQ(different.wavefronts, 32);
}

TEST(Trace, LongTracesAreCutButCounted) {
  Recorded s(1024, 4096, 20);  // ten a warp
  for (int i = 0; i < 25; ++i) s.access(static_cast<uint64_t>(i) * 128, 4, 4);
  EXPECT_EQ(s.trace.ctas[0].steps, 25u);
  EXPECT_EQ(s.trace.ctas[0].recorded, 10u);
  EXPECT_EQ(s.trace.ctas[0].accesses.size(), 10u);
  EXPECT_EQ(s.trace.buffers[0].cold_read, 100u);
}

}  // namespace
}  // namespace ptxlab::estimate
