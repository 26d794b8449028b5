// Floating-point arithmetic from first principles, for the scalar twin: operands become exact fixed-point numbers wide
// enough for any product or sum of doubles, and one function rounds the exact result to a format. Slow, and obviously
// right in every rounding mode; it shares nothing with the engine, which uses the processor.
#pragma once
#include <array>
#include <cstdint>

#include "base/narrow_float.h"

namespace ptxlab::twin {

using base::Format;
using base::Rounding;

inline constexpr Format kF64{11, 52, Format::Specials::ieee};

// A number is a bit pattern in the low bits of 64, read by its format.
using Bits = uint64_t;

Bits sign_bit(Format f);
Bits infinity(Format f);
Bits canonical_nan(Format f);
bool is_nan(Bits a, Format f);
bool is_infinite(Bits a, Format f);
bool is_zero(Bits a, Format f);
bool is_denormal(Bits a, Format f);
inline bool is_negative(Bits a, Format f) { return a & sign_bit(f); }

// How an instruction rounds and bends its operands and result.
struct Mode {
  Rounding rounding = Rounding::nearest_even;
  bool ftz = false;        // denormal operands and results become zeros of their sign
  bool sat = false;        // the result is clamped to [0, 1], NaN to 0
  bool relu = false;       // negative results become 0
  bool satfinite = false;  // no infinity: the largest finite value instead
};

Bits flush(Bits a, Format f);  // denormals to zero, sign kept

Bits add(Bits a, Bits b, Format f, Mode mode);
Bits multiply(Bits a, Bits b, Format f, Mode mode);
Bits fused_multiply_add(Bits a, Bits b, Bits c, Format f, Mode mode);
Bits divide(Bits a, Bits b, Format f, Mode mode);
Bits square_root(Bits a, Format f, Mode mode);

// -1, 0, 1; operands are numbers.
int compare(Bits a, Bits b, Format f);

Bits convert(Bits a, Format from, Format to, Mode mode);
Bits from_integer(bool negative, uint64_t magnitude, Format to, Mode mode);
// To an integral value in the same format.
Bits to_integral(Bits a, Format f, Rounding rounding);
// Rounded to an integer and clamped to [low, high]; `a` is not NaN.
__int128 to_integer(Bits a, Format f, Rounding rounding, __int128 low, __int128 high);

double to_double(Bits a, Format f);  // exact for every format here
Bits from_double(double value, Format f, Mode mode = {});

}  // namespace ptxlab::twin
