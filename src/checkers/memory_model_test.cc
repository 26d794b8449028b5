// Message passing under the memory model: a thread stores data and raises a flag, another one sees the flag and loads the
// data. Every way of releasing against every way of acquiring, inside a CTA and between CTAs, and scopes that are too
// narrow. Events are fed by hand; whole kernels stand in tests/cases/checkers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checkers/play.h"

namespace ptxlab::checkers {
namespace {

enum class Reach : uint8_t { never, cta, gpu };  // how far a pattern hands on, or takes

struct Pattern {
  std::vector<std::string> steps;  // of one thread, in order
  Reach reach;
};

const std::vector<Pattern> kReleases = {
    {{"st.release.gpu.global.u32"}, Reach::gpu},
    {{"st.release.sys.global.u32"}, Reach::gpu},
    {{"st.release.cta.global.u32"}, Reach::cta},
    {{"st.relaxed.gpu.global.u32"}, Reach::never},
    {{"st.volatile.global.u32"}, Reach::never},
    {{"fence.acq_rel.gpu", "st.relaxed.gpu.global.u32"}, Reach::gpu},
    {{"fence.sc.gpu", "st.relaxed.sys.global.u32"}, Reach::gpu},
    {{"fence.release.gpu", "st.relaxed.gpu.global.u32"}, Reach::gpu},
    {{"fence.gpu", "st.volatile.global.u32"}, Reach::gpu},
    {{"membar.gl", "st.volatile.global.u32"}, Reach::gpu},
    {{"membar.sys", "st.volatile.global.u32"}, Reach::gpu},
    {{"fence.acquire.gpu", "st.relaxed.gpu.global.u32"}, Reach::never},
    {{"fence.acq_rel.cta", "st.relaxed.gpu.global.u32"}, Reach::cta},
    {{"membar.cta", "st.volatile.global.u32"}, Reach::cta},
    {{"fence.acq_rel.gpu", "st.relaxed.cta.global.u32"}, Reach::cta},
    {{"fence.acq_rel.cluster", "st.relaxed.gpu.global.u32"}, Reach::cta},  // a cluster of one CTA
    {{"fence.proxy.async", "st.relaxed.gpu.global.u32"}, Reach::never},
    {{"st.relaxed.gpu.global.u32", "fence.acq_rel.gpu"}, Reach::never},  // the wrong way round
    {{"atom.release.gpu.global.add.u32"}, Reach::gpu},
    {{"atom.acq_rel.gpu.global.exch.b32"}, Reach::gpu},
    {{"red.release.gpu.global.add.u32"}, Reach::gpu},
    {{"atom.acquire.gpu.global.add.u32"}, Reach::never},
    {{"atom.global.add.u32"}, Reach::never},  // relaxed, gpu
    {{"fence.acq_rel.gpu", "atom.global.add.u32"}, Reach::gpu},
    {{"membar.gl", "red.global.add.u32"}, Reach::gpu},
    {{"st.release.gpu.global.u32", "st.relaxed.gpu.global.u32"}, Reach::gpu},  // a later strong store to the same place
    {{"atom.release.gpu.global.add.u32", "red.relaxed.gpu.global.add.u32"}, Reach::gpu},
};

const std::vector<Pattern> kAcquires = {
    {{"ld.acquire.gpu.global.u32"}, Reach::gpu},
    {{"ld.acquire.sys.global.u32"}, Reach::gpu},
    {{"ld.acquire.cta.global.u32"}, Reach::cta},
    {{"ld.relaxed.gpu.global.u32"}, Reach::never},
    {{"ld.volatile.global.u32"}, Reach::never},
    {{"ld.relaxed.gpu.global.u32", "fence.acq_rel.gpu"}, Reach::gpu},
    {{"ld.relaxed.gpu.global.u32", "fence.acquire.gpu"}, Reach::gpu},
    {{"ld.relaxed.gpu.global.u32", "fence.release.gpu"}, Reach::never},
    {{"ld.volatile.global.u32", "membar.gl"}, Reach::gpu},
    {{"ld.volatile.global.u32", "membar.cta"}, Reach::cta},
    {{"ld.relaxed.gpu.global.u32", "fence.acq_rel.cta"}, Reach::cta},
    {{"ld.relaxed.cta.global.u32", "fence.acq_rel.gpu"}, Reach::cta},
    {{"fence.acq_rel.gpu", "ld.relaxed.gpu.global.u32"}, Reach::never},
    {{"ld.relaxed.gpu.global.u32", "fence.acq_rel.cta", "fence.acq_rel.gpu"}, Reach::gpu},
    {{"atom.acquire.gpu.global.add.u32"}, Reach::gpu},
    {{"atom.acq_rel.cta.global.add.u32"}, Reach::cta},
    {{"atom.release.gpu.global.add.u32"}, Reach::never},
    {{"atom.global.cas.b32"}, Reach::never},
    {{"atom.global.cas.b32", "membar.gl"}, Reach::gpu},
};

bool narrow(const Pattern& pattern) {
  return std::any_of(pattern.steps.begin(), pattern.steps.end(), [](const std::string& step) {
    return step.rfind("fence", 0) != 0 && step.find(".cta.") != std::string::npos;
  });
}

std::string text_of(const Pattern& pattern) {
  std::string text;
  for (const std::string& step : pattern.steps) text += (text.empty() ? "" : "; ") + step;
  return text;
}

// The codes that the checker gives for the kernel "data; release || acquire; load".
std::string codes(const Pattern& release, const Pattern& acquire, bool one_cta) {
  std::vector<std::string> kernel = {"st.global.u32", "ld.global.u32"};
  kernel.insert(kernel.end(), release.steps.begin(), release.steps.end());
  kernel.insert(kernel.end(), acquire.steps.begin(), acquire.steps.end());
  Play play("conflicts", 64, kernel, 2);
  const uint32_t reader = one_cta ? 0 : 1, thread = one_cta ? 40 : 0;
  uint32_t line = 3;
  auto step = [&](const std::string& words, uint32_t who, uint32_t cta) {
    if (words.rfind("fence", 0) == 0 || words.rfind("membar", 0) == 0) {
      play.fence(line++, who, cta);
    } else {
      play.at(line++, who, 256, 1, 4, cta);
    }
  };
  play.at(1, 0, 16, 7, 4, 0);
  for (const std::string& words : release.steps) step(words, 0, 0);
  for (const std::string& words : acquire.steps) step(words, thread, reader);
  play.at(2, thread, 16, 0, 4, reader);
  std::string out;
  for (const base::Finding& finding : play.findings()) out += finding.code + " ";
  return out;
}

TEST(MemoryModel, EveryReleaseAgainstEveryAcquireInsideACta) {
  for (const Pattern& release : kReleases)
    for (const Pattern& acquire : kAcquires) {
      const bool ordered = release.reach != Reach::never && acquire.reach != Reach::never;
      EXPECT_EQ(codes(release, acquire, true), ordered ? "" : "CHK0004 ")
          << text_of(release) << "  ||  " << text_of(acquire);
    }
}

TEST(MemoryModel, EveryReleaseAgainstEveryAcquireBetweenCtas) {
  for (const Pattern& release : kReleases)
    for (const Pattern& acquire : kAcquires) {
      const bool ordered = release.reach == Reach::gpu && acquire.reach == Reach::gpu;
      const std::string found = codes(release, acquire, false);
      const std::string pair = text_of(release) + "  ||  " + text_of(acquire);
      EXPECT_EQ(found.find("CHK0003") == std::string::npos, ordered) << pair;
      EXPECT_EQ(found.find("CHK0006") != std::string::npos, narrow(release) || narrow(acquire))
          << pair << ": " << found;
    }
}

TEST(MemoryModel, StrongAccessesOfTheRightScopeNeverRace) {
  const char* const wide[] = {"st.relaxed.gpu.global.u32",      "st.volatile.global.u32",
                              "ld.acquire.gpu.global.u32",      "atom.global.add.u32",
                              "red.relaxed.sys.global.add.u32", "st.release.gpu.global.u32"};
  for (const char* one : wide)
    for (const char* other : wide) {
      Play play("conflicts", 32, {one, other}, 2);
      play.at(1, 0, 16, 1, 4, 0);
      play.at(2, 0, 16, 2, 4, 1);
      play.at(1, 1, 16, 3, 4, 1);
      EXPECT_EQ(play.codes(), "") << one << ", " << other;
    }
}

TEST(MemoryModel, AScopeOfTheCtaIsEnoughInsideIt) {
  Play play("conflicts", 64, {"atom.relaxed.cta.global.add.u32", "ld.relaxed.cta.global.u32"}, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(1, 40, 16, 2, 4, 0);
  play.at(2, 41, 16, 2, 4, 0);
  play.at(1, 0, 64, 1, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(MemoryModel, AtomicsOfCtaScopeFromTwoCtas) {
  Play play("conflicts", 64, {"atom.relaxed.cta.global.add.u32", "atom.global.add.u32"}, 2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(2, 0, 16, 2, 4, 1);  // one of the two being narrow is enough
  ASSERT_EQ(play.codes(), "CHK0006:2");
  const base::Finding finding = play.findings()[0];
  EXPECT_NE(finding.message.find("too narrow a scope"), std::string::npos) << finding.message;
  EXPECT_NE(finding.hint.find(".gpu"), std::string::npos) << finding.hint;
}

TEST(MemoryModel, LoadsOfNarrowScopeConflictWithStoresOnly) {
  Play play("conflicts", 64, {"ld.relaxed.cta.global.u32", "st.relaxed.gpu.global.u32"}, 3);
  play.at(1, 0, 16, 0, 4, 0);
  play.at(1, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "");
  play.at(2, 0, 16, 1, 4, 2);
  EXPECT_EQ(play.codes(), "CHK0006:2");
}

TEST(MemoryModel, ANarrowAccessThatIsOrderedOtherwise) {
  Play play("conflicts", 32,
            {"st.relaxed.cta.global.u32", "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32",
             "ld.relaxed.cta.global.u32"},
            2);
  play.at(1, 0, 16, 1, 4, 0);
  play.at(2, 0, 256, 1, 4, 0);
  play.at(3, 0, 256, 1, 4, 1);
  play.at(4, 0, 16, 1, 4, 1);
  EXPECT_EQ(play.codes(), "");
}

TEST(MemoryModel, ScopesOfAClusterTakeItsCtasIn) {
  const std::vector<std::string> kernel = {"st.global.u32", "ld.global.u32", "st.release.cluster.global.u32",
                                           "ld.acquire.cluster.global.u32"};
  for (bool inside : {true, false}) {
    Play play("conflicts", 32, kernel, 4);
    play.cluster({2, 1, 1});
    const uint32_t reader = inside ? 1 : 2;
    play.at(1, 0, 16, 1, 4, 0);
    play.at(3, 0, 256, 1, 4, 0);
    play.at(4, 0, 256, 1, 4, reader);
    play.at(2, 0, 16, 0, 4, reader);
    EXPECT_EQ(play.codes(), inside ? "" : "CHK0003:2 CHK0006:4");
  }
}

// a -> b -> c: what b learnt from a, it hands on with its own release.
TEST(MemoryModel, WhatWasLearntIsHandedOn) {
  for (const char* middle : {"ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32"}) {
    Play play("conflicts", 32,
              {"st.global.u32", "st.release.gpu.global.u32", middle, "ld.acquire.gpu.global.u32", "ld.global.u32"}, 3);
    play.at(1, 0, 16, 7, 4, 0);
    play.at(2, 0, 256, 1, 4, 0);
    play.at(3, 0, 256, 0, 4, 1);
    play.at(2, 0, 512, 1, 4, 1);
    play.at(4, 0, 512, 0, 4, 2);
    play.at(5, 0, 16, 0, 4, 2);
    EXPECT_EQ(play.codes(), std::string(middle).find("acquire") != std::string::npos ? "" : "CHK0003:5") << middle;
  }
}

// Read-modify-writes in between carry the release on; a plain strong store of somebody else ends it.
TEST(MemoryModel, AReleaseSequence) {
  for (const char* between : {"atom.global.add.u32", "red.global.add.u32", "st.relaxed.gpu.global.u32"}) {
    Play play("conflicts", 32,
              {"st.global.u32", "st.release.gpu.global.u32", between, "ld.acquire.gpu.global.u32", "ld.global.u32"}, 3);
    play.at(1, 0, 16, 7, 4, 0);
    play.at(2, 0, 256, 1, 4, 0);
    play.at(3, 0, 256, 2, 4, 1);
    play.at(4, 0, 256, 0, 4, 2);
    play.at(5, 0, 16, 0, 4, 2);
    EXPECT_EQ(play.codes(), std::string(between).rfind("st", 0) != 0 ? "" : "CHK0003:5") << between;
  }
}

// A CTA's leader waits for the flag, the others behind a barrier: all of them may load, and a leader that releases behind a
// barrier hands on what all of them stored.
TEST(MemoryModel, TheLeaderOfACtaSpeaksForAllBehindABarrier) {
  Play play("conflicts", 64,
            {"st.global.u32", "bar.sync 0", "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32", "ld.global.u32"},
            2);
  play.at(1, 40, 16, 7, 4, 0);
  play.barrier(2, {0, 1}, 0, 0);
  play.at(3, 0, 256, 1, 4, 0);
  play.at(4, 0, 256, 0, 4, 1);
  play.barrier(2, {0, 1}, 0, 1);
  play.at(5, 50, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "");

  Play without("conflicts", 64,
               {"st.global.u32", "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32", "ld.global.u32"}, 2);
  without.at(1, 40, 16, 7, 4, 0);
  without.at(2, 0, 256, 1, 4, 0);
  without.at(3, 0, 256, 0, 4, 1);
  without.at(4, 0, 16, 0, 4, 1);
  EXPECT_EQ(without.codes(), "CHK0003:4");
}

// A flag of 8 bytes, looked at by halves; and two flags side by side.
TEST(MemoryModel, FlagsOfOtherWidths) {
  Play play("conflicts", 32,
            {"st.global.u32", "st.release.gpu.global.u64", "ld.acquire.gpu.global.u32", "ld.global.u32"}, 2);
  play.at(1, 0, 16, 7, 4, 0);
  play.at(2, 0, 256, 1, 8, 0);
  play.at(3, 0, 260, 0, 4, 1);
  play.at(4, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0008:3");  // the model promises nothing, and GPUs keep it

  Play other("conflicts", 32,
             {"st.global.u32", "st.release.gpu.global.u8", "ld.acquire.gpu.global.u8", "ld.global.u32"}, 2);
  other.at(1, 0, 16, 7, 4, 0);
  other.at(2, 0, 256, 1, 1, 0);
  other.at(3, 0, 257, 0, 1, 1);
  other.at(4, 0, 16, 0, 4, 1);
  EXPECT_EQ(other.codes(), "CHK0003:4");
}

// Strong accesses of two sizes that share bytes: a mixed-size race by the memory model. Elements of vectors and of packed types
// count one by one.
TEST(MemoryModel, SizesOfStrongAccesses) {
  struct Pair {
    const char *one, *other;
    uint64_t bytes, others;
    bool mixed;
  };
  for (const Pair& pair : {
           Pair{"atom.global.add.u32", "ld.volatile.global.u64", 4, 8, true},
           Pair{"red.global.add.u32", "atom.global.cas.b64", 4, 8, true},
           Pair{"st.relaxed.gpu.global.u64", "ld.relaxed.gpu.global.u16", 8, 2, true},
           Pair{"ld.volatile.global.u64", "ld.volatile.global.u32", 8, 4, false},  // nobody stores
           Pair{"atom.global.add.u32", "ld.volatile.global.v2.u32", 4, 8, false},
           Pair{"st.volatile.global.v2.u64", "ld.relaxed.gpu.global.v4.u32", 16, 16, true},
           Pair{"red.global.add.noftz.f16x2", "red.global.add.noftz.f16", 4, 2, false},
           Pair{"red.global.add.noftz.f16x2", "atom.global.cas.b32", 4, 4, true},
           Pair{"atom.global.add.f32", "ld.acquire.gpu.global.b32", 4, 4, false},
       }) {
    for (const auto& [first, second] : {std::pair(0u, 1u), std::pair(1u, 0u)}) {  // whoever comes first
      Play play("conflicts", 64, {pair.one, pair.other}, 2);
      const uint64_t bytes[] = {pair.bytes, pair.others};
      play.at(first + 1, 0, 16, 1, static_cast<uint32_t>(bytes[first]), 0);
      play.at(second + 1, 0, 16, 2, static_cast<uint32_t>(bytes[second]), 1);
      EXPECT_EQ(play.codes(), pair.mixed ? "CHK0008:2" : "") << pair.one << " " << pair.other;
      for (const base::Finding& finding : play.findings()) EXPECT_EQ(finding.severity, base::Severity::warning);
    }
  }
}

TEST(MemoryModel, SizesDoNotMatterWhereABarrierOrders) {
  for (const std::string space : {"shared", "global"}) {
    for (bool barrier : {true, false}) {
      Play play(space == "shared" ? "races" : "conflicts", 64,
                {"atom." + space + ".add.u32", "bar.sync 0", "ld.volatile." + space + ".u64"});
      play.at(1, 0, 16, 1, 4, 0);
      if (barrier) play.barrier(2, {0, 1}, 0, 0);
      play.at(3, 40, 16, 2, 8, 0);
      EXPECT_EQ(play.codes(), barrier ? "" : "CHK0008:3") << space;
    }
  }
}

// The last of those who took a ticket sets it back by a plain store: its own atomic observed all the others.
TEST(MemoryModel, WhoSawAllAtomicsMayStorePlainly) {
  for (uint32_t resets : {2u, 1u}) {  // CTA 2 drew last, CTA 1 did not
    for (bool behind_barrier : {false, true}) {
      Play play("conflicts", 64, {"atom.global.add.u32", "bar.sync 0", "st.global.u32"}, 3);
      for (uint32_t cta : {0u, 1u, 2u}) play.at(1, 0, 16, cta + 1, 4, cta);
      if (behind_barrier) play.barrier(2, {0, 1}, 0, resets);
      play.at(3, behind_barrier ? 40 : 0, 16, 0, 4, resets);
      EXPECT_EQ(play.codes(), resets == 2 ? "" : "CHK0003:3") << behind_barrier;
    }
  }
  Play load("conflicts", 32, {"ld.relaxed.gpu.global.u32", "st.global.u32"}, 2);  // a load is seen by nobody
  load.at(1, 0, 16, 0, 4, 0);
  load.at(1, 0, 16, 0, 4, 1);
  load.at(2, 0, 16, 0, 4, 1);
  EXPECT_EQ(load.codes(), "CHK0003:2");
}

// The next launch knows nothing of old flags, and needs none.
TEST(MemoryModel, FlagsEndWithTheLaunch) {
  Play play("conflicts", 32,
            {"st.global.u32", "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32", "ld.global.u32"}, 2);
  play.at(2, 0, 256, 1, 4, 0);
  play.next_launch();
  play.at(1, 0, 16, 7, 4, 0);
  play.at(3, 0, 256, 0, 4, 1);
  play.at(4, 0, 16, 0, 4, 1);
  EXPECT_EQ(play.codes(), "CHK0003:4");
}

}  // namespace
}  // namespace ptxlab::checkers
