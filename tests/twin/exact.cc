#include "exact.h"

#include <bit>
#include <cassert>
#include <cmath>

namespace ptxlab::twin {
namespace {

// Sign and magnitude in fixed point: bit 0 weighs 2^-kPoint. Products of doubles reach from 2^-2148 to 2^2048, and
// quotients need some bits below that.
constexpr int kWords = 80;
constexpr int kPoint = 2400;

struct Fixed {
  bool negative = false;
  std::array<uint64_t, kWords> words{};

  bool zero() const {
    for (uint64_t w : words)
      if (w) return false;
    return true;
  }
  int top() const {  // position of the highest bit; -1 for zero
    for (int i = kWords - 1; i >= 0; --i)
      if (words[i]) return i * 64 + 63 - std::countl_zero(words[i]);
    return -1;
  }
  bool bit(int at) const { return at >= 0 && (words[at / 64] >> (at % 64) & 1); }
  bool any_below(int at) const {
    for (int i = 0; i < at; ++i)
      if (bit(i)) return true;
    return false;
  }
};

// magnitude * 2^exponent
Fixed fixed(bool negative, unsigned __int128 magnitude, int exponent) {
  Fixed out;
  out.negative = negative;
  for (int i = 0; i < 128; ++i) {
    if (!(magnitude >> i & 1)) continue;
    int at = exponent + i + kPoint;
    assert(at >= 0 && at < kWords * 64);
    out.words[at / 64] |= uint64_t{1} << (at % 64);
  }
  return out;
}

int compare_magnitude(const Fixed& a, const Fixed& b) {
  for (int i = kWords - 1; i >= 0; --i)
    if (a.words[i] != b.words[i]) return a.words[i] < b.words[i] ? -1 : 1;
  return 0;
}

Fixed sum(const Fixed& a, const Fixed& b) {
  Fixed out;
  if (a.negative == b.negative) {
    out.negative = a.negative;
    unsigned __int128 carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += static_cast<unsigned __int128>(a.words[i]) + b.words[i];
      out.words[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    return out;
  }
  const bool a_larger = compare_magnitude(a, b) >= 0;
  const Fixed& large = a_larger ? a : b;
  const Fixed& small = a_larger ? b : a;
  out.negative = large.negative;
  uint64_t borrow = 0;
  for (int i = 0; i < kWords; ++i) {
    unsigned __int128 take = static_cast<unsigned __int128>(small.words[i]) + borrow;
    borrow = large.words[i] < take;
    out.words[i] = static_cast<uint64_t>(large.words[i] - take);
  }
  return out;
}

int bias(Format f) { return (1 << (f.exponent - 1)) - 1; }

// A finite number as significand * 2^exponent.
struct Parts {
  bool negative;
  uint64_t significand;
  int exponent;
};

Parts parts(Bits a, Format f) {
  uint64_t field = a >> f.fraction & ((uint64_t{1} << f.exponent) - 1);
  uint64_t significand = a & ((uint64_t{1} << f.fraction) - 1);
  if (field) significand |= uint64_t{1} << f.fraction;
  return {is_negative(a, f), significand, static_cast<int>(field ? field : 1) - bias(f) - f.fraction};
}

Fixed fixed(Bits a, Format f) {
  Parts p = parts(a, f);
  return fixed(p.negative, p.significand, p.exponent);
}

Bits largest(Format f) {
  switch (f.specials) {
    case Format::Specials::ieee: return infinity(f) - 1;
    case Format::Specials::nan_only: return sign_bit(f) - 2;
    case Format::Specials::none: return sign_bit(f) - 1;
  }
  return 0;
}

bool away(bool odd, bool half, bool below, bool negative, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: return half && (below || odd);
    case Rounding::nearest_away: return half;
    case Rounding::zero: return false;
    case Rounding::down: return negative && (half || below);
    case Rounding::up: return !negative && (half || below);
  }
  return false;
}

Bits overflowed(bool negative, Format f, Mode mode) {
  const Bits sign = negative ? sign_bit(f) : 0;
  bool stays = mode.satfinite || f.specials == Format::Specials::none || mode.rounding == Rounding::zero ||
               (mode.rounding == Rounding::down && !negative) || (mode.rounding == Rounding::up && negative);
  if (stays) return sign | largest(f);
  return sign | (f.specials == Format::Specials::nan_only ? canonical_nan(f) : infinity(f));
}

// The rounded pattern of a nonzero exact value.
Bits round(const Fixed& value, Format f, Mode mode) {
  const int top = value.top() - kPoint;
  const int smallest = 1 - bias(f);                                 // exponent of the smallest normal number
  const int last = (top < smallest ? smallest : top) - f.fraction;  // weight of the result's last bit
  uint64_t kept = 0;
  for (int at = top; at >= last; --at) kept = kept << 1 | value.bit(at + kPoint);
  if (away(kept & 1, value.bit(last - 1 + kPoint), value.any_below(last - 1 + kPoint), value.negative, mode.rounding))
    ++kept;
  int exponent = last + f.fraction;  // of a significand with the implicit bit
  if (kept >> (f.fraction + 1)) {
    kept >>= 1;
    ++exponent;
  }
  Bits magnitude;
  if (kept >> f.fraction) {
    int field = exponent + bias(f);
    if (field >= 1 << f.exponent) return overflowed(value.negative, f, mode);
    magnitude = static_cast<Bits>(field) << f.fraction | (kept & ((uint64_t{1} << f.fraction) - 1));
  } else {
    magnitude = kept;
  }
  if (magnitude > largest(f)) return overflowed(value.negative, f, mode);
  return (value.negative ? sign_bit(f) : 0) | magnitude;
}

Bits finish(Bits result, Format f, Mode mode) {
  if (mode.ftz) result = flush(result, f);
  if (mode.sat) {
    const Bits one = static_cast<Bits>(bias(f)) << f.fraction;
    if (is_nan(result, f) || is_negative(result, f)) return 0;
    return result > one ? one : result;
  }
  if (mode.relu && !is_nan(result, f) && is_negative(result, f)) return 0;
  return result;
}

Bits finish(const Fixed& value, bool zero_negative, Format f, Mode mode) {
  if (value.zero()) return finish(zero_negative ? sign_bit(f) : 0, f, mode);
  return finish(round(value, f, mode), f, mode);
}

uint64_t integer_root(unsigned __int128 value, bool& exact) {
  uint64_t root = 0;
  for (int i = 63; i >= 0; --i) {
    uint64_t next = root | uint64_t{1} << i;
    if (static_cast<unsigned __int128>(next) * next <= value) root = next;
  }
  exact = static_cast<unsigned __int128>(root) * root == value;
  return root;
}

}  // namespace

Bits sign_bit(Format f) { return Bits{1} << (f.exponent + f.fraction); }
Bits infinity(Format f) { return ((Bits{1} << f.exponent) - 1) << f.fraction; }
Bits canonical_nan(Format f) { return sign_bit(f) - 1; }

bool is_nan(Bits a, Format f) {
  Bits magnitude = a & (sign_bit(f) - 1);
  switch (f.specials) {
    case Format::Specials::ieee: return magnitude > infinity(f);
    case Format::Specials::nan_only: return magnitude == sign_bit(f) - 1;
    case Format::Specials::none: return false;
  }
  return false;
}
bool is_infinite(Bits a, Format f) {
  return f.specials == Format::Specials::ieee && (a & (sign_bit(f) - 1)) == infinity(f);
}
bool is_zero(Bits a, Format f) { return (a & (sign_bit(f) - 1)) == 0; }
bool is_denormal(Bits a, Format f) {
  Bits magnitude = a & (sign_bit(f) - 1);
  return magnitude != 0 && magnitude >> f.fraction == 0;
}
Bits flush(Bits a, Format f) { return is_denormal(a, f) ? a & sign_bit(f) : a; }

Bits add(Bits a, Bits b, Format f, Mode mode) {
  if (mode.ftz) a = flush(a, f), b = flush(b, f);
  const bool opposite = is_negative(a, f) != is_negative(b, f);
  if (is_nan(a, f) || is_nan(b, f) || (is_infinite(a, f) && is_infinite(b, f) && opposite))
    return finish(canonical_nan(f), f, mode);
  if (is_infinite(a, f)) return finish(a, f, mode);
  if (is_infinite(b, f)) return finish(b, f, mode);
  const bool zero_negative = opposite ? mode.rounding == Rounding::down : is_negative(a, f);
  return finish(sum(fixed(a, f), fixed(b, f)), zero_negative, f, mode);
}

Bits multiply(Bits a, Bits b, Format f, Mode mode) {
  if (mode.ftz) a = flush(a, f), b = flush(b, f);
  const bool negative = is_negative(a, f) != is_negative(b, f);
  const bool infinite = is_infinite(a, f) || is_infinite(b, f);
  if (is_nan(a, f) || is_nan(b, f) || (infinite && (is_zero(a, f) || is_zero(b, f))))
    return finish(canonical_nan(f), f, mode);
  if (infinite) return finish(infinity(f) | (negative ? sign_bit(f) : 0), f, mode);
  Parts x = parts(a, f), y = parts(b, f);
  unsigned __int128 product = static_cast<unsigned __int128>(x.significand) * y.significand;
  return finish(fixed(negative, product, x.exponent + y.exponent), negative, f, mode);
}

Bits fused_multiply_add(Bits a, Bits b, Bits c, Format f, Mode mode) {
  if (mode.ftz) a = flush(a, f), b = flush(b, f), c = flush(c, f);
  const bool negative = is_negative(a, f) != is_negative(b, f);
  const bool infinite = is_infinite(a, f) || is_infinite(b, f);
  const bool opposite = negative != is_negative(c, f);
  if (is_nan(a, f) || is_nan(b, f) || is_nan(c, f) || (infinite && (is_zero(a, f) || is_zero(b, f))) ||
      (infinite && is_infinite(c, f) && opposite))
    return finish(canonical_nan(f), f, mode);
  if (infinite) return finish(infinity(f) | (negative ? sign_bit(f) : 0), f, mode);
  if (is_infinite(c, f)) return finish(c, f, mode);
  Parts x = parts(a, f), y = parts(b, f);
  unsigned __int128 product = static_cast<unsigned __int128>(x.significand) * y.significand;
  const bool zero_negative = opposite ? mode.rounding == Rounding::down : negative;
  return finish(sum(fixed(negative, product, x.exponent + y.exponent), fixed(c, f)), zero_negative, f, mode);
}

Bits divide(Bits a, Bits b, Format f, Mode mode) {
  if (mode.ftz) a = flush(a, f), b = flush(b, f);
  const bool negative = is_negative(a, f) != is_negative(b, f);
  const Bits sign = negative ? sign_bit(f) : 0;
  if (is_nan(a, f) || is_nan(b, f) || (is_infinite(a, f) && is_infinite(b, f)) || (is_zero(a, f) && is_zero(b, f)))
    return finish(canonical_nan(f), f, mode);
  if (is_infinite(a, f) || is_zero(b, f)) return finish(infinity(f) | sign, f, mode);
  if (is_infinite(b, f) || is_zero(a, f)) return finish(sign, f, mode);
  Parts x = parts(a, f), y = parts(b, f);
  // A quotient of at least 68 bits whose last bit says whether anything is left over.
  int shift = 72 + (std::countl_zero(x.significand) - 11);
  unsigned __int128 numerator = static_cast<unsigned __int128>(x.significand) << shift;
  unsigned __int128 quotient = numerator / y.significand;
  bool rest = numerator % y.significand != 0;
  return finish(fixed(negative, quotient << 1 | rest, x.exponent - shift - y.exponent - 1), negative, f, mode);
}

Bits square_root(Bits a, Format f, Mode mode) {
  if (mode.ftz) a = flush(a, f);
  if (is_zero(a, f)) return finish(a, f, mode);
  if (is_nan(a, f) || is_negative(a, f)) return finish(canonical_nan(f), f, mode);
  if (is_infinite(a, f)) return finish(a, f, mode);
  Parts x = parts(a, f);
  int shift = 62 + std::countl_zero(x.significand);
  if ((x.exponent - shift) % 2 != 0) --shift;
  bool exact = false;
  uint64_t root = integer_root(static_cast<unsigned __int128>(x.significand) << shift, exact);
  return finish(fixed(false, static_cast<unsigned __int128>(root) << 1 | !exact, (x.exponent - shift) / 2 - 1), false,
                f, mode);
}

int compare(Bits a, Bits b, Format f) {
  if (is_zero(a, f) && is_zero(b, f)) return 0;
  if (is_negative(a, f) != is_negative(b, f)) return is_negative(a, f) ? -1 : 1;
  if (a == b) return 0;
  return (a < b) != is_negative(a, f) ? -1 : 1;  // magnitudes grow with patterns
}

Bits convert(Bits a, Format from, Format to, Mode mode) {
  if (is_nan(a, from)) {
    if (to.specials == Format::Specials::none) return largest(to);
    return finish(canonical_nan(to), to, mode);
  }
  const bool negative = is_negative(a, from);
  if (is_infinite(a, from)) {
    const Bits sign = negative ? sign_bit(to) : 0;
    if (mode.satfinite || to.specials == Format::Specials::none) return finish(sign | largest(to), to, mode);
    return finish(sign | (to.specials == Format::Specials::nan_only ? canonical_nan(to) : infinity(to)), to, mode);
  }
  return finish(fixed(a, from), negative, to, mode);
}

Bits from_integer(bool negative, uint64_t magnitude, Format to, Mode mode) {
  return finish(fixed(negative, magnitude, 0), false, to, mode);
}

Bits to_integral(Bits a, Format f, Rounding rounding) {
  if (is_nan(a, f)) return canonical_nan(f);
  if (is_infinite(a, f) || is_zero(a, f)) return a;
  __int128 limit = static_cast<__int128>(1) << 100;
  if (compare(a & ~sign_bit(f), from_integer(false, uint64_t{1} << 60, f, {}), f) >= 0) return a;
  __int128 value = to_integer(a, f, rounding, -limit, limit);
  if (value == 0) return is_negative(a, f) ? sign_bit(f) : 0;
  return from_integer(value < 0, static_cast<uint64_t>(value < 0 ? -value : value), f, {});
}

__int128 to_integer(Bits a, Format f, Rounding rounding, __int128 low, __int128 high) {
  const bool negative = is_negative(a, f);
  if (is_infinite(a, f)) return negative ? low : high;
  Parts p = parts(a, f);
  if (p.exponent > 64) return p.significand == 0 ? 0 : negative ? low : high;
  __int128 magnitude;
  if (p.exponent >= 0) {
    magnitude = static_cast<__int128>(p.significand) << p.exponent;
  } else {
    int cut = -p.exponent > 70 ? 70 : -p.exponent;
    unsigned __int128 significand = p.significand;
    if (-p.exponent > 70 && p.significand) significand = 1;  // far below a half: only that it is not zero counts
    magnitude = static_cast<__int128>(significand >> cut);
    bool half = significand >> (cut - 1) & 1;
    bool below = (significand & ((static_cast<unsigned __int128>(1) << (cut - 1)) - 1)) != 0;
    if (away(magnitude & 1, half, below, negative, rounding)) ++magnitude;
  }
  __int128 value = negative ? -magnitude : magnitude;
  return value < low ? low : value > high ? high : value;
}

double to_double(Bits a, Format f) { return std::bit_cast<double>(convert(a, f, kF64, {})); }
Bits from_double(double value, Format f, Mode mode) { return convert(std::bit_cast<uint64_t>(value), kF64, f, mode); }

}  // namespace ptxlab::twin
