// ld, st, and what else touches memory; atomics are in atomics.cc.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/table.h"
#include "simt/access.h"
#include "simt/shadow.h"
#include "simt/step.h"
#include "simt/telling.h"

namespace ptxlab::simt {
namespace {

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// --- loads and stores ---

// What each lane stores, from its registers: where lanes disagree about one place, memory tells only the last one's.
class StoredValues : public AccessValues {
 public:
  StoredValues(const Context& context, const Op& op, const Group& group, uint32_t element, uint32_t count, bool wide)
      : context_(context), op_(op), group_(group), element_(element), count_(count), wide_(wide) {}
  void before(int lane, uint8_t* out) const override { std::memcpy(out, group_.at(lane), size_t{element_} * count_); }
  void after(int lane, uint8_t* out) const override {
    for (uint32_t k = 0; k < count_; ++k) {
      uint64_t value = value_of(context_.registers, context_.frame.code->lists[op_.list + k], wide_, lane);
      std::memcpy(out + size_t{element_} * k, &value, element_);
    }
  }

 private:
  const Context& context_;
  const Op& op_;
  const Group& group_;
  uint32_t element_, count_;
  bool wide_;
};

struct Shape {
  uint32_t element, count;
  int log2;
  bool wide, sign;
};
Shape shape_of(const Op& op) {
  Shape s;
  s.element = static_cast<uint32_t>(op.bits) / 8;
  s.count = op.count;
  s.log2 = std::countr_zero(s.element);
  s.wide = op.b_wide;
  s.sign = op.is_signed;
  return s;
}

uint8_t* slot_bytes(const Registers& r, uint32_t slot) { return r.values + uint64_t{slot} * kSlotBytes; }

// The shadow of what was loaded into `slot`: the complement of the bytes' definedness, extended like the value.
void load_definedness(Context& context, const Op& op, const Shape& shape, const Group& group, Transfer t,
                      uint32_t slot) {
  const Registers& r = context.registers;
  if (!group.region->defined) {
    r.taint[slot] &= ~group.lanes;
    return;
  }
  t.bias = group.bias + static_cast<uint64_t>(group.region->defined - group.region->data);
  alignas(64) uint64_t defined[kLanes];
  if (group.lanes != kAllLanes) std::memset(defined, 0xff, sizeof defined);
  access_loops().load[shape.log2][shape.wide][1](t, reinterpret_cast<uint8_t*>(defined));
  uint64_t all = ~uint64_t{0};
  for (int i = 0; i < (shape.wide ? kLanes : kLanes / 2); ++i) all &= defined[i];
  if (all == ~uint64_t{0}) {
    r.taint[slot] &= ~group.lanes;
    return;
  }
  uint64_t counted = shape.sign ? ~uint64_t{0} : low_bits(op.bits);
  for (int l = 0; l < kLanes; ++l) {
    if (!(group.lanes >> l & 1)) continue;
    uint64_t word = shape.wide ? defined[l] : reinterpret_cast<uint32_t*>(defined)[l];
    set_shadow(r, slot, shape.wide, l, ~word & counted);
    if (~word & counted)
      context.machine.undefined_read(context, op, group.region->space, l, group.addresses[l] + t.element,
                                     shape.element);
  }
  set_origin(r, slot, op.id + 1);
}

// The common case: a whole warp, defined addresses, one region that the op has met before; for stores, nobody watching.
const Region* fast_region(Context& context, const Op& op, LaneMask active, uint32_t bytes, bool writes) {
  Machine& machine = context.machine;
  if (active != kAllLanes || (writes && machine.wants(kAccesses))) return nullptr;
  if (context.registers.taint[op.a]) return nullptr;
  const Region* region = machine.expected_region(op);
  return region && region->bytes >= bytes && (region->writable || !writes) ? region : nullptr;
}
FastAccess fast_access(Context& context, const Op& op, const Region& region, uint32_t bytes, uint64_t* places) {
  auto data = reinterpret_cast<uint64_t>(region.data), defined = reinterpret_cast<uint64_t>(region.defined);
  return {context.registers,
          &context.frame.code->lists[op.list],
          op.count,
          op.a,
          op.a_wide,
          op.offset,
          region.base,
          region.bytes - bytes,
          bytes - 1,
          data - region.base,
          region.defined ? defined - region.base : 0,
          places};
}

// Counts and tells what the fast path did.
void account(Context& context, const Op& op, const Region& region, const FastAccess& access, uint32_t bytes,
             bool writes) {
  bool tells = !writes && watched(context, op);
  if (!tells && !context.machine.options().count_sectors) return;
  Group group;
  group.region = &region;
  group.lanes = kAllLanes;
  for (int l = 0; l < kLanes; ++l) group.addresses[l] = access.places[l] - access.bias;
  count_traffic(context, op, region.space, group.addresses, kAllLanes, bytes);
  if (!tells) return;
  Telling telling;
  tell(context, op, group, bytes, Intent::read, false, telling);
}

// The shadows of a fast load that met undefined bits.
void fill_shadows(Context& context, const Op& op, const Region& region, const Shape& shape, const FastAccess& access) {
  uint64_t counted = shape.sign ? ~uint64_t{0} : low_bits(op.bits);
  for (uint32_t k = 0; k < shape.count; ++k) {
    for (int l = 0; l < kLanes; ++l) {
      uint64_t defined = 0;
      std::memcpy(
          &defined,
          reinterpret_cast<const void*>(access.places[l] + access.defined_bias - access.bias + k * shape.element),
          shape.element);
      if (shape.sign && (defined >> (op.bits - 1) & 1)) defined |= ~low_bits(op.bits);
      set_shadow(context.registers, access.slots[k], shape.wide, l, ~defined & counted);
      if (~defined & counted)
        context.machine.undefined_read(context, op, region.space, l, access.places[l] - access.bias + k * shape.element,
                                       shape.element);
    }
    set_origin(context.registers, access.slots[k], op.id + 1);
  }
}

Flow load(Context& context, const Op& op, LaneMask active) {
  Shape shape = shape_of(op);
  uint32_t bytes = shape.element * shape.count;
  const Registers& r = context.registers;
  if ((op.mode & kStrong) && op.space != isa::Space::shared) context.machine.polled();
  if (const Region* region = fast_region(context, op, active, bytes, false)) {
    alignas(64) uint64_t places[kLanes];
    FastAccess access = fast_access(context, op, *region, bytes, places);
    Fast fast = access_loops().fast_load[shape.log2][shape.wide][shape.sign](access);
    if (fast == Fast::done) {
      for (uint32_t k = 0; k < shape.count; ++k) r.taint[access.slots[k]] = 0;
    } else if (fast == Fast::undefined) {
      fill_shadows(context, op, *region, shape, access);
    }
    if (fast != Fast::refused) {
      if (accounted(context)) account(context, op, *region, access, bytes, false);
      return Flow::next;
    }
  }
  bool ok = for_each_group(request_of(context, op, active, bytes, Intent::read), [&](const Group& group) {
    for (uint32_t k = 0; k < shape.count; ++k) {
      uint32_t slot = context.frame.code->lists[op.list + k];
      Transfer t{group.bias,    group.places,     group.lanes, group.consecutive && shape.count == 1,
                 group.uniform, k * shape.element};
      access_loops().load[shape.log2][shape.wide][shape.sign](t, slot_bytes(r, slot));
      if (context.defined) load_definedness(context, op, shape, group, t, slot);
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, bytes);
    if (watched(context, op)) {
      Telling telling;
      tell(context, op, group, bytes, Intent::read, false, telling);
    }
  });
  return ok ? Flow::next : Flow::fault;
}

alignas(64) constexpr struct AllOnes {
  uint64_t lanes[kLanes];
  constexpr AllOnes() : lanes() {
    for (uint64_t& lane : lanes) lane = ~uint64_t{0};
  }
} kOnes;

void store_definedness(Context& context, const Shape& shape, const Group& group, Transfer t, uint32_t slot) {
  const Registers& r = context.registers;
  LaneMask undefined = r.taint[slot] & group.lanes;
  if (!group.region->defined) {
    if (!undefined) return;
    context.machine.make_definedness(*group.region);
  }
  t.bias = group.bias + static_cast<uint64_t>(group.region->defined - group.region->data);
  auto store = access_loops().store[shape.log2][shape.wide];
  if (!undefined) return store(t, reinterpret_cast<const uint8_t*>(kOnes.lanes));
  alignas(64) uint8_t defined[kLanes * 8];
  for (int l = 0; l < kLanes; ++l) {
    uint64_t word = ~shadow_of(r, slot, shape.wide, l);
    if (shape.wide) {
      reinterpret_cast<uint64_t*>(defined)[l] = word;
    } else {
      reinterpret_cast<uint32_t*>(defined)[l] = static_cast<uint32_t>(word);
    }
  }
  store(t, defined);
}

// An undefined value in global memory is no fault in itself, but where it later matters nobody knows any more where it
// came from: so the store says it, as a warning.
void warn_undefined_store(Context& context, const Op& op, const Group& group, uint32_t slot, uint32_t bytes) {
  LaneMask lanes = context.registers.taint[slot] & group.lanes;
  if (!lanes || group.region->space != isa::Space::global || context.machine.seen("RUN0021", op, lanes)) return;
  int lane = std::countr_zero(lanes);
  context.machine.report(
      "RUN0021", base::Severity::warning, context, op, lanes,
      fmt::format("stores a value with undefined bits: {}; {} bytes {}; {}",
                  context.machine.origin_text(context.registers, slot), bytes,
                  context.machine.describe(context, isa::Space::global, group.addresses[lane], bytes),
                  context.machine.thread_name(context.warp, lane)),
      "an output that depends on it is wrong now and then");
}

Flow store(Context& context, const Op& op, LaneMask active) {
  Shape shape = shape_of(op);
  uint32_t bytes = shape.element * shape.count;
  const Registers& r = context.registers;
  LaneMask undefined = 0;
  for (uint32_t k = 0; k < shape.count; ++k) undefined |= r.taint[context.frame.code->lists[op.list + k]];
  if (const Region* region = undefined ? nullptr : fast_region(context, op, active, bytes, true)) {
    alignas(64) uint64_t places[kLanes];
    FastAccess access = fast_access(context, op, *region, bytes, places);
    if (access_loops().fast_store[shape.log2][shape.wide](access) == Fast::done) {
      if (accounted(context)) account(context, op, *region, access, bytes, true);
      return Flow::next;
    }
  }
  bool ok = for_each_group(request_of(context, op, active, bytes, Intent::write), [&](const Group& group) {
    if (watched(context, op)) {
      StoredValues values(context, op, group, shape.element, shape.count, shape.wide);
      Telling telling;
      telling.values = &values;
      tell(context, op, group, bytes, Intent::write, false, telling);
    }
    for (uint32_t k = 0; k < shape.count; ++k) {
      uint32_t slot = context.frame.code->lists[op.list + k];
      Transfer t{group.bias, group.places,     group.lanes, group.consecutive && shape.count == 1,
                 false,      k * shape.element};
      access_loops().store[shape.log2][shape.wide](t, slot_bytes(r, slot));
      if (context.defined) {
        store_definedness(context, shape, group, t, slot);
        warn_undefined_store(context, op, group, slot, bytes);
      }
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, bytes);
  });
  return ok ? Flow::next : Flow::fault;
}

// --- selection ---

Step select_load(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = strong(form) ? kStrong : 0;
  return plain_space(m.space) ? load : nullptr;
}
Step select_store(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = strong(form) ? kStrong : 0;
  return plain_space(m.space) ? store : nullptr;
}
// Hints about caches change no value.
Flow ignore(Context&, const Op&, LaneMask) { return Flow::next; }
Step select_ignore(const isa::Form&, const Modifiers&, Op&) { return ignore; }

Flow make_policy(Context& context, const Op& op, LaneMask active) {
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1) set_value(context.registers, op.d, op.d_wide, l, 0);
  context.registers.taint[op.d] &= ~active;
  return Flow::next;
}
Step select_policy(const isa::Form&, const Modifiers&, Op&) { return make_policy; }

// Throws away what a line of the cache holds: it is undefined from here on.
Flow discard(Context& context, const Op& op, LaneMask active) {
  constexpr uint32_t kLine = 128;
  bool ok = for_each_group(request_of(context, op, active, kLine, Intent::write), [&](const Group& group) {
    Telling telling;
    if (context.machine.wants(kAccessValues)) telling.before = telling.after = bytes_of(group, kLine);
    if (context.defined && !group.region->defined) context.machine.make_definedness(*group.region);
    for (int l = 0; l < kLanes && group.region->defined; ++l)
      if (group.lanes >> l & 1) std::memset(group.defined_at(l), 0, kLine);
    if (watched(context, op)) tell(context, op, group, kLine, Intent::write, false, telling);
  });
  return ok ? Flow::next : Flow::fault;
}
Step select_discard(const isa::Form&, const Modifiers& m, Op& op) {
  op.space = m.space == isa::Space::none ? isa::Space::generic : m.space;
  return discard;
}

bool is_constant(Context& context, const Op& op, uint64_t address) {
  const Region* region = context.machine.find_region(context, isa::Space::generic, address, op.id);
  return region && region->space == isa::Space::constant;
}
Flow is_in_space(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  LaneMask in = 0;
  for (int l = 0; l < kLanes; ++l) {
    uint64_t address = value_of(r, op.a, op.a_wide, l);
    bool is = false;
    switch (op.modifiers->space) {
      case isa::Space::shared:
      case isa::Space::shared_cluster: is = address - kSharedWindow < kWindowBytes; break;
      case isa::Space::local: is = address - kLocalWindow < kWindowBytes; break;
      case isa::Space::param: is = address - kParamWindow < kWindowBytes; break;
      case isa::Space::global: is = address < kSharedWindow && !is_constant(context, op, address); break;
      case isa::Space::constant: is = is_constant(context, op, address); break;
      default: break;
    }
    in |= LaneMask{is} << l;
  }
  LaneMask* d = lanes<LaneMask>(r, op.d);
  *d = (*d & ~active) | (in & active);
  r.taint[op.d] = (r.taint[op.d] & ~active) | (r.taint[op.a] & active);
  return Flow::next;
}
Step select_isspacep(const isa::Form&, const Modifiers&, Op&) { return is_in_space; }

}  // namespace

const StepBinding* memory_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"ld", select_load},
      {"ldu", select_load},
      {"st", select_store},
      {"isspacep", select_isspacep},
      {"prefetch", select_ignore},
      {"prefetchu", select_ignore},
      {"applypriority", select_ignore},
      {"discard", select_discard},
      {"createpolicy", select_policy},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
