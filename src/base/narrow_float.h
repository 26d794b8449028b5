// Conversions between double or float and the narrow floating formats of PTX, in every rounding mode, bit-exact.
// narrow() and widen() are the general, integer-only definitions; the inline functions below are the same values for
// the conversions that run once a lane, written without branches so that loops over arrays of lanes vectorise.
#pragma once
#include <bit>
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
inline constexpr Format kTf32{8, 10,
                              Format::Specials::ieee};  // 19 bits; a register holds them shifted left by kTf32Shift
inline constexpr Format kF32{8, 23, Format::Specials::ieee};
inline constexpr Format kE5m2{5, 2, Format::Specials::ieee};
inline constexpr Format kE4m3{4, 3, Format::Specials::nan_only};
inline constexpr Format kE3m2{3, 2, Format::Specials::none};
inline constexpr Format kE2m3{2, 3, Format::Specials::none};
inline constexpr Format kE2m1{2, 1, Format::Specials::none};

inline constexpr int kTf32Shift = 13;

// `value` rounded to `format`, as the low bits of the result (sign bit on top of exponent and fraction). NaN gives the
// format's canonical NaN (all ones but the sign), in a format without NaN the largest positive value. Overflow gives
// infinity (NaN in a format that has only that) or the largest finite value as the rounding says; with `saturate`, and
// in a format without infinity and NaN, always the latter, for an infinite `value` too.
uint32_t narrow(double value, Format format, Rounding rounding = Rounding::nearest_even, bool saturate = false);

// The exact value of a narrow number; bits above the format's are ignored. Any NaN gives the default quiet NaN.
double widen(uint32_t bits, Format format);

// The largest finite value, as bits without sign.
constexpr uint32_t largest_finite(Format format) {
  uint32_t ones = (1u << (format.exponent + format.fraction)) - 1;
  switch (format.specials) {
    case Format::Specials::ieee: return ones - (1u << format.fraction);
    case Format::Specials::nan_only: return ones - 1;
    case Format::Specials::none: return ones;
  }
  return ones;
}

inline double f16_to_double(uint16_t bits) { return widen(bits, kF16); }
inline double bf16_to_double(uint16_t bits) { return widen(bits, kBf16); }
inline uint16_t double_to_f16(double value) { return static_cast<uint16_t>(narrow(value, kF16)); }
inline uint16_t double_to_bf16(double value) { return static_cast<uint16_t>(narrow(value, kBf16)); }

// Exact; a NaN keeps its payload.
inline float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Exact; a NaN keeps its payload. The exponent is rebased by one multiplication, which also normalises denormals.
inline float f16_to_float(uint16_t bits) {
  float magnitude = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  uint32_t out = std::bit_cast<uint32_t>(magnitude);
  out |= magnitude >= 65536.0f ? 0x7f800000u : 0u;  // infinity and NaN came out as 65536 and more
  return std::bit_cast<float>(out | (bits & 0x8000u) << 16);
}

// Nearest, ties to even; NaN gives 0x7fff.
inline uint16_t float_to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

// Nearest, ties to even; NaN gives 0x7fff. Three ranges: normal results are rounded in the integer domain (a carry
// moves into the exponent by itself, up to infinity), denormal ones by adding a constant whose last bit is the
// denormals' unit.
inline uint16_t float_to_f16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  uint32_t special = magnitude > 0x7f800000u ? 0x7fffu : 0x7c00u;
  uint32_t out = magnitude < (113u << 23) ? denormal : normal;
  out = magnitude >= (143u << 23) ? special : out;
  uint32_t sign = magnitude > 0x7f800000u ? 0u : (bits >> 16) & 0x8000u;
  return static_cast<uint16_t>(out | sign);
}

}  // namespace ptxlab::base
