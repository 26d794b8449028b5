#include <algorithm>

#include "operations.h"

namespace ptxlab::twin {
namespace {

using isa::Type;

bool wants_integral(const Operation& op) { return op.has("rni") || op.has("rzi") || op.has("rmi") || op.has("rpi"); }

void limits(Type type, __int128& low, __int128& high) {
  const int bits = isa::bits_of(type);
  low = isa::is_signed(type) ? -(static_cast<__int128>(1) << (bits - 1)) : 0;
  high = (static_cast<__int128>(1) << (isa::is_signed(type) ? bits - 1 : bits)) - 1;
}

// An integer result fills the register: extended by its own sign.
uint64_t extended(uint64_t value, Type type) {
  const int bits = isa::bits_of(type);
  return isa::is_signed(type) ? static_cast<uint64_t>(sign_extended(value, bits)) : value & mask(bits);
}

uint64_t integer_to_integer(const Operation& op, uint64_t a, Type to, Type from) {
  uint64_t raw = extended(a, from);
  if (!op.has("sat")) return extended(raw, to);
  __int128 low, high;
  limits(to, low, high);
  const __int128 value =
      isa::is_signed(from) ? static_cast<__int128>(static_cast<int64_t>(raw)) : static_cast<__int128>(raw);
  return extended(static_cast<uint64_t>(std::clamp(value, low, high)), to);
}

uint64_t float_to_integer(const Operation& op, uint64_t a, Type to, Type from) {
  const Format f = format_of(from);
  const int bits = isa::bits_of(to);
  if (op.has("ftz")) a = flush(a, f);
  if (is_nan(a, f)) {
    // The manual: 0, unless the source is f64 or the destination has 64 bits; then the highest bit alone.
    if (from != Type::f64 && bits != 64) return 0;
    return extended(uint64_t{1} << (bits - 1), to);
  }
  __int128 low, high;
  limits(to, low, high);
  return extended(static_cast<uint64_t>(to_integer(a, f, rounding_of(op), low, high)), to);
}

uint64_t integer_to_float(const Operation& op, uint64_t a, Type to, Type from) {
  const uint64_t raw = extended(a, from);
  const bool negative = isa::is_signed(from) && static_cast<int64_t>(raw) < 0;
  return from_integer(negative, negative ? 0 - raw : raw, format_of(to), mode_of(op));
}

// ue8m0 is the exponent field of an f32, and all ones NaN; 2^-127 is an f32's denormal.
uint64_t power_to_float(uint64_t a, Type to) {
  const uint64_t single = a == 0xff ? canonical_nan(base::kF32) : a == 0 ? 0x00400000 : a << 23;
  return convert(single, base::kF32, format_of(to), {});
}
uint64_t float_to_power(const Operation& op, uint64_t a, Type from) {
  const uint64_t single = convert(a, format_of(from), base::kF32, {}) & 0x7fffffff;
  uint64_t out = single >> 23;
  if (single > 0x7f800000) return 0xff;
  const bool more = (single & 0x7fffff) != 0 && single > 0x00400000;
  if (op.has("rp") && more) ++out;
  return op.has("satfinite") && out == 0xff ? 0xfe : out;
}

uint64_t float_to_float(const Operation& op, uint64_t a, Type to, Type from) {
  if (from == Type::ue8m0) return power_to_float(a, to);
  if (to == Type::ue8m0) return float_to_power(op, a, from);
  const Format from_format = format_of(from), to_format = format_of(to);
  if (op.has("ftz") && isa::info(from).element == Type::f32) a = flush(a, from_format);
  Mode mode = mode_of(op);
  mode.ftz = op.has("ftz") && to == Type::f32;
  uint64_t out;
  if (wants_integral(op)) {
    Mode plain = mode;
    plain.rounding = Rounding::nearest_even;
    out = convert(to_integral(a, from_format, rounding_of(op)), from_format, to_format, plain);
  } else {
    out = convert(a, from_format, to_format, mode);
  }
  return to == Type::tf32 ? out << base::kTf32Shift : out;
}

// Two f32 packed as d = {a high, b low}, or two narrow numbers unpacked.
bool packed(const Operation& op, Values& v, Type to, Type from) {
  const isa::TypeInfo& t = isa::info(to);
  const isa::TypeInfo& s = isa::info(from);
  const int to_width = t.bits / t.lanes, from_width = s.bits / s.lanes;
  uint64_t low, high;
  if (v.sources >= 2 && s.lanes == 1) {
    high = v.in[0], low = v.in[1];
  } else {
    low = v.in[0] & mask(from_width), high = v.in[0] >> from_width & mask(from_width);
  }
  v.out = float_to_float(op, low & mask(from_width), t.element, s.element) |
          float_to_float(op, high & mask(from_width), t.element, s.element) << to_width;
  return true;
}

// cvt.pack.sat.to.s32 d, a, b: two saturated values, a above b; with .b32 above c's low part.
bool packing(const Operation& op, Values& v) {
  const Type to = op.type(0), from = op.type(1);
  const bool two_bits = op.has("u2") || op.has("s2");
  const int width = two_bits ? 2 : isa::bits_of(to);
  auto saturated = [&](uint64_t in) {
    if (!two_bits) return integer_to_integer(op, in, to, from) & mask(width);
    const int64_t low = op.has("s2") ? -2 : 0, high = op.has("s2") ? 1 : 3;
    return static_cast<uint64_t>(std::clamp(sign_extended(in, 32), low, high)) & mask(width);
  };
  const uint64_t a = saturated(v.in[0]), b = saturated(v.in[1]);
  v.out = a << width | b;
  if (v.sources == 3) v.out |= v.in[2] << (2 * width);
  v.out &= mask(32);
  return true;
}

}  // namespace

bool conversion(const Operation& op, Values& v) {
  if (op.name != "cvt") return false;
  if (op.has("pack")) return packing(op, v);
  const Type to = op.type(0), from = op.type(1);
  if (isa::info(to).lanes == 2 || isa::info(from).lanes == 2) return packed(op, v, to, from);
  const bool to_float = isa::is_float(to), from_float = isa::is_float(from);
  const uint64_t a = v.in[0] & mask(isa::bits_of(from));
  v.out = to_float ? (from_float ? float_to_float(op, a, to, from) : integer_to_float(op, a, to, from))
                   : (from_float ? float_to_integer(op, a, to, from) : integer_to_integer(op, a, to, from));
  return true;
}

}  // namespace ptxlab::twin
