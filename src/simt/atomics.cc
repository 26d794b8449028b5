// atom and red: each lane in turn, in an order that changes from run to run.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "isa/table.h"
#include "simt/random_rounding.h"
#include "simt/shadow.h"
#include "simt/step.h"
#include "simt/telling.h"

namespace ptxlab::simt {
namespace {

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

constexpr uint8_t kReturnsOld = 2;  // Op::mode, beside kStrong

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
    return rounded_narrow(a + b, format,
                          random_rounding());  // a sum of two halves fits a double, but for far-apart bf16
  if (a != a) return b != b ? 0x7fff : value;
  if (b != b) return old;
  if (a == b) return op == AtomicOp::maximum ? old & value : old | value;
  return (op == AtomicOp::minimum) == (a < b) ? old : value;
}

uint64_t float_atomic(isa::Type type, uint64_t old, uint64_t value, bool flush) {
  base::Random* random = random_rounding();
  if (type == isa::Type::f64)
    return std::bit_cast<uint64_t>(rounded_sum(std::bit_cast<double>(old), std::bit_cast<double>(value), random));
  float a = std::bit_cast<float>(static_cast<uint32_t>(old)), b = std::bit_cast<float>(static_cast<uint32_t>(value));
  if (flush) a = flush_f32(a), b = flush_f32(b);
  float sum = random ? rounded_float(double{a} + b, random) : a + b;
  if (flush) sum = flush_f32(sum);
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

// nvcc writes atom where red would do: whether somebody reads the old value decides.
bool wants_old(const Context& context, const Op& op) {
  return op.d != kSinkSlot && context.frame.code->read_slots[op.d];
}

// Adding 1 without asking for the old value: the hardware counts the lanes at one place and adds once.
bool is_count(const Context& context, const Op& op, AtomicOp kind) {
  return kind == AtomicOp::add && op.bits == 32 && !wants_old(context, op) &&
         op.b >= context.frame.code->register_end && op.modifiers->type != isa::Type::f32 &&
         value_of(context.registers, op.b, false, 0) == 1;
}

Flow atomic(Context& context, const Op& op, LaneMask active) {
  uint32_t bytes = op.bits / 8;
  auto kind = static_cast<AtomicOp>(op.flags);
  const Registers& r = context.registers;
  if (wants_old(context, op) && op.space != isa::Space::shared) context.machine.polled();
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

// An atomic of several elements, each atomic by itself, or of 128 bits at once: the registers of d (of atom), b and c stand
// in the op's list one behind the other.
Flow atomic_of_many(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  auto kind = static_cast<AtomicOp>(op.flags);
  bool returns = op.mode & kReturnsOld, swaps = kind == AtomicOp::swap;
  uint32_t n = op.count / (1u + returns + swaps), element = op.bits / 8u, bytes = n * element;
  const uint32_t* d = &context.frame.code->lists[op.list];
  const uint32_t *b = returns ? d + n : d, *c = b + n;
  isa::Type type = op.modifiers->type;
  bool at_once = type == isa::Type::b128, flush = type == isa::Type::f32;
  uint64_t old[kLanes][8] = {}, undefined[kLanes][8] = {};
  bool ok = for_each_group(request_of(context, op, active, bytes, Intent::update), [&](const Group& group) {
    Telling telling;
    bool values = context.machine.wants(kAccessValues) && watched(context, op);
    if (values) telling.before = telling.after = bytes_of(group, bytes);
    auto turn = static_cast<int>(context.machine.random().below(kLanes));
    for (int i = 0; i < kLanes; ++i) {
      int l = (i + turn) % kLanes;
      if (!(group.lanes >> l & 1)) continue;
      uint8_t* at = group.at(l);
      if (values) std::memcpy(telling.before.data() + size_t{bytes} * static_cast<size_t>(l), at, bytes);
      bool differs = false;
      for (uint32_t k = 0; k < n; ++k) {
        std::memcpy(&old[l][k], at + k * element, element);
        differs = differs || (swaps && old[l][k] != value_of(r, b[k], op.b_wide, l));
      }
      bool operand_undefined = false, old_undefined = false;
      for (uint32_t k = 0; k < n && context.defined; ++k) {
        uint64_t operand = shadow_of(r, b[k], op.b_wide, l) | (swaps ? shadow_of(r, c[k], op.b_wide, l) : 0);
        if ((operand & low_bits(op.bits)) && !group.region->defined) context.machine.make_definedness(*group.region);
        if (!group.region->defined) continue;
        uint64_t defined = 0;
        std::memcpy(&defined, group.defined_at(l) + k * element, element);
        undefined[l][k] = ~defined & low_bits(op.bits);
        operand_undefined = (operand & low_bits(op.bits)) != 0;
        old_undefined = undefined[l][k] != 0 && kind != AtomicOp::exchange;
        uint64_t now = operand_undefined || old_undefined ? 0 : ~uint64_t{0};
        std::memcpy(group.defined_at(l) + k * element, &now, element);
      }
      for (uint32_t k = 0; k < n; ++k) {
        uint64_t value = value_of(r, b[k], op.b_wide, l) & low_bits(op.bits), updated = value;
        if (at_once) {
          if (swaps) updated = differs ? old[l][k] : value_of(r, c[k], op.b_wide, l);
        } else {
          updated = atomic_result(kind, type, old[l][k], value, 0, flush);
        }
        std::memcpy(at + k * element, &updated, element);
      }
      if (values) std::memcpy(telling.after.data() + size_t{bytes} * static_cast<size_t>(l), at, bytes);
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, bytes, true);
    if (watched(context, op)) tell(context, op, group, bytes, Intent::update, true, telling);
  });
  if (!ok) return Flow::fault;
  for (uint32_t k = 0; returns && k < n; ++k) {
    if (d[k] == kSinkSlot) continue;
    LaneMask bad = 0;
    for (LaneMask left = active; left; left &= left - 1) {
      int l = std::countr_zero(left);
      set_value(r, d[k], op.b_wide, l, old[l][k]);
      set_shadow(r, d[k], op.b_wide, l, undefined[l][k]);
      bad |= LaneMask{undefined[l][k] != 0} << l;
    }
    if (bad) set_origin(r, d[k], op.id + 1);
  }
  return Flow::next;
}

Step select_atomic(const isa::Form& form, const Modifiers& m, Op& op) {
  if (!plain_space(m.space)) return nullptr;
  for (const AtomicWord& word : kAtomicWords)
    if (form.has(word.token)) op.flags = static_cast<uint8_t>(word.op);
  if (static_cast<AtomicOp>(op.flags) == AtomicOp::none) return nullptr;
  op.mode = kStrong;
  if (form.vector_length() == 1 && m.type != isa::Type::b128) return atomic;
  if (form.row->opcode == "atom") op.mode |= kReturnsOld;
  return atomic_of_many;
}

}  // namespace

const StepBinding* atomic_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"atom", select_atomic},
      {"red", select_atomic},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
