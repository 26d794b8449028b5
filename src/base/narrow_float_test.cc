// Formats of 8 and 16 bits are tried exhaustively: every number round-trips, and between every two neighbours the
// points at, just below and just above the middle go where each rounding mode says. The expectation is written with
// neighbours and comparisons alone, so it shares nothing with the bit arithmetic under test.
#include "base/narrow_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptxlab::base {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Rounding kRoundings[] = {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up,
                                   Rounding::nearest_away};

struct Named {
  const char* name;
  Format format;
};
const Named kNarrow[] = {{"f16", kF16},   {"bf16", kBf16}, {"tf32", kTf32}, {"e5m2", kE5m2},
                         {"e4m3", kE4m3}, {"e3m2", kE3m2}, {"e2m3", kE2m3}, {"e2m1", kE2m1}};

uint32_t sign_of(Format format) { return 1u << (format.exponent + format.fraction); }

// Which of the two neighbours low < value < high (magnitudes; `even_low` says which has the even pattern) is right.
bool takes_high(double low, double value, double high, bool even_low, bool negative, Rounding rounding) {
  double middle = low + (high - low) / 2;  // exact: few bits
  switch (rounding) {
    case Rounding::nearest_even: return value > middle || (value == middle && !even_low);
    case Rounding::nearest_away: return value >= middle;
    case Rounding::zero: return false;
    case Rounding::down: return negative;
    case Rounding::up: return !negative;
  }
  return false;
}

TEST(NarrowFloat, KnownPatterns) {
  EXPECT_EQ(narrow(1.0, kF16), 0x3c00u);
  EXPECT_EQ(narrow(65504.0, kF16), 0x7bffu);
  EXPECT_EQ(narrow(65519.99, kF16), 0x7bffu);
  EXPECT_EQ(narrow(65520.0, kF16), 0x7c00u);
  EXPECT_EQ(narrow(0x1p-24, kF16), 0x0001u);
  EXPECT_EQ(narrow(0x1p-25, kF16), 0x0000u);
  EXPECT_EQ(narrow(-0.0, kF16), 0x8000u);
  EXPECT_EQ(narrow(1.0, kBf16), 0x3f80u);
  EXPECT_EQ(narrow(3.0e38, kBf16), 0x7f62u);
  EXPECT_EQ(narrow(448.0, kE4m3), 0x7eu);
  EXPECT_EQ(narrow(464.0, kE4m3), 0x7eu);  // the tie between 448 and the absent 480 goes to the even one
  EXPECT_EQ(narrow(465.0, kE4m3), 0x7fu);
  EXPECT_EQ(narrow(465.0, kE4m3, Rounding::nearest_even, true), 0x7eu);
  EXPECT_EQ(narrow(kInf, kE4m3, Rounding::nearest_even, true), 0x7eu);
  EXPECT_EQ(narrow(-kInf, kE5m2, Rounding::nearest_even, true), 0xfbu);
  EXPECT_EQ(narrow(kInf, kE5m2), 0x7cu);
  EXPECT_EQ(narrow(1e9, kE2m1), 0x7u);
  EXPECT_EQ(widen(0x7, kE2m1), 6.0);
  EXPECT_EQ(widen(0x1f, kE3m2), 28.0);
  EXPECT_EQ(widen(0x1f, kE2m3), 7.5);
  EXPECT_EQ(narrow(1.0 + 0x1p-11, kTf32, Rounding::nearest_away), narrow(1.0 + 0x1p-10, kTf32));
  EXPECT_EQ(narrow(1.0 + 0x1p-24, kF32, Rounding::up), 0x3f800001u);
}

TEST(NarrowFloat, NanIsCanonical) {
  const double nan = -std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(narrow(nan, kF16), 0x7fffu);
  EXPECT_EQ(narrow(nan, kBf16), 0x7fffu);
  EXPECT_EQ(narrow(nan, kF32), 0x7fffffffu);
  EXPECT_EQ(narrow(nan, kE4m3), 0x7fu);
  EXPECT_EQ(narrow(nan, kE5m2, Rounding::zero, true), 0x7fu);
  EXPECT_EQ(narrow(nan, kE2m1), 0x7u);
}

TEST(NarrowFloat, EveryNumberRoundTripsInEveryRounding) {
  for (const auto& [name, format] : kNarrow) {
    for (uint32_t bits = 0; bits < 2 * sign_of(format); ++bits) {
      double value = widen(bits, format);
      if (std::isnan(value)) {
        ASSERT_EQ(narrow(value, format), sign_of(format) - 1) << name;
        continue;
      }
      ASSERT_EQ(std::signbit(value), bits >= sign_of(format)) << name;
      for (Rounding rounding : kRoundings) ASSERT_EQ(narrow(value, format, rounding), bits) << name << " " << bits;
    }
  }
}

TEST(NarrowFloat, ValuesGrowWithTheirPatterns) {
  for (const auto& [name, format] : kNarrow) {
    EXPECT_EQ(widen(0, format), 0.0);
    for (uint32_t bits = 0; bits < largest_finite(format); ++bits)
      ASSERT_LT(widen(bits, format), widen(bits + 1, format)) << name << " " << bits;
  }
}

