// One rounding step in integers: the significand of the double is cut where the target's last bit lies, the part cut
// off decides by rounding mode, and since exponent and fraction are neighbours in the result a carry needs no care.
#include "base/narrow_float.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace ptxlab::base {
namespace {

constexpr int kDoubleFraction = 52;
constexpr int kDoubleBias = 1023;

int bias_of(Format format) { return (1 << (format.exponent - 1)) - 1; }

// Whether cutting off `rest` (of `half` * 2 possible values, with bits below as `sticky`) rounds the magnitude up.
bool rounds_up(uint64_t kept, uint64_t rest, uint64_t half, bool sticky, bool negative, Rounding rounding) {
  bool inexact = rest != 0 || sticky;
  switch (rounding) {
    case Rounding::nearest_even: return rest > half || (rest == half && (sticky || (kept & 1)));
    case Rounding::nearest_away: return rest >= half;
    case Rounding::zero: return false;
    case Rounding::down: return negative && inexact;
    case Rounding::up: return !negative && inexact;
  }
  return false;
}

uint32_t overflow(Format format, bool negative, Rounding rounding, bool saturate) {
  if (saturate || format.specials == Format::Specials::none) return largest_finite(format);
  bool to_zero =
      rounding == Rounding::zero || (rounding == Rounding::down && !negative) || (rounding == Rounding::up && negative);
  return to_zero ? largest_finite(format) : largest_finite(format) + 1;  // the next pattern: infinity, or e4m3's NaN
}

}  // namespace

uint32_t narrow(double value, Format format, Rounding rounding, bool saturate) {
  assert(format.exponent >= 2 && format.exponent <= 8 && format.fraction >= 1 && format.fraction <= 23);
  const uint32_t largest = largest_finite(format);
  const uint32_t ones = (1u << (format.exponent + format.fraction)) - 1;
  if (std::isnan(value)) return ones;  // without NaN in the format this is the largest positive value
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63;
  const uint32_t sign = negative ? ones + 1 : 0;
  if (std::isinf(value)) {
    bool finite = saturate || format.specials == Format::Specials::none;
    return sign | (finite ? largest : largest + 1);
  }

  int exponent = static_cast<int>(bits >> kDoubleFraction & 0x7ff);
  uint64_t significand = bits & ((uint64_t{1} << kDoubleFraction) - 1);
  if (exponent == 0) {
    exponent = 1;
  } else {
    significand |= uint64_t{1} << kDoubleFraction;
  }
  // Exponent field of the result, were the value normal there; below 1 it is a denormal and more bits go.
  int field = exponent - kDoubleBias + bias_of(format);
  int cut = kDoubleFraction - format.fraction;
  if (field < 1) {
    cut += 1 - field;
    field = 1;
  }
  bool sticky = false;
  if (cut > 62) {  // nothing of 53 bits is left at that place, nor half a unit
    sticky = significand != 0;
    significand = 0;
    cut = 62;
  }
  uint64_t kept = significand >> cut;
  uint64_t rest = significand & ((uint64_t{1} << cut) - 1);
  if (rounds_up(kept, rest, uint64_t{1} << (cut - 1), sticky, negative, rounding)) ++kept;
  // A normal `kept` has the implicit bit, which makes field - 1 into field; a denormal one has field 1 and adds
  // nothing.
  uint64_t magnitude = (static_cast<uint64_t>(field - 1) << format.fraction) + kept;
  if (magnitude > largest) return sign | overflow(format, negative, rounding, saturate);
  return sign | static_cast<uint32_t>(magnitude);
}

double widen(uint32_t bits, Format format) {
  const uint32_t ones = (1u << (format.exponent + format.fraction)) - 1;
  const uint32_t magnitude = bits & ones;
  const bool negative = bits & (ones + 1);
  double out;
  if (magnitude > largest_finite(format)) {
    bool infinite = format.specials == Format::Specials::ieee && magnitude == largest_finite(format) + 1;
    if (!infinite) return std::numeric_limits<double>::quiet_NaN();
    out = std::numeric_limits<double>::infinity();
  } else {
    int field = static_cast<int>(magnitude >> format.fraction);
    uint32_t significand = magnitude & ((1u << format.fraction) - 1);
    if (field > 0) significand |= 1u << format.fraction;
    out = std::ldexp(significand, (field > 0 ? field : 1) - bias_of(format) - format.fraction);
  }
  return negative ? -out : out;
}

}  // namespace ptxlab::base
