// What one warp's access costs the memory system: 32-byte sectors of global memory, passes over the banks of shared
// memory, and what both would be at best. Kernels repeat a few patterns for ever, so each instruction remembers its last
// one: the count of an access whose lanes lie as last time is a comparison of 32 distances.
//
// Shared memory has 32 banks of 4 bytes. A pass serves one word of each bank to any number of lanes; 8-byte accesses are
// made by half warps, 16-byte ones by quarter warps. Lanes of an atomic that meet at one word take turns, but where they only count.
#pragma once
#include <array>
#include <cstdint>

#include "simt/op.h"

namespace ptxlab::simt {

struct Traffic {
  uint16_t units = 0;  // sectors or passes
  uint16_t ideal = 0;  // the same bytes side by side; without conflicts
};

// `addresses` of lanes that are not active may be anything.
Traffic count_sectors(const uint64_t* addresses, LaneMask active, uint32_t bytes);
Traffic count_passes(const uint64_t* addresses, LaneMask active, uint32_t bytes, bool atomic);

// The last pattern of one instruction.
class TrafficMemo {
 public:
  Traffic sectors(const uint64_t* addresses, LaneMask active, uint32_t bytes);
  Traffic passes(const uint64_t* addresses, LaneMask active, uint32_t bytes, bool atomic);

 private:
  bool repeats(const uint64_t* addresses, LaneMask active, uint32_t key);

  std::array<uint64_t, kLanes> distance_{};  // from the first active lane's address
  LaneMask active_ = 0;
  uint32_t key_ = 0;  // what else decides: the first address within its sector or word, the space
  Traffic traffic_;
};

}  // namespace ptxlab::simt