TEST(NarrowFloat, BetweenNeighboursEveryRoundingIsRight) {
  for (const auto& [name, format] : kNarrow) {
    for (uint32_t bits = 0; bits < largest_finite(format); ++bits) {
      const double low = widen(bits, format), high = widen(bits + 1, format), middle = low + (high - low) / 2;
      for (double value : {std::nextafter(low, high), std::nextafter(middle, low), middle, std::nextafter(middle, high),
                           std::nextafter(high, low)}) {
        for (Rounding rounding : kRoundings) {
          for (bool negative : {false, true}) {
            uint32_t want = bits + takes_high(low, value, high, bits % 2 == 0, negative, rounding);
            if (negative) want |= sign_of(format);
            ASSERT_EQ(narrow(negative ? -value : value, format, rounding), want)
                << name << " " << value << (negative ? " negative" : "") << " mode " << static_cast<int>(rounding);
          }
        }
      }
    }
  }
}

TEST(NarrowFloat, OverflowFollowsTheRounding) {
  for (const auto& [name, format] : kNarrow) {
    const uint32_t largest = largest_finite(format);
    const double top = widen(largest, format), step = top - widen(largest - 1, format);
    const bool infinite = format.specials != Format::Specials::none;  // or e4m3's NaN, which stands in its place
    for (double value : {top + step / 2, std::nextafter(top + step / 2, kInf), top + step, 1e300}) {
      bool odd = largest % 2 == 1;
      bool nearest_over = value > top + step / 2 || odd;
      EXPECT_EQ(narrow(value, format, Rounding::nearest_even), largest + (nearest_over && infinite)) << name << value;
      EXPECT_EQ(narrow(value, format, Rounding::nearest_away), largest + infinite) << name << value;
      EXPECT_EQ(narrow(value, format, Rounding::zero), largest) << name << value;
      EXPECT_EQ(narrow(value, format, Rounding::down), largest) << name << value;
      EXPECT_EQ(narrow(value, format, Rounding::up), largest + infinite) << name << value;
      EXPECT_EQ(narrow(-value, format, Rounding::down), sign_of(format) | (largest + infinite)) << name << value;
      EXPECT_EQ(narrow(-value, format, Rounding::up), sign_of(format) | largest) << name << value;
      for (Rounding rounding : kRoundings) EXPECT_EQ(narrow(value, format, rounding, true), largest) << name << value;
    }
  }
}

TEST(NarrowFloat, BelowTheSmallestDenormal) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const auto& [name, format] : kNarrow) {
    const double half = widen(1, format) / 2;
    for (double value : {tiny, 1e-300, half / 2, std::nextafter(half, 0.0)}) {
      EXPECT_EQ(narrow(value, format), 0u) << name;
      EXPECT_EQ(narrow(value, format, Rounding::nearest_away), 0u) << name;
      EXPECT_EQ(narrow(value, format, Rounding::up), 1u) << name;
      EXPECT_EQ(narrow(value, format, Rounding::down), 0u) << name;
      EXPECT_EQ(narrow(-value, format, Rounding::down), sign_of(format) | 1) << name;
      EXPECT_EQ(narrow(-value, format, Rounding::up), sign_of(format)) << name;
    }
    EXPECT_EQ(narrow(half, format), 0u) << name;
    EXPECT_EQ(narrow(half, format, Rounding::nearest_away), 1u) << name;
  }
}

TEST(NarrowFloat, FloatAgreesWithTheProcessor) {
  Random random(1);
  for (int i = 0; i < 300'000; ++i) {
    double value = std::bit_cast<double>((random.next() & 0x8fffffffffffffffu) | 0x3000000000000000u);
    if (i % 4 == 0) value = std::bit_cast<double>(random.next());
    if (i % 4 == 1) value = std::ldexp(value, -100);
    if (std::isnan(value)) continue;
    ASSERT_EQ(narrow(value, kF32), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
  }
}

TEST(NarrowFloat, FastF16AgreesWithTheDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float fast = f16_to_float(static_cast<uint16_t>(bits));
    double exact = widen(bits, kF16);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(fast)) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(fast), std::bit_cast<uint32_t>(static_cast<float>(exact))) << bits;
    // Around every number and every middle between two, in floats.
    for (uint32_t around : {0u, 0xfffu, 0x1000u, 0x1001u}) {
      for (uint32_t below : {0u, 1u}) {
        float value = std::bit_cast<float>(std::bit_cast<uint32_t>(fast) + around - below);
        ASSERT_EQ(float_to_f16(value), narrow(value, kF16)) << value;
      }
    }
    float middle = static_cast<float>((exact + widen((bits + 1) & 0xffff, kF16)) / 2);  // exact for denormals too
    ASSERT_EQ(float_to_f16(middle), narrow(middle, kF16)) << middle;
  }
}

TEST(NarrowFloat, FastConversionsAgreeOnRandomFloats) {
  Random random(2);
  for (int i = 0; i < 1'000'000; ++i) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(random.next()));
    ASSERT_EQ(float_to_f16(value), narrow(value, kF16)) << value;
    ASSERT_EQ(float_to_bf16(value), narrow(value, kBf16)) << value;
  }
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float fast = bf16_to_float(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(fast), bits << 16);
    double exact = widen(bits, kBf16);
    if (!std::isnan(exact)) {
      ASSERT_EQ(static_cast<double>(fast), exact) << bits;
    }
    float middle = std::bit_cast<float>((bits << 16) + 0x8000);
    ASSERT_EQ(float_to_bf16(middle), narrow(middle, kBf16)) << bits;
  }
}

#if defined(__x86_64__)
// The processor's own conversion, where it has one.
[[gnu::target("f16c")]] uint16_t processor_f16(float value) {
  return static_cast<uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}

TEST(NarrowFloat, F16AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
  Random random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    uint32_t bits = static_cast<uint32_t>(random.next());
    if (i % 2) bits = (bits & 0x8fffffff) | 0x30000000;  // near the range of f16
    float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(narrow(value, kF16), processor_f16(value)) << value;
  }
}
#endif

}  // namespace
}  // namespace ptxlab::base
