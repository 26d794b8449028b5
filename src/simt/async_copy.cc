// cp.async: copies from global to shared memory that nobody may rely on before having waited for them. They are carried
// out at the wait, as late as is allowed, and until then their destination counts as undefined: so a wait that is missing,
// or waits for too little, shows in every run.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/table.h"
#include "simt/access.h"
#include "simt/shadow.h"
#include "simt/step.h"

namespace ptxlab::simt {
namespace {

constexpr uint8_t kIgnoresSource = 1;  // Op::mode: c is a predicate that says "write zeros"

void tell(Context& context, const Op& op, const Group& group, uint32_t bytes, bool writes) {
  if (!context.machine.wants(kAccesses)) return;
  uint32_t allocation[kLanes];
  std::fill(std::begin(allocation), std::end(allocation), group.region->allocation);
  Access access;
  access.site = context.machine.site(op);
  access.warp = context.warp.id;
  access.active = group.lanes;
  access.space = group.region->space;
  access.reads = !writes;
  access.writes = writes;
  access.bytes = bytes;
  access.address = group.addresses;
  access.allocation = allocation;
  context.machine.notify(access);
}

std::array<LaneCopies, kLanes>& copies_of(Warp& warp) {
  if (!warp.copies) warp.copies = std::make_unique<std::array<LaneCopies, kLanes>>();
  return *warp.copies;
}

Flow begin_copy(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  auto bytes = static_cast<uint8_t>(op.list);
  PendingCopy pending[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    pending[l].op = &op;
    pending[l].bytes = pending[l].source_bytes = bytes;
    if (op.mode & kIgnoresSource) {
      if (((predicate(r, op.c) >> l & 1) != 0) != op.negate_c) pending[l].source_bytes = 0;
    } else if (op.c != kZeroSlot) {
      pending[l].source_bytes = static_cast<uint8_t>(std::min<uint64_t>(value_of(r, op.c, false, l), bytes));
    }
  }
  LaneMask reading = 0;
  for (int l = 0; l < kLanes; ++l)
    if ((active >> l & 1) && pending[l].source_bytes) reading |= LaneMask{1} << l;
  AccessRequest source{context,     op,    reading, isa::Space::global, op.b, op.b_wide,
                       op.offset_b, bytes, bytes,   Intent::read};
  bool ok = !reading || for_each_group(source, [&](const Group& group) {
    for (int l = 0; l < kLanes; ++l) {
      if (!(group.lanes >> l & 1)) continue;
      pending[l].source = group.at(l);
      pending[l].source_defined = group.region->defined ? group.defined_at(l) : nullptr;
    }
    context.machine.count_traffic(op, group.region->space, group.addresses, group.lanes, bytes, false);
    tell(context, op, group, bytes, false);
  });
  AccessRequest target{context,   op,    active, isa::Space::shared, op.a, op.a_wide,
                       op.offset, bytes, bytes,  Intent::write};
  ok = ok && for_each_group(target, [&](const Group& group) {
         context.machine.count_traffic(op, group.region->space, group.addresses, group.lanes, bytes, false);
         for (int l = 0; l < kLanes; ++l) {
           if (!(group.lanes >> l & 1)) continue;
           pending[l].shared = group.addresses[l];
           if (group.region->defined) std::memset(group.defined_at(l), 0, bytes);  // until it has been waited for
         }
       });
  if (!ok) return Flow::fault;
  auto& copies = copies_of(context.warp);
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1) copies[static_cast<size_t>(l)].open.push_back(pending[l]);
  return Flow::next;
}

void land(Context& context, const PendingCopy& copy, int lane) {
  uint8_t* to = context.cta.shared.data() + copy.shared;
  std::memset(to, 0, copy.bytes);
  if (copy.source_bytes) std::memcpy(to, copy.source, copy.source_bytes);
  if (context.defined) {
    uint8_t* defined = context.cta.shared_defined.data() + copy.shared;
    std::memset(defined, 0xff, copy.bytes);
    if (copy.source_bytes && copy.source_defined) std::memcpy(defined, copy.source_defined, copy.source_bytes);
  }
  if (!context.machine.wants(kAccesses)) return;
  Group group;
  group.region = context.machine.expected_region(*copy.op);  // shared memory
  group.lanes = LaneMask{1} << lane;
  group.addresses[lane] = copy.shared;
  tell(context, *copy.op, group, copy.bytes, true);
}

// Lands all but the youngest `keep` groups of each lane, in a random order of lanes; `all` lands open copies too.
Flow wait_for(Context& context, LaneMask active, size_t keep, bool all) {
  if (!context.warp.copies) return Flow::next;
  auto first = static_cast<int>(context.machine.random().below(kLanes));
  for (int i = 0; i < kLanes; ++i) {
    int l = (first + i) % kLanes;
    if (!(active >> l & 1)) continue;
    LaneCopies& lane = (*context.warp.copies)[static_cast<size_t>(l)];
    size_t landing = lane.groups.size() > keep ? lane.groups.size() - keep : 0;
    for (size_t g = 0; g < landing; ++g)
      for (const PendingCopy& copy : lane.groups[g]) land(context, copy, l);
    lane.groups.erase(lane.groups.begin(), lane.groups.begin() + static_cast<std::ptrdiff_t>(landing));
    if (!all) continue;
    for (const PendingCopy& copy : lane.open) land(context, copy, l);
    lane.open.clear();
  }
  return Flow::next;
}

Flow commit(Context& context, const Op&, LaneMask active) {
  auto& copies = copies_of(context.warp);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    LaneCopies& lane = copies[static_cast<size_t>(l)];
    lane.groups.push_back(std::move(lane.open));
    lane.open.clear();
  }
  return Flow::next;
}
Flow wait_group(Context& context, const Op& op, LaneMask active) {
  return wait_for(context, active, static_cast<size_t>(op.offset), false);
}
Flow wait_all(Context& context, const Op&, LaneMask active) { return wait_for(context, active, 0, true); }

Step select_copy(const isa::Form& form, const Modifiers&, Op& op) {
  if (form.has(".shared::cluster")) return nullptr;
  for (const isa::OperandSpec& operand : form.row->operands)
    if (operand.shape == isa::Shape::predicate) op.mode |= kIgnoresSource;
  op.space = isa::Space::shared;
  return begin_copy;
}
template <Step step>
Step always(const isa::Form&, const Modifiers&, Op&) {
  return step;
}

}  // namespace

const StepBinding* async_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"cp.async", select_copy},
      {"cp.async.commit_group", always<commit>},
      {"cp.async.wait_group", always<wait_group>},
      {"cp.async.wait_all", always<wait_all>},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
