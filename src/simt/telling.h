// What instructions that touch memory share: which of them count as strong, telling observers of an access, and counting
// its sectors and bank conflicts for the profile.
#pragma once
#include <cstdint>
#include <vector>

#include "simt/access.h"

namespace ptxlab::isa {
struct Form;
}

namespace ptxlab::simt {

inline constexpr uint8_t kStrong = 1;  // Op::mode of memory instructions

bool strong(const isa::Form& form);

// The spaces that the engine has; a cluster's shared memory is the CTA's own, since clusters have one CTA.
bool plain_space(isa::Space space);

struct Telling {
  uint32_t allocation[kLanes];
  std::vector<uint8_t> before, after;  // values, lane by lane; empty where nobody asked
  const AccessValues* values = nullptr;
};

inline bool watched(const Context& context, const Op& op) {
  return context.machine.wants(kAccesses) && op.space != isa::Space::param_func;
}
// Whether an access that went well has anything more to do.
inline bool accounted(const Context& context) {
  return context.machine.wants(kAccesses) || context.machine.options().count_sectors;
}
void tell(Context& context, const Op& op, const Group& group, uint32_t bytes, Intent intent, bool atomic,
          Telling& telling);
std::vector<uint8_t> bytes_of(const Group& group, uint32_t bytes);

// The profile's sectors and passes over the banks.
inline void count_traffic(Context& context, const Op& op, isa::Space space, const uint64_t* addresses, LaneMask lanes,
                          uint32_t bytes, bool atomic = false) {
  if (context.machine.options().count_sectors)
    context.machine.count_traffic(op, space, addresses, lanes, bytes, atomic);
}

// The request of an instruction whose first address operand is `a`, naturally aligned.
inline AccessRequest request_of(Context& context, const Op& op, LaneMask active, uint32_t bytes, Intent intent) {
  return {context, op, active, op.space, op.a, op.a_wide, op.offset, bytes, bytes, intent};
}

}  // namespace ptxlab::simt
