// ld, st, atom, red, and what else touches memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "isa/table.h"
#include "simt/access.h"
#include "simt/shadow.h"
#include "simt/step.h"

namespace ptxlab::simt {
namespace {

constexpr uint8_t kStrong = 1;  // Op::mode of memory instructions

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// --- telling observers ---

struct Telling {
  uint32_t allocation[kLanes];
  std::vector<uint8_t> before, after;
};

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

// What each lane stores, from its registers: where lanes disagree about one place, memory tells only the last one's.
std::vector<uint8_t> stored_bytes(Context& context, const Op& op, const Group& group, uint32_t element, uint32_t count,
                                  bool wide) {
  std::vector<uint8_t> out(size_t{element} * count * kLanes);
  for (int l = 0; l < kLanes; ++l) {
    if (!(group.lanes >> l & 1)) continue;
    for (uint32_t k = 0; k < count; ++k) {
      uint64_t value = value_of(context.registers, context.frame.code->lists[op.list + k], wide, l);
      std::memcpy(out.data() + size_t{element} * (count * l + k), &value, element);
    }
  }
  return out;
}

bool watched(const Context& context, const Op& op) {
  return context.machine.wants(kAccesses) && op.space != isa::Space::param_func;
}

// The profile's sectors and passes over the banks.
void count_traffic(Context& context, const Op& op, isa::Space space, const uint64_t* addresses, LaneMask lanes,
                   uint32_t bytes, bool atomic = false) {
  if (context.machine.options().count_sectors)
    context.machine.count_traffic(op, space, addresses, lanes, bytes, atomic);
}

// --- loads and stores ---

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

AccessRequest request_of(Context& context, const Op& op, LaneMask active, uint32_t bytes, Intent intent) {
  return {context, op, active, op.space, op.a, op.a_wide, op.offset, bytes, bytes, intent};
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
void fill_shadows(Context& context, const Op& op, const Shape& shape, const FastAccess& access) {
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
    }
    set_origin(context.registers, access.slots[k], op.id + 1);
  }
}

Flow load(Context& context, const Op& op, LaneMask active) {
  Shape shape = shape_of(op);
  uint32_t bytes = shape.element * shape.count;
  const Registers& r = context.registers;
  if (const Region* region = fast_region(context, op, active, bytes, false)) {
    alignas(64) uint64_t places[kLanes];
    FastAccess access = fast_access(context, op, *region, bytes, places);
    Fast fast = access_loops().fast_load[shape.log2][shape.wide][shape.sign](access);
    if (fast == Fast::done) {
      for (uint32_t k = 0; k < shape.count; ++k) r.taint[access.slots[k]] = 0;
    } else if (fast == Fast::undefined) {
      fill_shadows(context, op, shape, access);
    }
    if (fast != Fast::refused) {
      account(context, op, *region, access, bytes, false);
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
      account(context, op, *region, access, bytes, true);
      return Flow::next;
    }
  }
  bool ok = for_each_group(request_of(context, op, active, bytes, Intent::write), [&](const Group& group) {
    Telling telling;
    bool values = context.machine.wants(kAccessValues) && watched(context, op);
    if (values) telling.before = bytes_of(group, bytes);
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
    if (!watched(context, op)) return;
    if (values) telling.after = stored_bytes(context, op, group, shape.element, shape.count, shape.wide);
    tell(context, op, group, bytes, Intent::write, false, telling);
  });
  return ok ? Flow::next : Flow::fault;
}

// --- atomics: each lane in turn ---

enum class AtomicOp : uint8_t {
  none,
  conjunction,
  disjunction,
  exclusive,
  exchange,
  swap,
  add,
  increment,
  decrement,
  minimum,
  maximum
};
struct AtomicWord {
  std::string_view token;
  AtomicOp op;
};
constexpr AtomicWord kAtomicWords[] = {{".and", AtomicOp::conjunction}, {".or", AtomicOp::disjunction},
                                       {".xor", AtomicOp::exclusive},   {".exch", AtomicOp::exchange},
                                       {".cas", AtomicOp::swap},        {".add", AtomicOp::add},
                                       {".inc", AtomicOp::increment},   {".dec", AtomicOp::decrement},
                                       {".min", AtomicOp::minimum},     {".max", AtomicOp::maximum}};

float flush_f32(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

uint64_t half_atomic(AtomicOp op, uint16_t old, uint16_t value, base::Format format) {
  double a = base::widen(old, format), b = base::widen(value, format);
  if (op == AtomicOp::add)
    return base::narrow(a + b, format);  // a sum of two halves fits a double, but for far-apart bf16
  if (a != a) return b != b ? 0x7fff : value;
  if (b != b) return old;
  if (a == b) return op == AtomicOp::maximum ? old & value : old | value;
  return (op == AtomicOp::minimum) == (a < b) ? old : value;
}

uint64_t float_atomic(isa::Type type, uint64_t old, uint64_t value, bool flush) {
  if (type == isa::Type::f64) return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
  float a = std::bit_cast<float>(static_cast<uint32_t>(old)), b = std::bit_cast<float>(static_cast<uint32_t>(value));
  float sum = flush ? flush_f32(flush_f32(a) + flush_f32(b)) : a + b;
  return sum != sum ? 0x7fffffffu : std::bit_cast<uint32_t>(sum);
}

uint64_t atomic_result(AtomicOp op, isa::Type type, uint64_t old, uint64_t value, uint64_t swap, bool flush) {
  int bits = isa::bits_of(type);
  bool below = isa::is_signed(type)
                   ? static_cast<int64_t>(old << (64 - bits)) < static_cast<int64_t>(value << (64 - bits))
                   : old < value;
  switch (op) {
    case AtomicOp::none: return old;
    case AtomicOp::conjunction: return old & value;
    case AtomicOp::disjunction: return old | value;
    case AtomicOp::exclusive: return old ^ value;
    case AtomicOp::exchange: return value;
    case AtomicOp::swap: return old == value ? swap : old;
    case AtomicOp::increment: return old >= value ? 0 : old + 1;
    case AtomicOp::decrement: return old == 0 || old > value ? value : old - 1;
    case AtomicOp::add:
    case AtomicOp::minimum:
    case AtomicOp::maximum: break;
  }
  if (type == isa::Type::f32 || type == isa::Type::f64) return float_atomic(type, old, value, flush);
  if (isa::is_float(type)) {
    base::Format format = type == isa::Type::f16 || type == isa::Type::f16x2 ? base::kF16 : base::kBf16;
    uint64_t low = half_atomic(op, static_cast<uint16_t>(old), static_cast<uint16_t>(value), format);
    if (bits == 16) return low;
    return low | half_atomic(op, static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(value >> 16), format) << 16;
  }
  if (op == AtomicOp::add) return (old + value) & low_bits(bits);
  return (op == AtomicOp::minimum) == below ? old : value;
}

// Adding 1 without asking for the old value: the hardware counts the lanes at one place and adds once.
bool is_count(const Context& context, const Op& op, AtomicOp kind) {
  return kind == AtomicOp::add && op.bits == 32 && op.d == kSinkSlot && op.b >= context.frame.code->register_end &&
         op.modifiers->type != isa::Type::f32 && value_of(context.registers, op.b, false, 0) == 1;
}

Flow atomic(Context& context, const Op& op, LaneMask active) {
  uint32_t bytes = op.bits / 8;
  auto kind = static_cast<AtomicOp>(op.flags);
  const Registers& r = context.registers;
  uint64_t result[kLanes] = {}, undefined[kLanes] = {};
  bool ok = for_each_group(request_of(context, op, active, bytes, Intent::update), [&](const Group& group) {
    Telling telling;
    bool values = context.machine.wants(kAccessValues) && watched(context, op);
    if (values) telling.before = telling.after = bytes_of(group, bytes);
    bool flush = op.modifiers->type == isa::Type::f32 && group.region->space == isa::Space::global;
    // Any order is right; a random one shows who relies on it.
    auto turn = static_cast<int>(context.machine.random().below(kLanes));
    for (int i = 0; i < kLanes; ++i) {
      int l = (i + turn) % kLanes;
      if (!(group.lanes >> l & 1)) continue;
      uint64_t old = 0, value = value_of(r, op.b, op.b_wide, l) & low_bits(op.bits);
      uint64_t swap = value_of(r, op.c, op.c_wide, l) & low_bits(op.bits);
      std::memcpy(&old, group.at(l), bytes);
      uint64_t updated = atomic_result(kind, op.modifiers->type, old, value, swap, flush);
      if (values) std::memcpy(telling.before.data() + size_t{bytes} * l, &old, bytes);
      if (values) std::memcpy(telling.after.data() + size_t{bytes} * l, &updated, bytes);
      std::memcpy(group.at(l), &updated, bytes);
      result[l] = old;
      if (!context.defined) continue;
      uint64_t old_undefined = 0,
               operand = (shadow_of(r, op.b, op.b_wide, l) | shadow_of(r, op.c, op.c_wide, l)) & low_bits(op.bits);
      if (group.region->defined) {
        uint64_t defined = 0;
        std::memcpy(&defined, group.defined_at(l), bytes);
        old_undefined = ~defined & low_bits(op.bits);
      } else if (operand) {
        context.machine.make_definedness(*group.region);
      }
      undefined[l] = old_undefined;
      if (!group.region->defined) continue;
      bool keeps_old = kind != AtomicOp::exchange;
      uint64_t now = (keeps_old && old_undefined) || operand ? 0 : ~uint64_t{0};
      std::memcpy(group.defined_at(l), &now, bytes);
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, bytes, !is_count(context, op, kind));
    if (watched(context, op)) tell(context, op, group, bytes, Intent::update, true, telling);
  });
  if (!ok) return Flow::fault;
  if (op.d == kSinkSlot) return Flow::next;
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    set_value(r, op.d, op.d_wide, l, result[l]);
    set_shadow(r, op.d, op.d_wide, l, context.defined ? undefined[l] : 0);
    if (undefined[l]) set_origin(r, op.d, op.id + 1);
  }
  return Flow::next;
}

// --- selection ---

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
    case isa::Space::shared: return true;
    case isa::Space::none:
    case isa::Space::reg:
    case isa::Space::shared_cluster:
    case isa::Space::tex: return false;
  }
  return false;
}

