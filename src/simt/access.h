// From lanes' addresses to memory: which region each lane touches, whether it may, and what is reported where it may not.
#pragma once
#include "simt/lane_access.h"
#include "simt/machine.h"

namespace ptxlab::simt {

enum class Intent : uint8_t { read, write, update };

// Lanes whose accesses lie in one region.
struct Group {
  const Region* region = nullptr;
  LaneMask lanes = 0;
  uint64_t addresses[kLanes];  // in the region's space: for shared memory the offset in its window
  bool consecutive = false, uniform = false;
  // The host's place of lane l's first byte, and of its definedness.
  uint64_t bias = 0;
  uint8_t* at(int lane) const { return reinterpret_cast<uint8_t*>(bias + places[lane]); }
  uint8_t* defined_at(int lane) const { return region->defined + (at(lane) - region->data); }
  const uint64_t* places = nullptr;  // what bias is added to: `addresses`, or for thread memory `own`
  uint64_t own[kLanes];
};

struct AccessRequest {
  Context& context;
  const Op& op;
  LaneMask active;
  isa::Space space;
  uint32_t base;  // slot of the addresses' base
  bool wide;
  int64_t offset;
  uint32_t bytes;  // a lane
  uint32_t alignment;
  Intent intent;
};

// Calls `visit(group)` for each region that the lanes touch. False: a fault was reported and the launch ends.
template <class Visit>
bool for_each_group(const AccessRequest& request, Visit visit);

// The parts of it that need no template.
class Resolver {
 public:
  explicit Resolver(const AccessRequest& request);
  bool undefined_address();
  // The next group, or false where none is left or a fault was reported.
  bool next(Group& group);
  bool faulted() const { return faulted_; }
  LaneMask left() const { return left_; }

 private:
  bool fault_outside(isa::Space space, uint64_t address, int lane);
  const AccessRequest& request_;
  LaneMask left_;
  bool faulted_ = false;
  uint64_t addresses_[kLanes];
};

template <class Visit>
bool for_each_group(const AccessRequest& request, Visit visit) {
  Resolver resolver(request);
  if (request.context.defined && resolver.undefined_address()) return false;
  Group group;
  while (resolver.left() && resolver.next(group)) visit(group);
  return !resolver.faulted();
}

}  // namespace ptxlab::simt
