// How undefined bits travel from the sources of a lanewise instruction to its result. These rules run only when a source
// has an undefined bit in an active lane, so they are written for clarity, a lane at a time. They run before the
// instruction itself, because exact rules need the sources' values and the destination may be one of them.
#include <bit>

#include "simt/binding.h"
#include "simt/shadow.h"

namespace ptxlab::simt {
namespace {

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// One lane's sources and result, each as 64 bits.
struct Lane {
  const Op& op;
  const Registers& r;
  int lane;
  uint64_t a() const { return shadow_of(r, op.a, op.a_wide, lane); }
  uint64_t b() const { return shadow_of(r, op.b, op.b_wide, lane); }
  uint64_t c() const { return shadow_of(r, op.c, op.c_wide, lane); }
  uint64_t e() const { return shadow_of(r, op.e, false, lane); }
  uint64_t value_a() const { return value_of(r, op.a, op.a_wide, lane); }
  uint64_t value_b() const { return value_of(r, op.b, op.b_wide, lane); }
  uint64_t value_c() const { return value_of(r, op.c, op.c_wide, lane); }
  uint64_t value_e() const { return value_of(r, op.e, false, lane); }
  uint64_t any() const { return (a() | b() | c() | e()); }
  uint64_t all() const { return low_bits(op.result_bits); }
};

using LaneRule = uint64_t (*)(const Lane&);

template <LaneRule rule>
void apply(const Op& op, const Registers& r, LaneMask active) {
  uint64_t result[kLanes];
  LaneMask undefined = r.taint[op.a] | r.taint[op.b] | r.taint[op.c] | r.taint[op.e];
  for (int l = 0; l < kLanes; ++l) {
    if (active >> l & 1) result[l] = rule(Lane{op, r, l});
  }
  uint32_t origin = origin_of(r, {op.a, op.b, op.c, op.e}, active);
  for (int l = 0; l < kLanes; ++l) {
    if (active >> l & 1) set_shadow(r, op.d, op.d_wide, l, result[l]);
  }
  set_origin(r, op.d, origin);
  set_origin(r, op.d2, origin);  // a carry: undefined where anything was
  r.taint[op.d2] = (r.taint[op.d2] & ~active) | (undefined & active);
}

uint64_t whole(const Lane& x) { return x.any() ? x.all() : 0; }

uint64_t upward(const Lane& x) {
  uint64_t any = x.any() & low_bits(x.op.bits);
  return any ? x.all() & ~low_bits(std::countr_zero(any)) : 0;
}
uint64_t bitwise(const Lane& x) { return x.any() & x.all(); }
uint64_t conjunction(const Lane& x) {
  uint64_t a = x.a(), b = x.b();
  return ((a & b) | (a & x.value_b()) | (b & x.value_a())) & x.all();
}
uint64_t disjunction(const Lane& x) {
  uint64_t a = x.a(), b = x.b();
  return ((a & b) | (a & ~x.value_b()) | (b & ~x.value_a())) & x.all();
}
uint64_t move(const Lane& x) { return x.a(); }
uint64_t shift_left(const Lane& x) {
  if (x.b()) return x.all();
  uint64_t n = x.value_b();
  return n >= x.op.bits ? 0 : (x.a() << n) & x.all();
}
uint64_t shift_right(const Lane& x) {
  if (x.b()) return x.all();
  int bits = x.op.bits;
  uint64_t a = x.a() & low_bits(bits), n = x.value_b();
  bool sign = x.op.is_signed && (a >> (bits - 1) & 1);
  uint64_t filled = sign ? a | ~low_bits(bits) : a;
  if (n >= 64 || n >= static_cast<uint64_t>(bits)) return sign ? x.all() : 0;
  return static_cast<uint64_t>(sign ? static_cast<int64_t>(filled) >> n : static_cast<int64_t>(filled >> n)) & x.all();
}
uint64_t funnel(const Lane& x) {
  if (x.c()) return x.all();
  uint64_t both = x.b() << 32 | (x.a() & low_bits(32)), n = x.value_c();
  n = x.op.modifiers->wrap ? n & 31 : (n > 32 ? 32 : n);
  return (x.op.modifiers->left ? (both << n) >> 32 : both >> n) & x.all();
}
uint64_t choose(const Lane& x) {
  LaneMask bit = LaneMask{1} << x.lane;
  if (x.r.taint[x.op.c] & bit) return (x.a() | x.b() | (x.value_a() ^ x.value_b())) & x.all();
  bool p = ((predicate(x.r, x.op.c) & bit) != 0) != x.op.negate_c;
  return p ? x.a() : x.b();
}
uint64_t extract(const Lane& x) {
  if (x.b() | x.c()) return x.all();
  uint64_t position = x.value_b() & 255, length = x.value_c() & 255;
  uint64_t field = position >= 64 ? 0 : (x.a() & low_bits(x.op.bits)) >> position & low_bits(static_cast<int>(length));
  if (!x.op.is_signed) return field;
  uint64_t top = position + length - 1;
  bool sign = length && (x.a() >> (top > x.op.bits - 1u ? x.op.bits - 1u : top) & 1);
  return sign ? (field | ~low_bits(static_cast<int>(length))) & x.all() : field;
}
uint64_t insert(const Lane& x) {
  if (shadow_of(x.r, x.op.c, false, x.lane) | x.e()) return x.all();
  uint64_t position = x.value_c() & 255, length = x.value_e() & 255;
  uint64_t mask = position >= 64 ? 0 : low_bits(static_cast<int>(length)) << position;
  return ((x.b() & ~mask) | (position >= 64 ? 0 : (x.a() << position) & mask)) & x.all();
}
uint64_t permute(const Lane& x) {
  if (x.c()) return x.all();
  if (x.op.mode) return x.a() | x.b() ? x.all() : 0;  // the fixed modes: rare
  uint64_t both = x.b() << 32 | (x.a() & low_bits(32)), out = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t nibble = x.value_c() >> (4 * i) & 15, byte = both >> (8 * (nibble & 7)) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}
uint64_t reverse(const Lane& x) {
  uint64_t out = 0;
  for (int i = 0; i < x.op.bits; ++i) out |= (x.a() >> i & 1) << (x.op.bits - 1 - i);
  return out;
}
// Truncation, zero and sign extension; the sign extension reaches to the end of the destination's register.
uint64_t convert_integer(const Lane& x) {
  int from = isa::bits_of(x.op.modifiers->second), to = isa::bits_of(x.op.modifiers->type);
  uint64_t a = x.a() & low_bits(from);
  if (x.op.modifiers->sat) return a ? low_bits(x.op.d_wide ? 64 : 32) : 0;
  bool from_sign = isa::is_signed(x.op.modifiers->second) && (a >> (from - 1) & 1);
  if (from_sign) a |= ~low_bits(from);
  a &= low_bits(to);
  bool to_sign = isa::is_signed(x.op.modifiers->type) && (a >> (to - 1) & 1);
  if (to_sign) a |= ~low_bits(to);
  return a & low_bits(x.op.d_wide ? 64 : 32);
}
uint64_t halves(const Lane& x) {
  uint64_t any = x.any();
  return ((any & 0xffff) ? 0xffff : 0) | ((any & 0xffff0000) ? 0xffff0000 : 0);
}
uint64_t words(const Lane& x) {
  uint64_t any = x.any();
  return ((any & low_bits(32)) ? low_bits(32) : 0) | ((any >> 32) ? low_bits(32) << 32 : 0);
}
uint64_t pack_halves(const Lane& x) { return (x.b() ? 0xffff : 0) | (x.a() ? 0xffff0000 : 0); }
uint64_t sign_bits(const Lane& x) { return x.a() & x.all(); }

// Into predicates, whose definedness is their taint alone. A comparison that c decides is defined.
void compare(const Op& op, const Registers& r, LaneMask active) {
  LaneMask undefined = r.taint[op.a] | r.taint[op.b], c_undefined = r.taint[op.c];
  LaneMask c = predicate(r, op.c) ^ (op.negate_c ? kAllLanes : 0);
  switch (static_cast<Combine>(op.mode)) {
    case Combine::none: break;
    case Combine::conjunction: undefined = (undefined & (c | c_undefined)) | c_undefined; break;
    case Combine::disjunction: undefined = (undefined & (~c | c_undefined)) | c_undefined; break;
    case Combine::exclusive: undefined |= c_undefined; break;
  }
  uint32_t origin = origin_of(r, {op.a, op.b, op.c}, active);
  for (uint32_t d : {op.d, op.d2}) {
    r.taint[d] = (r.taint[d] & ~active) | (undefined & active);
    set_origin(r, d, origin);
  }
}
// Of pairs the low halves decide the first predicate, the high ones the second.
void compare_halves(const Op& op, const Registers& r, LaneMask active) {
  LaneMask c_undefined = r.taint[op.c], c = predicate(r, op.c) ^ (op.negate_c ? kAllLanes : 0), undefined[2] = {};
  for (int l = 0; l < kLanes; ++l) {
    uint64_t any = shadow_of(r, op.a, false, l) | shadow_of(r, op.b, false, l);
    for (int half = 0; half < 2; ++half) undefined[half] |= LaneMask{(any >> (16 * half) & 0xffff) != 0} << l;
  }
  uint32_t origin = origin_of(r, {op.a, op.b, op.c}, active);
  for (int half = 0; half < 2; ++half) {
    LaneMask u = undefined[half];
    auto how = static_cast<Combine>(op.mode);
    if (how == Combine::conjunction) u &= c | c_undefined;
    if (how == Combine::disjunction) u &= ~c | c_undefined;
    if (how != Combine::none) u |= c_undefined;
    uint32_t d = half ? op.d2 : op.d;
    r.taint[d] = (r.taint[d] & ~active) | (u & active);
    set_origin(r, d, origin);
  }
}
// Logic of predicates: a defined operand may decide.
void predicates(const Op& op, const Registers& r, LaneMask active) {
  LaneMask ta = r.taint[op.a], tb = r.taint[op.b], a = predicate(r, op.a), b = predicate(r, op.b);
  LaneMask undefined = ta | tb;
  if (op.mode == static_cast<uint8_t>(Combine::conjunction)) undefined = (ta & tb) | (ta & b) | (tb & a);
  if (op.mode == static_cast<uint8_t>(Combine::disjunction)) undefined = (ta & tb) | (ta & ~b) | (tb & ~a);
  uint32_t origin = origin_of(r, {op.a, op.b}, active);
  r.taint[op.d] = (r.taint[op.d] & ~active) | (undefined & active);
  set_origin(r, op.d, origin);
}

bool halved(isa::Type type) { return isa::info(type).lanes == 2 && isa::info(type).bits == 32; }

}  // namespace

Rule rule_for(Travel travel, const Modifiers& m) {
  if (m.type == isa::Type::pred) return predicates;
  bool floats = isa::is_float(m.type);
  switch (travel) {
    case Travel::whole:
      if (m.type == isa::Type::f32x2) return apply<words>;
      return halved(m.type) || (halved(m.second) && !floats) ? apply<halves> : apply<whole>;
    case Travel::upward:
      if (m.type == isa::Type::f32x2) return apply<words>;
      if (halved(m.type)) return apply<halves>;
      return floats || m.sat || m.part == Part::hi || m.carry_out ? apply<whole> : apply<upward>;
    case Travel::bitwise: return apply<bitwise>;
    case Travel::conjunction: return apply<conjunction>;
    case Travel::disjunction: return apply<disjunction>;
    case Travel::move: return apply<move>;
    case Travel::shift_left: return apply<shift_left>;
    case Travel::shift_right: return apply<shift_right>;
    case Travel::funnel: return apply<funnel>;
    case Travel::choose: return apply<choose>;
    case Travel::extract: return apply<extract>;
    case Travel::insert: return apply<insert>;
    case Travel::permute: return apply<permute>;
    case Travel::reverse: return apply<reverse>;
    case Travel::convert:
      if (!floats && !isa::is_float(m.second)) return apply<convert_integer>;
      return halved(m.type) && m.second == isa::Type::f32 ? apply<pack_halves> : apply<whole>;
    case Travel::halves: return apply<halves>;
    case Travel::pack_halves: return apply<pack_halves>;
    case Travel::compare: return halved(m.type) ? compare_halves : compare;
    case Travel::sign: return floats ? apply<sign_bits> : apply<upward>;
  }
  return apply<whole>;
}

}  // namespace ptxlab::simt
