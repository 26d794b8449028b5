// Conversions between double or float and the narrow floating formats of PTX, in every rounding mode, bit-exact.
#pragma once
#include <cstdint>

namespace ptxlab::base {

// PTX's .rn .rz .rm .rp .rna, as in the manual.
enum class Rounding : uint8_t { nearest_even, zero, down, up, nearest_away };

// A binary format: 1 sign bit, `exponent` bits, `fraction` bits. IEEE formats have infinities; e4m3 has only NaN
// (0x7f, 0xff), and the fp6/fp4 formats have neither.
struct Format {
  int exponent;
  int fraction;
  enum class Specials : uint8_t { ieee, nan_only, none } specials;
};
inline constexpr Format kF16{5, 10, Format::Specials::ieee};
inline constexpr Format kBf16{8, 7, Format::Specials::ieee};
inline constexpr Format kTf32{8, 10, Format::Specials::ieee};  // bits as in the upper 19 of a float, see narrow()
inline constexpr Format kF32{8, 23, Format::Specials::ieee};
inline constexpr Format kE5m2{5, 2, Format::Specials::ieee};
inline constexpr Format kE4m3{4, 3, Format::Specials::nan_only};

// `value` rounded to `format`, as the low bits of the result. NaN gives the format's canonical NaN (all ones but the
// sign). Overflow gives infinity or the largest finite value as the rounding says; with `saturate` always the latter.
uint32_t narrow(double value, Format format, Rounding rounding = Rounding::nearest_even, bool saturate = false);

// The exact value of a narrow number.
double widen(uint32_t bits, Format format);

inline double f16_to_double(uint16_t bits) { return widen(bits, kF16); }
inline double bf16_to_double(uint16_t bits) { return widen(bits, kBf16); }
inline uint16_t double_to_f16(double value) { return static_cast<uint16_t>(narrow(value, kF16)); }
inline uint16_t double_to_bf16(double value) { return static_cast<uint16_t>(narrow(value, kBf16)); }

}  // namespace ptxlab::base
