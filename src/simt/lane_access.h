// The inner loops of loads and stores, compiled for each processor level like the lane handlers.
#pragma once
#include <cstdint>

#include "simt/op.h"

namespace ptxlab::simt {

struct Survey {
  LaneMask outside = 0;  // not wholly inside the region
  LaneMask misaligned = 0;
  bool consecutive = false;  // lane l at the first address + l * size, all lanes active
  bool uniform = false;      // all active lanes at one address
};

// Where the elements of one register lie: lane l's at bias + addresses[l] + element.
struct Transfer {
  uint64_t bias = 0;  // the host's address of the region minus its device address
  const uint64_t* addresses = nullptr;
  LaneMask active = 0;
  bool consecutive = false;
  bool uniform = false;
  uint32_t element = 0;  // bytes from the access's start
};

// A load or store of all 32 lanes that lies wholly in one region: addresses, checks, patterns and transfer in one go.
struct FastAccess {
  const Registers& registers;
  const uint32_t* slots;  // `count` registers
  uint32_t count;
  uint32_t base;  // slot of the addresses' base
  bool wide;
  int64_t offset;
  uint64_t region, limit;  // the last start that is inside, relative to the region
  uint64_t alignment_mask;
  uint64_t bias;          // host's address of the region minus its device address
  uint64_t defined_bias;  // the same of its definedness; 0: none
  uint64_t* places;       // [32], 64-byte aligned: gets the host's address of each lane's first byte
};
enum class Fast : uint8_t {
  refused,  // nothing done: some lane lies outside or is misaligned
  done,
  undefined,  // loaded; not all bits are defined, and nothing is said of which
};

struct AccessLoops {
  // Effective addresses of all lanes: base slot plus offset, 32-bit bases wrap at 32 bits.
  void (*addresses)(const Op& op, const Registers& registers, uint32_t base, bool wide, int64_t offset, uint64_t* out);
  Survey (*survey)(const uint64_t* addresses, LaneMask active, uint64_t base, uint64_t limit, uint32_t size,
                   uint32_t alignment);
  // By log2 of the element's size: into lanes of 32 (`wide` 0) or 64 bits, zero- or sign-extended.
  void (*load[4][2][2])(const Transfer&, uint8_t* lanes);  // [size][wide][sign]
  void (*store[4][2])(const Transfer&, const uint8_t* lanes);
  Fast (*fast_load[4][2][2])(const FastAccess&);
  Fast (*fast_store[4][2])(const FastAccess&);
};

const AccessLoops& access_loops();

}  // namespace ptxlab::simt
