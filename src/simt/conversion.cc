#include "simt/conversion.h"

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <optional>

#include "base/narrow_float.h"
#include "simt/shadow.h"

namespace ptxlab::simt {
namespace {

using isa::Type;

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

std::optional<base::Format> format_of(Type type) {
  switch (type) {
    case Type::f16: return base::kF16;
    case Type::bf16: return base::kBf16;
    case Type::tf32: return base::kTf32;
    case Type::f32: return base::kF32;
    case Type::e4m3: return base::kE4m3;
    case Type::e5m2: return base::kE5m2;
    case Type::e3m2: return base::kE3m2;
    case Type::e2m3: return base::kE2m3;
    case Type::e2m1: return base::kE2m1;
    default: return std::nullopt;
  }
}

base::Rounding rounding_of(const Modifiers& m) {
  switch (m.rounding) {
    case Rounding::none:
    case Rounding::nearest_even: return base::Rounding::nearest_even;
    case Rounding::zero: return base::Rounding::zero;
    case Rounding::down: return base::Rounding::down;
    case Rounding::up: return base::Rounding::up;
    case Rounding::nearest_away: return base::Rounding::nearest_away;
  }
  return base::Rounding::nearest_even;
}

double to_whole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(x);
    case Rounding::down: return std::floor(x);
    case Rounding::up: return std::ceil(x);
    case Rounding::nearest_away: return std::round(x);
    case Rounding::none:
    case Rounding::nearest_even: break;
  }
  return std::nearbyint(x);
}

// The numbers of a type as __int128, which holds them all.
struct Range {
  __int128 low, high;
};
Range range_of(Type type) {
  int bits = isa::bits_of(type);
  if (isa::is_signed(type)) return {-(__int128{1} << (bits - 1)), (__int128{1} << (bits - 1)) - 1};
  return {0, (__int128{1} << bits) - 1};
}
__int128 integer_of(uint64_t word, Type type) {
  int bits = isa::bits_of(type);
  word &= low_bits(bits);
  if (isa::is_signed(type) && (word >> (bits - 1) & 1)) return static_cast<__int128>(word) - (__int128{1} << bits);
  return word;
}
__int128 clamped(__int128 value, Range range) {
  return value < range.low ? range.low : value > range.high ? range.high : value;
}

// An integer as a double that keeps, in its last bit, whether anything was cut off: rounding it to at most 32 bits is then
// the same as rounding the integer.
double sticky_double(__int128 value) {
  bool negative = value < 0;
  auto magnitude = static_cast<unsigned __int128>(negative ? -value : value);
  int shift = 0;
  bool cut = false;
  while (magnitude >> 52) cut |= magnitude & 1, magnitude >>= 1, ++shift;
  double d = std::ldexp(static_cast<double>(static_cast<uint64_t>(magnitude) << 1 | cut), shift - 1);
  return negative ? -d : d;
}
// Both halves are exact, so that their sum is rounded once, in the mode that is set around it.
double integer_to_double(__int128 value, Rounding rounding) {
  unsigned mode = rounding == Rounding::down   ? 0x2000
                  : rounding == Rounding::up   ? 0x4000
                  : rounding == Rounding::zero ? 0x6000
                                               : 0;
  volatile double high = static_cast<double>(static_cast<int64_t>(value >> 32)) * 0x1p32;
  volatile double low = static_cast<double>(static_cast<uint32_t>(value));
  unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | mode);
  volatile double sum = high + low;
  _mm_setcsr(saved);
  return value == 0 ? 0.0 : sum;
}

// ue8m0: the powers of two from 2^-127 on; the sign of what becomes one is lost.
double power_of(uint64_t word) {
  auto exponent = static_cast<int>(word & 0xff);
  return exponent == 0xff ? std::bit_cast<double>(uint64_t{0x7fffffffffffffff}) : std::ldexp(1.0, exponent - 127);
}
uint64_t to_power(double x, const Modifiers& m) {
  if (x != x) return 0xff;
  x = std::fabs(x);
  int exponent = 0;
  double fraction = std::isinf(x) ? 0 : std::frexp(x, &exponent);  // x = fraction * 2^exponent, fraction in [0.5, 1)
  int biased = std::isinf(x) ? 0xff : x == 0 ? 0 : exponent - 1 + 127;
  if (m.rounding == Rounding::up && x != 0 && !std::isinf(x) && fraction != 0.5) ++biased;
  biased = biased < 0 ? 0 : biased > 0xff ? 0xff : biased;
  return static_cast<uint64_t>(m.satfinite && biased == 0xff ? 0xfe : biased);
}

double float_of(uint64_t word, Type type, bool ftz) {
  if (type == Type::f64) return std::bit_cast<double>(word);
  if (type == Type::ue8m0) return power_of(word);
  double x = base::widen(static_cast<uint32_t>(word & low_bits(isa::bits_of(type))), *format_of(type));
  return ftz && type == Type::f32 && std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
}

