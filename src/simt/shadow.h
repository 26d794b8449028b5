// Reading and writing single lanes of values and shadows.
#pragma once
#include <initializer_list>

#include "simt/op.h"

namespace ptxlab::simt {

inline uint64_t value_of(const Registers& r, uint32_t slot, bool wide, int lane) {
  return wide ? lanes<uint64_t>(r, slot)[lane] : lanes<uint32_t>(r, slot)[lane];
}
inline void set_value(const Registers& r, uint32_t slot, bool wide, int lane, uint64_t value) {
  if (wide) {
    lanes<uint64_t>(r, slot)[lane] = value;
  } else {
    lanes<uint32_t>(r, slot)[lane] = static_cast<uint32_t>(value);
  }
}
inline uint64_t shadow_of(const Registers& r, uint32_t slot, bool wide, int lane) {
  if (!(r.taint[slot] >> lane & 1)) return 0;
  const uint8_t* at = r.shadow + uint64_t{slot} * kSlotBytes;
  return wide ? reinterpret_cast<const uint64_t*>(at)[lane] : reinterpret_cast<const uint32_t*>(at)[lane];
}
inline void set_shadow(const Registers& r, uint32_t slot, bool wide, int lane, uint64_t bits) {
  LaneMask bit = LaneMask{1} << lane;
  if (!wide) bits = static_cast<uint32_t>(bits);
  r.taint[slot] = bits ? r.taint[slot] | bit : r.taint[slot] & ~bit;
  if (!bits) return;
  r.dirty[slot] = 1;
  uint8_t* at = r.shadow + uint64_t{slot} * kSlotBytes;
  if (wide) {
    reinterpret_cast<uint64_t*>(at)[lane] = bits;
  } else {
    reinterpret_cast<uint32_t*>(at)[lane] = static_cast<uint32_t>(bits);
  }
}
// The origin of the first of `slots` with an undefined lane in `active`.
inline uint32_t origin_of(const Registers& r, std::initializer_list<uint32_t> slots, LaneMask active) {
  for (uint32_t slot : slots) {
    if (r.taint[slot] & active) return r.origin[slot];
  }
  return 0;
}
inline void set_origin(const Registers& r, uint32_t slot, uint32_t origin) {
  r.origin[slot] = origin;
  r.dirty[slot] = 1;
}

}  // namespace ptxlab::simt
