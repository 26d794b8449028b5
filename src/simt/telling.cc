#include "simt/telling.h"

#include <algorithm>
#include <cstring>

#include "isa/table.h"

namespace ptxlab::simt {

bool strong(const isa::Form& form) {
  for (std::string_view word : {".volatile", ".relaxed", ".acquire", ".release", ".acq_rel", ".mmio"})
    if (form.has(word)) return true;
  return false;
}

bool plain_space(isa::Space space) {
  switch (space) {
    case isa::Space::generic:
    case isa::Space::constant:
    case isa::Space::global:
    case isa::Space::local:
    case isa::Space::param:
    case isa::Space::param_func:
    case isa::Space::shared:
    case isa::Space::shared_cluster: return true;
    case isa::Space::none:
    case isa::Space::reg:
    case isa::Space::tex: return false;
  }
  return false;
}

void tell(Context& context, const Op& op, const Group& group, uint32_t bytes, Intent intent, bool atomic,
          Telling& telling) {
  Access access;
  access.site = context.machine.site(op);
  access.warp = context.warp.id;
  access.active = group.lanes;
  access.space = group.region->space;
  access.reads = intent != Intent::write;
  access.writes = intent != Intent::read;
  access.atomic = atomic;
  access.strong = atomic || (op.mode & kStrong);
  access.bytes = bytes;
  access.address = group.addresses;
  std::fill(std::begin(telling.allocation), std::end(telling.allocation), group.region->allocation);
  access.allocation = telling.allocation;
  access.values = telling.values;
  if (!telling.before.empty()) access.value_before = telling.before.data();
  if (!telling.after.empty()) access.value_after = telling.after.data();
  context.machine.notify(access);
}

std::vector<uint8_t> bytes_of(const Group& group, uint32_t bytes) {
  std::vector<uint8_t> out(size_t{bytes} * kLanes);
  for (int l = 0; l < kLanes; ++l)
    if (group.lanes >> l & 1) std::memcpy(out.data() + size_t{bytes} * l, group.at(l), bytes);
  return out;
}

}  // namespace ptxlab::simt
