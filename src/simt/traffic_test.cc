// Sectors and bank passes of access patterns worked out by hand, and the memo against counting afresh.
#include "simt/traffic.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/random.h"
#include "simt/run_kernel.h"

namespace ptxlab::simt {
namespace {

using Addresses = std::array<uint64_t, kLanes>;

Addresses lanes_at(const std::function<uint64_t(uint64_t)>& address) {
  Addresses out{};
  for (uint64_t l = 0; l < kLanes; ++l) out[l] = address(l);
  return out;
}

struct Row {
  const char* what;
  std::function<uint64_t(uint64_t)> address;
  uint32_t bytes;
  LaneMask active;
  uint32_t units, ideal;
};

TEST(Traffic, SectorsOfGlobalMemory) {
  const Row rows[] = {
      {"neighbouring words", [](uint64_t l) { return 4 * l; }, 4, kAllLanes, 4, 4},
      {"the same, backwards", [](uint64_t l) { return 4 * (31 - l); }, 4, kAllLanes, 4, 4},
      {"one word off", [](uint64_t l) { return 4 * l + 4; }, 4, kAllLanes, 5, 4},
      {"every second word", [](uint64_t l) { return 8 * l; }, 4, kAllLanes, 8, 4},
      {"a sector apart", [](uint64_t l) { return 32 * l; }, 4, kAllLanes, 32, 4},
      {"a row apart", [](uint64_t l) { return 4096 * l; }, 4, kAllLanes, 32, 4},
      {"one word for all", [](uint64_t) { return uint64_t{64}; }, 4, kAllLanes, 1, 1},
      {"two lanes a word", [](uint64_t l) { return l / 2 * 4; }, 4, kAllLanes, 2, 2},
      {"bytes", [](uint64_t l) { return l; }, 1, kAllLanes, 1, 1},
      {"halves", [](uint64_t l) { return 2 * l; }, 2, kAllLanes, 2, 2},
      {"doubles", [](uint64_t l) { return 8 * l; }, 8, kAllLanes, 8, 8},
      {"16 bytes a lane", [](uint64_t l) { return 16 * l; }, 16, kAllLanes, 16, 16},
      {"16 of every 64 bytes", [](uint64_t l) { return 64 * l; }, 16, kAllLanes, 32, 16},
      {"32 bytes a lane", [](uint64_t l) { return 32 * l; }, 32, kAllLanes, 32, 32},
      {"structs of 12 bytes", [](uint64_t l) { return 12 * l; }, 4, kAllLanes, 12, 4},
      {"one lane", [](uint64_t l) { return 4 * l; }, 4, 1u << 7, 1, 1},
      {"half a warp", [](uint64_t l) { return 4 * l; }, 4, 0xffffu, 2, 2},
      {"every other lane", [](uint64_t l) { return 4 * l; }, 4, 0x55555555u, 4, 2},
  };
  for (const Row& row : rows) {
    Addresses a = lanes_at(row.address);
    Traffic traffic = count_sectors(a.data(), row.active, row.bytes);
    EXPECT_EQ(traffic.units, row.units) << row.what;
    EXPECT_EQ(traffic.ideal, row.ideal) << row.what;
  }
}

TEST(Traffic, PassesOverTheBanks) {
  const Row rows[] = {
      {"neighbouring words", [](uint64_t l) { return 4 * l; }, 4, kAllLanes, 1, 1},
      {"one word for all", [](uint64_t) { return uint64_t{64}; }, 4, kAllLanes, 1, 1},
      {"two words of one bank", [](uint64_t l) { return l % 2 * 128; }, 4, kAllLanes, 2, 1},
      {"stride 2", [](uint64_t l) { return 8 * l; }, 4, kAllLanes, 2, 1},
      {"stride 3", [](uint64_t l) { return 12 * l; }, 4, kAllLanes, 1, 1},
      {"a column of 32", [](uint64_t l) { return 128 * l; }, 4, kAllLanes, 32, 1},
      {"a column of 33", [](uint64_t l) { return 132 * l; }, 4, kAllLanes, 1, 1},
      {"a column of 32, 8 lanes", [](uint64_t l) { return 128 * l; }, 4, 0xff, 8, 1},
      {"bytes of one word", [](uint64_t l) { return l; }, 1, kAllLanes, 1, 1},
      {"a column of 32 halves", [](uint64_t l) { return 64 * l; }, 2, kAllLanes, 16, 1},
      {"8 bytes side by side", [](uint64_t l) { return 8 * l; }, 8, kAllLanes, 2, 2},
      {"8 bytes, every second", [](uint64_t l) { return 16 * l; }, 8, kAllLanes, 4, 2},
      {"8 bytes, one half warp", [](uint64_t l) { return 8 * l; }, 8, 0xffff, 1, 1},
      {"8 bytes for all", [](uint64_t) { return uint64_t{8}; }, 8, kAllLanes, 2, 2},
      {"16 bytes side by side", [](uint64_t l) { return 16 * l; }, 16, kAllLanes, 4, 4},
      {"16 bytes, every second", [](uint64_t l) { return 32 * l; }, 16, kAllLanes, 8, 4},
      {"16 bytes, rows of 128", [](uint64_t l) { return 128 * l; }, 16, kAllLanes, 32, 4},
      {"16 bytes, rows of 144", [](uint64_t l) { return 144 * l; }, 16, kAllLanes, 4, 4},
  };
  for (const Row& row : rows) {
    Addresses a = lanes_at(row.address);
    Traffic traffic = count_passes(a.data(), row.active, row.bytes, false);
    EXPECT_EQ(traffic.units, row.units) << row.what;
    EXPECT_EQ(traffic.ideal, row.ideal) << row.what;
  }
}

TEST(Traffic, LanesOfAnAtomicAtOneWordTakeTurns) {
  Addresses one = lanes_at([](uint64_t) { return uint64_t{64}; });
  EXPECT_EQ(count_passes(one.data(), kAllLanes, 4, true).units, 32);
  Addresses apart = lanes_at([](uint64_t l) { return 4 * l; });
  EXPECT_EQ(count_passes(apart.data(), kAllLanes, 4, true).units, 1);
}

// What the memo must not confuse: other lanes, other widths, another place in the sector, global and shared memory.
TEST(Traffic, TheMemoSaysWhatCountingSays) {
  base::Random random(11);
  TrafficMemo memo;
  for (int round = 0; round < 4000; ++round) {
    uint64_t stride = uint64_t{4} << random.below(4), start = 4 * random.below(64), twist = random.below(3);
    Addresses a = lanes_at([&](uint64_t l) { return start + stride * (twist == 1 ? l ^ 1 : twist == 2 ? l / 2 : l); });
    LaneMask active = random.below(2) ? kAllLanes : static_cast<LaneMask>(1 + random.below(kAllLanes - 1));
    uint32_t bytes = 4u << random.below(2);
    bool shared = random.below(2), atomic = random.below(2);
    Traffic fresh = shared ? count_passes(a.data(), active, bytes, atomic) : count_sectors(a.data(), active, bytes);
    Traffic kept = shared ? memo.passes(a.data(), active, bytes, atomic) : memo.sectors(a.data(), active, bytes);
    ASSERT_EQ(kept.units, fresh.units) << round;
    ASSERT_EQ(kept.ideal, fresh.ideal) << round;
    Traffic again = shared ? memo.passes(a.data(), active, bytes, atomic) : memo.sectors(a.data(), active, bytes);
    ASSERT_EQ(again.units, fresh.units) << round;
  }
}

TEST(Traffic, AgainstASlowCount) {
  base::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    uint32_t bytes = 1u << random.below(6);
    uint64_t range = uint64_t{1} << (2 + random.below(12));
    Addresses a = lanes_at([&](uint64_t) { return 4096 + bytes * random.below(range); });
    auto active = static_cast<LaneMask>(1 + random.below(kAllLanes));
    std::set<uint64_t> sectors, places;
    for (int l = 0; l < kLanes; ++l)
      for (uint64_t b = 0; b < bytes && (active >> l & 1); ++b) {
        sectors.insert((a[static_cast<size_t>(l)] + b) / 32);
        places.insert(a[static_cast<size_t>(l)] + b);
      }
    Traffic traffic = count_sectors(a.data(), active, bytes);
    ASSERT_EQ(traffic.units, sectors.size());
    ASSERT_EQ(traffic.ideal, (places.size() + 31) / 32);
    if (bytes > 16) continue;
    uint32_t passes = 0, group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    for (uint32_t start = 0; start < kLanes; start += group) {
      std::array<std::set<uint64_t>, 32> bank;
      for (uint32_t l = start; l < start + group; ++l)
        for (uint64_t b = 0; b < bytes && (active >> l & 1); ++b) bank[(a[l] + b) / 4 % 32].insert((a[l] + b) / 4);
      size_t most = 0;
      for (const auto& words : bank) most = std::max(most, words.size());
      passes += static_cast<uint32_t>(most);
    }
    ASSERT_EQ(count_passes(a.data(), active, bytes, false).units, passes);
  }
}

// In the engine: by statement, in the fast path and beside it, with and without checks.
TEST(Traffic, TheProfileHasItByStatement) {
  test::Kernel kernel(R"(
.visible .entry k(.param .u64 p)
{
  .shared .align 16 .b8 tile[4096];
  .reg .pred %q;
  .reg .b32 %t, %v, %a, %s;
  .reg .b64 %p, %o, %x;
  ld.param.u64 %p, [p];
  cvta.to.global.u64 %p, %p;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.u64 %x, %p, %o;
  ld.global.u32 %v, [%x];
  mov.u32 %s, tile;
  shl.b32 %a, %t, 7;
  and.b32 %a, %a, 4095;
  add.u32 %a, %a, %s;
  st.shared.u32 [%a], %v;
  mul.wide.u32 %o, %t, 64;
  add.u64 %x, %p, %o;
  setp.lt.u32 %q, %t, 8;
  @%q st.global.u32 [%x], %v;
  ret;
}
)");
  kernel.in(std::vector<uint32_t>(4096, 7), true).shape({2, 1, 1}, {64, 1, 1});
  kernel.options.count_sectors = true;
  RunReport report = kernel.run();
  ASSERT_EQ(report.profile.functions.size(), 1u);
  const auto& body = kernel.module().functions[0].body;
  uint64_t seen = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    const ptx::Instruction* instruction = body[i].instruction();
    if (!instruction) continue;
    const auto& counts = report.profile.functions[0].statements[i];
    std::string words;
    for (const auto& word : instruction->words) words += word;
    if (words == "ld.global.u32") {
      EXPECT_EQ(counts.requests, 4u);
      EXPECT_EQ(counts.sectors, 16u);
      EXPECT_EQ(counts.ideal_sectors, 16u);
    } else if (words == "st.shared.u32") {
      EXPECT_EQ(counts.requests, 4u);
      EXPECT_EQ(counts.shared_wavefronts, 4 * 32u);
      EXPECT_EQ(counts.ideal_wavefronts, 4u);
    } else if (words == "st.global.u32") {
      EXPECT_EQ(counts.requests, 2u);
      EXPECT_EQ(counts.sectors, 16u);
      EXPECT_EQ(counts.ideal_sectors, 2u);
    } else {
      EXPECT_EQ(counts.requests, 0u) << words;
      continue;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 3u);
}

}  // namespace
}  // namespace ptxlab::simt
