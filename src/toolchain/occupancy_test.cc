// Values worked out with NVIDIA's occupancy calculator (the spreadsheet's rules) by hand.
#include <gtest/gtest.h>

#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

struct Known {
  uint16_t sm;
  int threads, registers, shared;
  int ctas;
  const char* limited_by;
};

TEST(Occupancy, KnownValues) {
  const Known kAll[] = {
      {80, 256, 32, 0, 8, "threads"},            // 64 warps
      {80, 256, 40, 0, 6, "registers"},          // 1280 a warp, 12 a partition, 48 warps
      {80, 128, 255, 0, 2, "registers"},         // 8192 a warp, 2 a partition, 8 warps
      {80, 32, 16, 0, 32, "CTAs"},               // 32 CTAs an SM
      {80, 128, 32, 49152, 3, "shared memory"},  // 48 KiB + 1 KiB of 164 KiB
      {80, 1024, 64, 0, 1, "registers"},
      {80, 1024, 65, 0, 0, "registers"},  // does not fit
      {86, 256, 32, 0, 6, "threads"},     // 48 warps
      {86, 128, 32, 0, 12, "threads"},
      {90, 1024, 32, 0, 2, "threads"},
      {90, 384, 168, 0, 1, "registers"},  // 12 warps of 5376: 3 a partition
      {90, 128, 32, 227 * 1024, 1, "shared memory"},
      {90, 128, 32, 228 * 1024, 0, "shared memory"},  // beyond what a CTA may ask for
      {90, 128, 32, 113 * 1024, 2, "shared memory"},  // 114 KiB each of 228
      {75, 256, 32, 0, 4, "threads"},                 // 32 warps
      {75, 64, 32, 0, 16, "threads"},
  };
  for (const Known& k : kAll) {
    auto o = occupancy({k.sm, 0}, k.threads, k.registers, k.shared);
    std::string label = "sm_" + std::to_string(k.sm) + " " + std::to_string(k.threads) + " threads " +
                        std::to_string(k.registers) + " registers " + std::to_string(k.shared) + " bytes";
    EXPECT_EQ(o.ctas, k.ctas) << label;
    EXPECT_EQ(o.limited_by, k.limited_by) << label;
    EXPECT_EQ(o.warps, k.ctas * ((k.threads + 31) / 32)) << label;
  }
}

TEST(Occupancy, FractionAndNonsense) {
  EXPECT_DOUBLE_EQ(occupancy({80, 0}, 256, 40, 0).fraction, 0.75);
  EXPECT_EQ(occupancy({80, 0}, 0, 32, 0).ctas, 0);
  EXPECT_EQ(occupancy({80, 0}, 2048, 32, 0).ctas, 0);
  EXPECT_EQ(occupancy({80, 0}, 33, 32, 0).warps, 2 * occupancy({80, 0}, 33, 32, 0).ctas);
}

}  // namespace
}  // namespace ptxlab::toolchain