uint64_t float_to_integer(double x, const Modifiers& m) {
  int bits = isa::bits_of(m.type);
  if (x != x) return m.second != Type::f64 && bits < 64 ? 0 : uint64_t{1} << (bits - 1);
  x = to_whole(x, m.rounding);
  Range range = range_of(m.type);
  if (x >= std::ldexp(1.0, isa::is_signed(m.type) ? bits - 1 : bits)) return static_cast<uint64_t>(range.high);
  if (x < static_cast<double>(range.low)) return static_cast<uint64_t>(range.low);
  return static_cast<uint64_t>(static_cast<__int128>(x));
}

// To the bits of a floating type; `whole` is the exact source where that was an integer.
uint64_t to_float(double x, const Modifiers& m, Type type) {
  if (type == Type::ue8m0) return to_power(x, m);
  if (m.relu && x <= 0) x = 0;  // -0 becomes +0: an H200 does so
  if (m.sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
  if (type == Type::f64) return x == x ? std::bit_cast<uint64_t>(x) : uint64_t{0x7fffffffffffffff};
  uint32_t word = base::narrow(x, *format_of(type), rounding_of(m), m.satfinite);
  if (type == Type::tf32) return uint64_t{word} << base::kTf32Shift;
  if (type == Type::f32 && m.ftz && (word & 0x7f800000u) == 0) word &= 0x80000000u;
  return word;
}

uint64_t convert_one(uint64_t word, const Modifiers& m) {
  bool from_float = isa::is_float(m.second), to_floating = isa::is_float(m.type);
  if (!from_float) {
    __int128 value = integer_of(word, m.second);
    if (!to_floating) return static_cast<uint64_t>(m.sat ? clamped(value, range_of(m.type)) : value);
    return to_float(m.type == Type::f64 ? integer_to_double(value, m.rounding) : sticky_double(value), m, m.type);
  }
  double x = float_of(word, m.second, m.ftz);
  if (!to_floating) return float_to_integer(x, m);
  if (m.to_integer) x = to_whole(x, m.rounding);
  return to_float(x, m, m.type);
}

void convert(const Op& op, const Registers& r, LaneMask active) {
  const Modifiers& m = *op.modifiers;
  int bits = m.type == Type::tf32 ? 32 : isa::bits_of(m.type);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    uint64_t result = convert_one(value_of(r, op.a, op.a_wide, l), m) & low_bits(bits);
    // A signed result is extended to the register's width.
    if (isa::is_signed(m.type) && (result >> (bits - 1) & 1)) result |= ~low_bits(bits);
    set_value(r, op.d, op.d_wide, l, result);
  }
}

// Two narrow floats in one register: from two operands (the first becomes the high part) or from another pair.
void convert_pair(const Op& op, const Registers& r, LaneMask active) {
  const Modifiers& m = *op.modifiers;
  Type to = isa::info(m.type).element, from = isa::info(m.second).element;
  int to_bits = isa::bits_of(to), from_bits = isa::bits_of(from);
  bool pair = isa::info(m.second).lanes == 2;
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    uint64_t a = value_of(r, op.a, false, l), b = value_of(r, op.b, false, l);
    double high = float_of(pair ? a >> from_bits : a, from, m.ftz), low = float_of(pair ? a : b, from, m.ftz);
    set_value(r, op.d, op.d_wide, l, to_float(high, m, to) << to_bits | to_float(low, m, to));
  }
}

bool scalar_number(Type type) { return isa::is_integer(type) || type == Type::f64 || format_of(type).has_value(); }

void convert_packed(const Op& op, const Registers& r, LaneMask active) {
  const Modifiers& m = *op.modifiers;
  int bits = m.packed_bits ? m.packed_bits : isa::bits_of(m.type);
  Range range = m.packed_bits ? (m.packed_signed ? Range{-2, 1} : Range{0, 3}) : range_of(m.type);
  const auto *a = lanes<uint32_t>(r, op.a), *b = lanes<uint32_t>(r, op.b), *c = lanes<uint32_t>(r, op.c);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    auto half = [&](uint32_t x) {
      return static_cast<uint64_t>(clamped(static_cast<int32_t>(x), range)) & low_bits(bits);
    };
    uint64_t above = bits < 16 ? uint64_t{c[l]} << (2 * bits) : 0;
    set_value(r, op.d, false, l, above | half(a[l]) << bits | half(b[l]));
  }
}

Lanewise select_packed_conversion(const Modifiers& m) { return isa::is_integer(m.type) ? convert_packed : nullptr; }

}  // namespace

Lanewise select_any_conversion(const Modifiers& m) {
  if (m.pack) return select_packed_conversion(m);
  if (m.other) return nullptr;
  const isa::TypeInfo &to = isa::info(m.type), &from = isa::info(m.second);
  if (to.lanes == 1 && from.lanes == 1) return scalar_number(m.type) && scalar_number(m.second) ? convert : nullptr;
  auto narrow_number = [](Type type) { return type == Type::ue8m0 || format_of(type).has_value(); };
  bool known = narrow_number(to.element) && narrow_number(from.element);
  return known && to.lanes == 2 && (from.lanes == 2 || m.second == Type::f32) ? convert_pair : nullptr;
}

}  // namespace ptxlab::simt