Step select_load(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = strong(form) ? kStrong : 0;
  return plain_space(m.space) && isa::bits_of(m.type) <= 64 ? load : nullptr;
}
Step select_store(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = strong(form) ? kStrong : 0;
  return plain_space(m.space) && isa::bits_of(m.type) <= 64 ? store : nullptr;
}
Step select_atomic(const isa::Form& form, const Modifiers& m, Op& op) {
  if (!plain_space(m.space) || isa::bits_of(m.type) > 64 || form.vector_length() != 1) return nullptr;
  if (form.has(".shared::cluster")) return nullptr;
  for (const AtomicWord& word : kAtomicWords)
    if (form.has(word.token)) op.flags = static_cast<uint8_t>(word.op);
  if (static_cast<AtomicOp>(op.flags) == AtomicOp::none) return nullptr;
  op.mode = kStrong;
  return atomic;
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

Flow is_in_space(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  LaneMask in = 0;
  for (int l = 0; l < kLanes; ++l) {
    uint64_t address = value_of(r, op.a, op.a_wide, l);
    bool is = false;
    switch (op.modifiers->space) {
      case isa::Space::shared: is = address - kSharedWindow < kWindowBytes; break;
      case isa::Space::local: is = address - kLocalWindow < kWindowBytes; break;
      case isa::Space::param: is = address - kParamWindow < kWindowBytes; break;
      case isa::Space::global: is = address < kSharedWindow; break;
      default: break;
    }
    in |= LaneMask{is} << l;
  }
  LaneMask* d = lanes<LaneMask>(r, op.d);
  *d = (*d & ~active) | (in & active);
  r.taint[op.d] = (r.taint[op.d] & ~active) | (r.taint[op.a] & active);
  return Flow::next;
}
Step select_isspacep(const isa::Form&, const Modifiers& m, Op&) {
  return m.space == isa::Space::constant || m.space == isa::Space::shared_cluster ? nullptr : is_in_space;
}

}  // namespace

const StepBinding* memory_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"ld", select_load},
      {"ldu", select_load},
      {"st", select_store},
      {"atom", select_atomic},
      {"red", select_atomic},
      {"isspacep", select_isspacep},
      {"prefetch", select_ignore},
      {"prefetchu", select_ignore},
      {"applypriority", select_ignore},
      {"createpolicy", select_policy},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
