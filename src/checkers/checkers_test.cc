// The checkers fed with events by hand: what each says is tried here for every way of ordering two accesses, without an
// engine in between. Kernels with planted faults run through the engine in tests/cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "checkers/order_dependence.h"
#include "checkers/play.h"
#include "checkers/registry.h"
#include "checkers/unwritten.h"
#include "simt/memory.h"

namespace ptxlab::checkers {
namespace {

const std::vector<std::string> kStoreBarLoad = {"st.shared.u32", "bar.sync 0", "ld.shared.u32", "bar.warp.sync 0"};

TEST(Races, StoreAndLoadOfTwoWarpsWithoutABarrier) {
  Play play("races", 64, kStoreBarLoad);
  play.at(1, 3, 132);
  play.at(3, 40, 132);
  ASSERT_EQ(play.codes(), "CHK0001:3");
  const base::Finding finding = play.findings()[0];
  EXPECT_EQ(finding.message,
            "shared memory race: thread (3,0,0) and thread (40,0,0) of CTA (0,0,0) both reach byte 132 of 'tile', and "
            "nothing orders the first's store at line 1 and the second's load at line 3");
  EXPECT_NE(finding.hint.find("bar.sync"), std::string::npos);
}

TEST(Races, ABarrierOfTheCtaOrders) {
  Play play("races", 64, kStoreBarLoad);
  play.at(1, 3, 132);
  play.barrier(2, {0, 1});
  play.at(3, 40, 132);
  EXPECT_EQ(play.codes(), "");
}

TEST(Races, TheOrderOfTheRunDoesNotMatter) {
  Play play("races", 64, kStoreBarLoad);
  play.at(3, 40, 132);
  play.at(1, 3, 132);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, NoBarrierOnTheWayBackOfALoop) {
  Play play("races", 64, kStoreBarLoad);
  for (int turn = 0; turn < 2; ++turn) {
    play.at(1, 3, 0, 7 + turn);
    play.barrier(2, {0, 1});
    play.at(3, 40, 0);
  }
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, LanesOfAWarpNeedAWarpBarrier) {
  Play without("races", 64, kStoreBarLoad);
  without.at(1, 3, 0);
  without.at(3, 4, 0);
  EXPECT_EQ(without.codes(), "CHK0001:3");
  EXPECT_NE(without.findings()[0].hint.find("bar.warp.sync"), std::string::npos);

  Play with("races", 64, kStoreBarLoad);
  with.at(1, 3, 0);
  with.warp_sync(4, 0);
  with.at(3, 4, 0);
  EXPECT_EQ(with.codes(), "");
  with.at(3, 40, 0);  // the warp barrier says nothing to the other warp
  EXPECT_EQ(with.codes(), "CHK0001:3");
}

TEST(Races, AWarpBarrierOrdersItsMembersOnly) {
  Play play("races", 64, kStoreBarLoad);
  play.at(1, 3, 0);
  play.warp_sync(4, 0, 0x0000000f);
  play.at(3, 2, 0);
  EXPECT_EQ(play.codes(), "");
  play.at(3, 9, 0);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, EveryReaderIsRememberedBesideWarpBarriers) {
  Play play("races", 96, kStoreBarLoad);
  play.at(3, 1, 0);
  play.at(3, 70, 0);  // unordered with the store below
  play.at(3, 2, 0);
  play.at(3, 3, 0);
  play.warp_sync(4, 0);
  play.at(1, 0, 0);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, ShuffleDoesNotOrderMemory) {
  Play play("races", 32, {"st.shared.u32", "shfl.sync.bfly.b32 0,0,0,0,0", "ld.shared.u32", "bar.warp.sync 0"});
  play.at(1, 3, 0);
  play.warp_sync(2, 0);
  play.at(3, 4, 0);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, BarriersOfSomeThreadsOrderThoseThreads) {
  Play play("races", 96, {"st.shared.u32", "bar.sync 1,64", "ld.shared.u32"});
  play.at(1, 0, 0);
  play.barrier(2, {0, 1}, 1);
  play.at(3, 40, 0);
  EXPECT_EQ(play.codes(), "");
  play.at(3, 80, 0);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, ArrivingReleasesAndDoesNotAcquire) {
  const std::vector<std::string> kernel = {"st.shared.u32", "bar.arrive 1,64", "bar.sync 1,64", "ld.shared.u32"};
  Play play("races", 64, kernel);
  play.at(1, 0, 0);    // the producer, warp 0
  play.at(1, 40, 64);  // the consumer's own store
  play.arrive(2, 0, 1);
  play.arrive(3, 1, 1);
  play.complete(3, 1, 1);
  play.at(4, 41, 0);
  EXPECT_EQ(play.codes(), "");
  play.at(4, 1, 64);  // the producer has not waited for the consumer
  EXPECT_EQ(play.codes(), "CHK0001:4");
}

TEST(Races, KnowledgeTravelsOverSeveralBarriers) {
  Play play("races", 96, {"st.shared.u32", "bar.sync 1,64", "ld.shared.u32", "bar.sync 2,64"});
  play.at(1, 0, 0);
  play.barrier(2, {0, 1}, 1);
  play.barrier(4, {1, 2}, 2);
  play.at(3, 80, 0);
  EXPECT_EQ(play.codes(), "");
  play.at(1, 80, 128);
  play.at(3, 40, 128);
  EXPECT_EQ(play.codes(), "CHK0001:3");
}

TEST(Races, LanesOfOneStore) {
  Play play("races", 64, kStoreBarLoad);
  auto zero = [](int) { return uint64_t{0}; };
  play.lanes(1, 0, ~0u, zero, [](int) { return 5u; });
  EXPECT_EQ(play.codes(), "");
  play.lanes(
      1, 1, 3, [](int) { return uint64_t{8}; }, [](int lane) { return 5u + lane; });
  ASSERT_EQ(play.codes(), "CHK0002:1");
  EXPECT_NE(play.findings()[0].message.find("lanes of one store disagree"), std::string::npos);
}

TEST(Races, TheSameValueByTwoWarpsIsHarmless) {
  Play play("races", 64, kStoreBarLoad);
  play.at(1, 0, 0, 5);
  play.at(1, 32, 0, 5);
  EXPECT_EQ(play.codes(), "");
  play.at(1, 33, 0, 6);
  EXPECT_EQ(play.codes(), "CHK0001:1");
}

TEST(Races, NeighbouringBytesAreApart) {
  Play play("races", 64, {"st.shared.u8", "ld.shared.u16", "ld.shared.u32"});
  play.at(1, 0, 0, 5, 1);
  play.at(1, 40, 1, 6, 1);
  play.at(2, 41, 2, 0, 2);
  EXPECT_EQ(play.codes(), "");
  play.at(2, 33, 0, 0, 2);
  EXPECT_EQ(play.codes(), "CHK0001:2");
}

TEST(Races, FinerCellsKeepWhatWordsKnew) {
  Play play("races", 64, {"st.shared.u32", "st.shared.u8"});
  play.at(1, 0, 0, 5);
  play.at(2, 40, 3, 6, 1);
  EXPECT_EQ(play.codes(), "CHK0001:2");
}

TEST(Races, VectorsTouchAllTheirWords) {
  Play play("races", 64, {"st.shared.v4.u32", "ld.shared.u32"});
  play.at(1, 0, 16, 5, 16);
  play.at(2, 40, 32);
  EXPECT_EQ(play.codes(), "");
  play.at(2, 40, 28);
  EXPECT_EQ(play.codes(), "CHK0001:2");
}

TEST(Races, AtomicsRaceWithPlainAccessesOnly) {
  Play play("races", 64, {"atom.shared.add.u32", "ld.shared.u32", "bar.sync 0", "st.shared.u32"});
  play.at(4, 0, 0, 0);
  play.barrier(3, {0, 1});
  play.at(1, 1, 0, 1);
  play.at(1, 40, 0, 2);
  play.at(1, 2, 0, 3);
  EXPECT_EQ(play.codes(), "");
  play.at(2, 41, 0);
  EXPECT_EQ(play.codes(), "CHK0001:2");
}

TEST(Races, AtomicsRaceWithAnEarlierStore) {
  Play play("races", 64, {"atom.shared.add.u32", "st.shared.u32"});
  play.at(2, 0, 0, 0);
  play.at(1, 40, 0, 1);
  EXPECT_EQ(play.codes(), "CHK0001:2");
}

TEST(Races, VolatileAccessesDoNotRaceWithEachOther) {
  Play play("races", 64, {"st.volatile.shared.u32", "ld.volatile.shared.u32"});
  play.at(1, 0, 0);
  play.at(2, 40, 0);
  EXPECT_EQ(play.codes(), "");
}

TEST(Races, AFlagWithFencesOrders) {
  const std::vector<std::string> kernel = {"st.shared.u32", "membar.cta", "st.volatile.shared.u32",
                                           "ld.volatile.shared.u32", "ld.shared.u32"};
  Play play("races", 64, kernel);
  play.at(1, 0, 0);
  play.fence(2, 0);
  play.at(3, 0, 64);
  play.at(4, 40, 64);
  play.fence(2, 40);
  play.at(5, 40, 0);
  EXPECT_EQ(play.codes(), "");

  Play unfenced("races", 64, kernel);
  unfenced.at(1, 0, 0);
  unfenced.at(3, 0, 64);
  unfenced.at(4, 40, 64);
  unfenced.fence(2, 40);
  unfenced.at(5, 40, 0);
  EXPECT_EQ(unfenced.codes(), "CHK0001:5");
}

TEST(Races, FencesOfAWarpBeforeItsBarrierCountForTheLaneThatSetsTheFlag) {
  Play play("races", 64,
            {"st.shared.u32", "membar.cta", "bar.warp.sync 0", "st.volatile.shared.u32", "ld.volatile.shared.u32",
             "ld.shared.u32"});
  play.at(1, 7, 0);
  play.fence(2, 7);
  play.fence(2, 0);
  play.warp_sync(3, 0);
  play.at(4, 0, 64);
  play.at(5, 40, 64);
  play.fence(2, 40);
  play.at(6, 40, 0);
  EXPECT_EQ(play.codes(), "");
}

TEST(Races, ReleaseAndAcquireOrder) {
  Play play("races", 64, {"st.shared.u32", "st.release.cta.shared.u32", "ld.acquire.cta.shared.u32", "ld.shared.u32"});
  play.at(1, 0, 0);
  play.at(2, 0, 64);
  play.at(3, 40, 64);
  play.at(4, 40, 0);
  EXPECT_EQ(play.codes(), "");
  play.at(4, 41, 0);
  EXPECT_EQ(play.codes(), "CHK0001:4");
}

TEST(Races, CtasHaveWindowsOfTheirOwn) {
  Play play("races", 64, kStoreBarLoad, 2);
  play.at(1, 0, 0, 1, 4, 0);
  play.at(3, 40, 0, 1, 4, 1);
  EXPECT_EQ(play.codes(), "");
  play.next_launch();
  play.at(1, 50, 0, 9, 4, 0);
  EXPECT_EQ(play.codes(), "");
}

TEST(Races, PairsOfSitesAreCountedNotRepeated) {
  Play play("races", 64, kStoreBarLoad);
  for (uint32_t i = 0; i < 32; ++i) play.at(1, i, 4 * i);
  for (uint32_t i = 0; i < 32; ++i) play.at(3, 32 + i, 4 * i);
  ASSERT_EQ(play.codes(), "CHK0001:3");
  EXPECT_NE(play.findings()[0].message.find("32 times in all"), std::string::npos);
}

const std::vector<std::string> kGlobal = {"st.global.u32",       "ld.global.u32", "membar.gl",
                                          "atom.global.add.u32", "bar.sync 0",    "membar.cta"};

TEST(Conflicts, TwoCtasStoreDifferentValues) {
  Play play("conflicts", 32, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(1, 0, 16, 2, 4, 1);
  ASSERT_EQ(play.codes(), "CHK0003:1");
  EXPECT_NE(play.findings()[0].message.find("byte 16 of 'x'"), std::string::npos);
}

TEST(Conflicts, TwoCtasStoreTheSameValue) {
  Play play("conflicts", 32, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(1, 0, 16, 1, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(Conflicts, OneCtaReadsWhatAnotherStores) {
  Play play("conflicts", 64, kGlobal, 3);
  play.at(2, 0, 16, 0, 4, 0);
  play.at(2, 32, 16, 0, 4, 0);
  play.at(2, 5, 16, 0, 4, 2);
  play.barrier(5, {0, 1}, 0, 0);
  play.at(1, 1, 16, 7, 4, 0);
  EXPECT_EQ(play.codes(), "CHK0003:2");
}

TEST(Conflicts, LaunchesAreOrdered) {
  Play play("conflicts", 32, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.next_launch();
  play.at(2, 0, 16, 1, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(Conflicts, InsideACtaABarrierIsNeeded) {
  Play play("conflicts", 64, kGlobal);
  play.at(1, 0, 16);
  play.barrier(5, {0, 1});
  play.at(2, 40, 16);
  EXPECT_EQ(play.codes(), "");
  play.at(1, 0, 32);
  play.at(2, 40, 32);
  EXPECT_EQ(play.codes(), "CHK0004:2");
}

TEST(Conflicts, AtomicsOfCtasDoNotConflict) {
  Play play("conflicts", 32, kGlobal, 2);
  play.at(4, 0, 16, 1, 4, 0);
  play.at(4, 0, 16, 2, 4, 1);
  EXPECT_EQ(play.codes(), "");
  play.at(2, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0003:4");
  play.at(2, 3, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0004:4 CHK0003:4");
}

// Every CTA leaves a partial sum and takes a ticket; the last one adds up.
TEST(Conflicts, TheLastCtaMayReadWhatTheTicketHandsOn) {
  Play play("conflicts", 64, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.fence(3, 0, 0);
  play.at(4, 0, 256, 1, 4, 0);
  play.fence(3, 0, 1);
  play.at(4, 0, 256, 2, 4, 1);
  play.fence(3, 0, 1);
  play.barrier(5, {0, 1}, 0, 1);
  play.at(2, 40, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(Conflicts, FencesOfAllThreadsBeforeABarrierCountForTheOneWithTheTicket) {
  Play play("conflicts", 64, kGlobal, 2);
  play.at(1, 40, 16, 1, 4, 0);
  play.fence(3, 0, 0);
  play.fence(3, 40, 0);
  play.barrier(5, {0, 1}, 0, 0);
  play.at(4, 0, 256, 1, 4, 0);
  play.at(4, 0, 256, 2, 4, 1);
  play.barrier(5, {0, 1}, 0, 1);
  play.at(2, 50, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(Conflicts, ATicketWithoutAFenceHandsNothingOn) {
  Play play("conflicts", 64, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(4, 0, 256, 1, 4, 0);
  play.at(4, 0, 256, 2, 4, 1);
  play.fence(3, 0, 1);
  play.at(2, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0003:2");
}

TEST(Conflicts, AFenceOfCtaScopeDoesNotReachAnotherCta) {
  Play play("conflicts", 64, kGlobal, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.fence(6, 0, 0);
  play.at(4, 0, 256, 1, 4, 0);
  play.at(4, 0, 256, 2, 4, 1);
  play.fence(3, 0, 1);
  play.at(2, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0003:2");
}

// Whole warps side by side are looked at 32 bytes at a time; the same accesses with a lane that comes by itself are looked
// at lane by lane. Both must say the same of any history.
TEST(Conflicts, SideBySideIsWhatLaneByLaneIs) {
  const std::vector<std::string> kernel = {
      "st.global.u16",    "ld.global.u16",    "st.global.u32",    "ld.global.u32", "st.global.v2.u32",
      "ld.global.v2.u32", "st.global.v4.u32", "ld.global.v4.u32", "bar.sync 0",    "bar.warp.sync 0"};
  size_t silent = 0, loud = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const bool partial = seed % 3 == 0;
    std::vector<std::string> lines = kernel;
    if (!partial) lines.pop_back();
    Play fast("conflicts", 64, lines, 3), slow("conflicts", 64, lines, 3);
    base::Random random(seed);
    for (int step = 0; step < 8; ++step) {
      const auto cta = static_cast<uint32_t>(random.below(3)), warp = static_cast<uint32_t>(random.below(2));
      if (random.below(4) == 0) {
        fast.barrier(9, {0, 1}, 0, cta), slow.barrier(9, {0, 1}, 0, cta);
        continue;
      }
      const auto line = static_cast<uint32_t>(1 + random.below(8));
      const uint32_t bytes = 2u << (line - 1) / 2;
      // Places that overlap now and then, some of them off a segment's begin; each CTA prefers its own.
      const uint64_t start =
          (random.below(5) ? 1024 * cta : 0) + 64 * random.below(4) + (random.below(6) ? 0 : 2 * bytes);
      auto address = [&](int lane) { return start + static_cast<uint64_t>(lane) * bytes; };
      auto value = [&](int) { return static_cast<uint32_t>(1000 * seed + static_cast<uint64_t>(step)); };
      fast.lanes(line, warp, ~0u, address, value, bytes, cta);
      slow.lanes(line, warp, ~0u >> 1, address, value, bytes, cta);
      slow.lanes(line, warp, 1u << 31, address, value, bytes, cta);
    }
    auto codes = [](const Play& play) {
      std::set<std::string> out;
      for (const auto& f : play.findings()) out.insert(f.code);
      return out;
    };
    EXPECT_EQ(codes(fast), codes(slow)) << "seed " << seed;
    ++(codes(fast).empty() ? silent : loud);
  }
  EXPECT_GT(silent, 30u);
  EXPECT_GT(loud, 30u);
}

TEST(Conflicts, ReadOnlyBuffersAreNotWatched) {
  Play play("conflicts", 32, kGlobal, 2);
  play.use_input();
  play.at(2, 0, 16, 0, 4, 0);
  play.at(1, 0, 16, 1, 4, 1);  // the engine reports this store
  EXPECT_EQ(play.codes(), "");
}

TEST(Unwritten, CountsElementsWithUndefinedBytes) {
  simt::Memory memory;
  simt::Allocation& buffer = memory.allocation(memory.allocate("y", 32, launch::ResolvedBuffer::Init::poison));
  auto all = unwritten_elements(buffer, 4);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->count, 8u);
  std::fill(buffer.defined.begin(), buffer.defined.end(), uint8_t{0xff});
  EXPECT_FALSE(unwritten_elements(buffer, 4));
  buffer.defined[13] = 0;
  buffer.defined[31] = 0x7f;
  auto some = unwritten_elements(buffer, 4);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->count, 2u);
  EXPECT_EQ(some->first, 3u);
  EXPECT_EQ(some->last, 7u);
  EXPECT_EQ(unwritten_elements(buffer, 4, 4)->count, 1u);
}

TEST(Order, ComparesWhatIsDefined) {
  std::vector<uint8_t> one = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, other = one, all(12, 0xff), some = all;
  EXPECT_FALSE(order_dependence("y", {one, all}, {other, {}}, 4));
  other[4] = 7;
  auto found = order_dependence("y", {one, all}, {other, all}, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "CHK0007");
  EXPECT_EQ(found->severity, base::Severity::warning);
  EXPECT_NE(found->message.find("1 of 3 elements of 'y'"), std::string::npos) << found->message;
  EXPECT_NE(found->message.find("element 1 is 0x00000002 and 0x00000007"), std::string::npos) << found->message;
  some[4] = 0;
  EXPECT_FALSE(order_dependence("y", {one, some}, {other, some}, 4));  // undefined in both
  EXPECT_TRUE(order_dependence("y", {one, all}, {one, some}, 4));      // in one of them only
}

TEST(Registry, NamesAreKnownAndAgree) {
  for (const Checker& checker : all_checkers()) {
    EXPECT_EQ(checker.make()->name(), checker.name);
    EXPECT_EQ(checker_named(checker.name), &checker);
    EXPECT_FALSE(checker.description.empty());
  }
  EXPECT_EQ(checker_named("race"), nullptr);
}

}  // namespace
}  // namespace ptxlab::checkers
