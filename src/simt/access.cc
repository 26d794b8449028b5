#include "simt/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ptxlab::simt {
namespace {

constexpr uint64_t kNullPage = 4096;

struct Window {
  isa::Space space;
  uint64_t base;
};
constexpr Window kWindows[] = {
    {isa::Space::shared, kSharedWindow}, {isa::Space::local, kLocalWindow}, {isa::Space::param, kParamWindow}};

std::string_view verb(Intent intent) {
  switch (intent) {
    case Intent::read: return "reads";
    case Intent::write: return "writes";
    case Intent::update: return "updates";
  }
  return "";
}

std::string others(LaneMask lanes) {
  int more = std::popcount(lanes) - 1;
  return more > 0 ? fmt::format(" and {} other lane{} of its warp", more, more == 1 ? "" : "s") : "";
}

}  // namespace

Resolver::Resolver(const AccessRequest& request) : request_(request), left_(request.active) {
  access_loops().addresses(request.op, request.context.registers, request.base, request.wide, request.offset,
                           addresses_);
}

bool Resolver::undefined_address() {
  Context& context = request_.context;
  LaneMask lanes = context.registers.taint[request_.base] & request_.active;
  if (!lanes) return false;
  int lane = std::countr_zero(lanes);
  context.machine.report(
      "RUN0008", base::Severity::error, context, request_.op, lanes,
      fmt::format("the address is undefined: {}; {}{}", context.machine.origin_text(context.registers, request_.base),
                  context.machine.thread_name(context.warp, lane), others(lanes)),
      "give the register a value on every path that leads here");
  return faulted_ = true;
}

bool Resolver::fault_outside(isa::Space space, uint64_t address, int lane) {
  Context& context = request_.context;
  Machine& machine = context.machine;
  std::string thread = machine.thread_name(context.warp, lane) + others(left_);
  bool null = address < kNullPage && space != isa::Space::shared && space != isa::Space::local &&
              space != isa::Space::param && space != isa::Space::param_func;
  if (null) {
    machine.report("RUN0005", base::Severity::error, context, request_.op, left_,
                   fmt::format("{} {} bytes through a null pointer (address 0x{:x}); {}", verb(request_.intent),
                               request_.bytes, address, thread),
                   "the pointer was never set, or the argument is null");
  } else {
    machine.report("RUN0003", base::Severity::error, context, request_.op, left_,
                   fmt::format("{} {} byte{} out of bounds at 0x{:x}: {}; {}", verb(request_.intent), request_.bytes,
                               request_.bytes == 1 ? "" : "s", address,
                               machine.describe(context, space, address, request_.bytes), thread),
                   "guard the access, or correct the index");
  }
  faulted_ = true;
  return false;
}

bool Resolver::next(Group& group) {
  Context& context = request_.context;
  int first = std::countr_zero(left_);
  isa::Space space = request_.space;
  uint64_t window = 0;
  if (space == isa::Space::generic) {
    for (const Window& w : kWindows)
      if (addresses_[first] - w.base < kWindowBytes) space = w.space, window = w.base;
    if (window == 0) space = isa::Space::global;
  }
  for (int l = 0; l < kLanes; ++l) group.addresses[l] = addresses_[l] - window;
  uint64_t address = group.addresses[first];
  const Region* region = context.machine.find_region(context, space, address, request_.op.id);
  if (!region || region->bytes < request_.bytes) return fault_outside(space, address, first);
  Survey s = access_loops().survey(group.addresses, left_, region->base, region->bytes - request_.bytes, request_.bytes,
                                   request_.alignment);
  group.lanes = left_ & ~s.outside;
  if (!(group.lanes >> first & 1)) return fault_outside(space, address, first);
  if (LaneMask bad = s.misaligned & group.lanes) {
    int lane = std::countr_zero(bad);
    context.machine.report("RUN0004", base::Severity::error, context, request_.op, bad,
                           fmt::format("the address 0x{:x} is misaligned: {} bytes at once need a multiple of {}; {}{}",
                                       group.addresses[lane], request_.bytes, request_.alignment,
                                       context.machine.thread_name(context.warp, lane), others(bad)),
                           "use a narrower access, or align the pointer");
    faulted_ = true;
    return false;
  }
  if (!region->writable && request_.intent != Intent::read) {
    context.machine.report("RUN0006", base::Severity::error, context, request_.op, group.lanes,
                           fmt::format("writes to read-only memory: {}; {}{}",
                                       context.machine.describe(context, space, address, request_.bytes),
                                       context.machine.thread_name(context.warp, first), others(group.lanes)),
                           "inputs are not to be written");
    faulted_ = true;
    return false;
  }
  left_ &= ~group.lanes;
  group.region = region;
  bool all = s.outside == 0;
  group.consecutive = s.consecutive && all;
  group.uniform = s.uniform;
  group.bias = reinterpret_cast<uint64_t>(region->data) - region->base;
  group.places = group.addresses;
  if (region->lane_stride) {
    for (uint64_t l = 0; l < kLanes; ++l) group.own[l] = group.addresses[l] + l * region->lane_stride;
    group.places = group.own;
    group.consecutive = group.uniform = false;
  }
  return true;
}

}  // namespace ptxlab::simt
