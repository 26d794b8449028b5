// The twin's arithmetic against the processor, which rounds to nearest and, through fesetround, in the other
// directions.
#include "exact.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace ptxlab::twin {
namespace {

using base::kF32;
using base::Random;

const std::vector<uint32_t>& special32() {
  static const std::vector<uint32_t> values = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                               0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
                                               0x7f800000, 0xff800000, 0x7fc00000, 0x34000000, 0x33800000,
                                               0x3f7fffff, 0x3f800001, 0x00400000, 0x4b800000, 0x4b7fffff};
  return values;
}

uint32_t some32(Random& random) {
  if (random.below(4) == 0) return special32()[random.below(special32().size())];
  uint32_t bits = static_cast<uint32_t>(random.next());
  return random.below(2) ? bits : (bits & 0x83ffffffu) | 0x3c000000u;  // exponents near each other
}
uint64_t some64(Random& random) {
  if (random.below(4) == 0)
    return std::bit_cast<uint64_t>(
        static_cast<double>(std::bit_cast<float>(special32()[random.below(special32().size())])));
  uint64_t bits = random.next();
  return random.below(2) ? bits : (bits & 0x807fffffffffffffu) | 0x3f80000000000000u;
}

const std::pair<Rounding, int> kModes[] = {{Rounding::nearest_even, FE_TONEAREST},
                                           {Rounding::zero, FE_TOWARDZERO},
                                           {Rounding::down, FE_DOWNWARD},
                                           {Rounding::up, FE_UPWARD}};

template <class T, class Raw, class Some>
void compare_with_processor(Format format, Some some, int count) {
  Random random(7);
  for (int i = 0; i < count; ++i) {
    Raw a = some(random), b = some(random), c = some(random);
    for (auto [rounding, mode] : kModes) {
      std::fesetround(mode);
      volatile T x = std::bit_cast<T>(a), y = std::bit_cast<T>(b), z = std::bit_cast<T>(c);
      volatile T wants[] = {x + y, x * y, x / y, std::fma(x, y, z), std::sqrt(x)};
      std::fesetround(FE_TONEAREST);
      const Mode m{rounding};
      const Bits got[] = {add(a, b, format, m), multiply(a, b, format, m), divide(a, b, format, m),
                          fused_multiply_add(a, b, c, format, m), square_root(a, format, m)};
      for (int k = 0; k < 5; ++k) {
        T want = wants[k];
        Bits expected = std::isnan(want) ? canonical_nan(format) : std::bit_cast<Raw>(want);
        ASSERT_EQ(got[k], expected) << "operation " << k << " mode " << mode << std::hex << " of " << a << " " << b
                                    << " " << c;
      }
    }
  }
}

TEST(Exact, FloatAgreesWithTheProcessor) { compare_with_processor<float, uint32_t>(kF32, some32, 1000); }
TEST(Exact, DoubleAgreesWithTheProcessor) { compare_with_processor<double, uint64_t>(kF64, some64, 1000); }

TEST(Exact, ConversionsAgreeWithNarrowFloat) {
  Random random(8);
  for (int i = 0; i < 5'000; ++i) {
    uint64_t a = some64(random);
    if (i % 2) a = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(some32(random))));
    for (Format format : {base::kF16, base::kBf16, base::kTf32, base::kE5m2, base::kE4m3, base::kE2m1, base::kE3m2}) {
      for (auto rounding :
           {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up, Rounding::nearest_away}) {
        Mode mode{rounding};
        mode.satfinite = i % 3 == 0;
        ASSERT_EQ(convert(a, kF64, format, mode),
                  base::narrow(std::bit_cast<double>(a), format, rounding, mode.satfinite))
            << std::bit_cast<double>(a);
      }
    }
  }
}

TEST(Exact, IntegersAgreeWithTheProcessor) {
  Random random(9);
  for (int i = 0; i < 5'000; ++i) {
    double value = std::ldexp(random.uniform() * 2 - 1, static_cast<int>(random.below(70)));
    if (i % 3 == 0) value = std::nearbyint(value) + 0.5;
    const Bits bits = std::bit_cast<uint64_t>(value);
    const __int128 low = INT64_MIN, high = INT64_MAX;
    if (std::fabs(value) >= 0x1p63) continue;
    EXPECT_EQ(to_integer(bits, kF64, Rounding::nearest_even, low, high), static_cast<int64_t>(std::nearbyint(value)));
    EXPECT_EQ(to_integer(bits, kF64, Rounding::zero, low, high), static_cast<int64_t>(std::trunc(value)));
    EXPECT_EQ(to_integer(bits, kF64, Rounding::down, low, high), static_cast<int64_t>(std::floor(value)));
    EXPECT_EQ(to_integer(bits, kF64, Rounding::up, low, high), static_cast<int64_t>(std::ceil(value)));
    EXPECT_EQ(std::bit_cast<double>(to_integral(bits, kF64, Rounding::up)), std::ceil(value));
    int64_t whole = static_cast<int64_t>(random.next());
    EXPECT_EQ(from_integer(whole < 0, whole < 0 ? -static_cast<uint64_t>(whole) : whole, kF32, {}),
              std::bit_cast<uint32_t>(static_cast<float>(whole)));
  }
}

TEST(Exact, FlushAndClamp) {
  Mode ftz{};
  ftz.ftz = true;
  EXPECT_EQ(add(0x00000001, 0, kF32, ftz), 0u);
  EXPECT_EQ(add(0x80000001, 0x80000000, kF32, ftz), 0x80000000u);
  EXPECT_EQ(multiply(0x00800000, 0x3f000000, kF32, ftz), 0u);
  EXPECT_EQ(multiply(0x80800000, 0x3f000000, kF32, ftz), 0x80000000u);
  Mode sat{};
  sat.sat = true;
  EXPECT_EQ(add(0x40000000, 0x3f800000, kF32, sat), 0x3f800000u);
  EXPECT_EQ(add(0xc0000000, 0x3f800000, kF32, sat), 0u);
  EXPECT_EQ(add(0x7fc00000, 0x3f800000, kF32, sat), 0u);
}

}  // namespace
}  // namespace ptxlab::twin
