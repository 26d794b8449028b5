#include "task/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "task/fill.h"

namespace ptxlab::task {
namespace {

using isa::Type;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Output {
  Task task;
  CaseData data;
};

Output output_of(Type type, Tolerance::Kind kind, std::vector<int64_t> shape, int64_t terms = 1) {
  Output s;
  Argument y;
  y.name = "y";
  y.kind = Argument::Kind::out;
  y.type = type;
  s.task.arguments.push_back(y);
  Tolerance tolerance;
  tolerance.kind = kind;
  tolerance.terms = launch::Expression::constant(terms);
  s.task.tolerances["y"] = tolerance;
  s.data.binding.buffers.push_back({"y", 0, launch::ResolvedBuffer::Role::out, launch::ResolvedBuffer::Init::poison});
  s.data.shapes.push_back(std::move(shape));
  return s;
}

std::vector<uint8_t> stored(Type type, const std::vector<double>& values) {
  std::vector<uint8_t> bytes(values.size() * static_cast<size_t>(isa::bytes_of(type)));
  for (size_t i = 0; i < values.size(); ++i) store_element(bytes, type, i, values[i]);
  return bytes;
}

std::vector<Expected> expected(const std::vector<double>& values, double magnitude = 0) {
  std::vector<Expected> result;
  for (double v : values) result.push_back({v, magnitude, static_cast<int64_t>(std::isfinite(v) ? v : 0)});
  return result;
}

Comparison run(const Output& s, const std::vector<double>& got, const std::vector<Expected>& wanted) {
  return compare(s.task, s.data, "y", stored(s.task.arguments[0].type, got), wanted, {});
}

TEST(Compare, IntegersAreExact) {
  const Output s = output_of(Type::s32, Tolerance::Kind::exact, {2, 2});
  EXPECT_TRUE(run(s, {1, -2, 3, 4}, expected({1, -2, 3, 4})).right);
  const Comparison wrong = run(s, {1, -2, 3, 5}, expected({1, -2, 3, 4}));
  EXPECT_FALSE(wrong.right);
  EXPECT_EQ(wrong.wrong, 1u);
  EXPECT_EQ(wrong.first_wrong, 3u);
  EXPECT_EQ(wrong.summary, "1 of 4 elements differ; first at [1, 1]: got 5, expected 4");
}

TEST(Compare, WideIntegersKeepAllTheirBits) {
  const Output s = output_of(Type::u64, Tolerance::Kind::exact, {1});
  const uint64_t value = (uint64_t{1} << 63) + 1;
  std::vector<uint8_t> bytes(8);
  std::memcpy(bytes.data(), &value, 8);
  std::vector<Expected> wanted(1);
  wanted[0].integer = static_cast<int64_t>(value);
  EXPECT_TRUE(compare(s.task, s.data, "y", bytes, wanted, {}).right);
  wanted[0].integer = static_cast<int64_t>(value - 1);
  EXPECT_FALSE(compare(s.task, s.data, "y", bytes, wanted, {}).right);
}

TEST(Compare, ExactFloatsAreTheRoundedValueWithItsSign) {
  const Output s = output_of(Type::f16, Tolerance::Kind::exact, {3});
  EXPECT_TRUE(run(s, {1.0 / 3, kNan, -0.0}, expected({1.0 / 3, kNan, -0.0})).right);
  EXPECT_FALSE(run(s, {0.3335, kNan, -0.0}, expected({1.0 / 3, kNan, -0.0})).right);
  EXPECT_FALSE(run(s, {1.0 / 3, 0, -0.0}, expected({1.0 / 3, kNan, -0.0})).right);
  EXPECT_FALSE(run(s, {1.0 / 3, kNan, 0.0}, expected({1.0 / 3, kNan, -0.0})).right);
}

TEST(Compare, BoundOfEachElement) {
  // bf16: 4 u = 2^-6. At 1 a unit in the last place is 2^-7.
  const Output s = output_of(Type::bf16, Tolerance::Kind::floating, {1});
  EXPECT_TRUE(run(s, {1 + 0x1p-7}, expected({1}, 1)).right);
  EXPECT_FALSE(run(s, {1 + 3 * 0x1p-7}, expected({1}, 1)).right);
  // Near zero the smallest normal number sets the scale.
  EXPECT_TRUE(run(s, {0x1p-133}, expected({0}, 0)).right);
  EXPECT_FALSE(run(s, {0x1p-126}, expected({0}, 0)).right);
}

TEST(Compare, BoundGrowsWithTermsAndMagnitude) {
  // A sum that cancels: |r| is small, its terms are not. 8 sqrt(100) 2^-24 1000 = 0.0048.
  const Output s = output_of(Type::f32, Tolerance::Kind::floating, {1}, 100);
  EXPECT_GT(run(s, {0.006}, expected({0.001}, 1000)).worst, 1);
  EXPECT_LT(run(s, {0.005}, expected({0.001}, 1000)).worst, 1);
}

TEST(Compare, ElementsOfMagnitudeZeroAreExactToTheRounding) {
  const Output s = output_of(Type::f32, Tolerance::Kind::floating, {2});
  EXPECT_TRUE(run(s, {0, 1}, expected({0, 1}, 0)).right);
  EXPECT_FALSE(run(s, {1e-30, 1}, expected({0, 1}, 0)).right);
}

TEST(Compare, ASmallErrorEverywhereIsOverTheBudget) {
  // Off by 20 units each: under (a) with 4096 terms, over (b).
  const std::vector<double> right(1000, 0.001);
  std::vector<double> off;
  for (size_t i = 0; i < right.size(); ++i) off.push_back(0.001 + (i % 2 ? 20 : -20) * 0x1p-24);
  const Output s = output_of(Type::f32, Tolerance::Kind::floating, {1000}, 4096);
  const Comparison result = run(s, off, expected(right, 1));
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_FALSE(result.right);
  EXPECT_GT(result.rms, result.rms_bound);
  EXPECT_NE(result.summary.find("error over all"), std::string::npos) << result.summary;
  // A baseline that is off as much widens the budget.
  EXPECT_TRUE(compare(s.task, s.data, "y", stored(Type::f32, off), expected(right, 1), {}, 20 * 0x1p-24).right);
}

TEST(Compare, CorrectlyRoundedDenormalsAreWithinTheBudget) {
  // bf16 denormals are steps of 2^-133: values between two steps, each rounded to its nearest, all of one error's size.
  const Output s = output_of(Type::bf16, Tolerance::Kind::floating, {64});
  std::vector<double> exact, rounded, zero(64, 0.0);
  for (int i = 0; i < 64; ++i) {
    exact.push_back((i + 0.49) * 0x1p-133);
    rounded.push_back(i * 0x1p-133);
  }
  // Eight inexact steps make the magnitude eight times the value, and more than the smallest normal number for some.
  std::vector<Expected> wanted;
  for (double v : exact) wanted.push_back({v, 8 * v, 0});
  const Comparison honest = run(s, rounded, wanted);
  EXPECT_TRUE(honest.right) << honest.summary;
  // Flushing them all to zero stays wrong.
  EXPECT_FALSE(run(s, zero, wanted).right);
}

TEST(Compare, NanAndInfinityStandWhereTheyBelong) {
  const Output s = output_of(Type::f32, Tolerance::Kind::floating, {4});
  const std::vector<Expected> wanted = expected({1, kNan, kInf, -kInf}, 1);
  EXPECT_TRUE(run(s, {1, kNan, kInf, -kInf}, wanted).right);
  EXPECT_EQ(run(s, {kNan, kNan, kInf, -kInf}, wanted).wrong, 1u);
  EXPECT_EQ(run(s, {1, 0, kInf, -kInf}, wanted).wrong, 1u);
  EXPECT_EQ(run(s, {1, kNan, -kInf, -kInf}, wanted).wrong, 1u);
  EXPECT_EQ(run(s, {1, kNan, kInf, -3e38}, wanted).wrong, 1u);
  EXPECT_EQ(run(s, {kInf, kNan, kInf, -kInf}, wanted).wrong, 1u);
  // Where a result is infinite its magnitude may be no number (inf times 0 in a derivative).
  const std::vector<Expected> without = expected({1, kNan, kInf, -kInf}, kNan);
  EXPECT_EQ(run(s, {kNan, kNan, kInf, -kInf}, without).first_wrong, 0u);
  EXPECT_EQ(run(s, {kNan, kNan, kInf, -kInf}, without).wrong, 1u);
}

TEST(Compare, ResultsBeyondTheTypesRangeMayBeInfinite) {
  const Output s = output_of(Type::f16, Tolerance::Kind::floating, {1});
  EXPECT_TRUE(run(s, {kInf}, expected({1e6}, 1e6)).right);
  EXPECT_TRUE(run(s, {kInf}, expected({65500}, 65500)).right);  // within its bound of the threshold
  EXPECT_TRUE(run(s, {65504}, expected({65510}, 65510)).right);
  EXPECT_FALSE(run(s, {kInf}, expected({60000}, 60000)).right);
  EXPECT_FALSE(run(s, {65504}, expected({1e6}, 1e6)).right);
}

TEST(Compare, AbsoluteTolerance) {
  Output s = output_of(Type::f32, Tolerance::Kind::absolute, {2});
  s.task.tolerances["y"].abs = 0.01;
  s.task.tolerances["y"].rel = 0.1;
  EXPECT_TRUE(run(s, {0.009, 10.9}, expected({0, 10})).right);
  EXPECT_FALSE(run(s, {0.011, 10.9}, expected({0, 10})).right);
  EXPECT_FALSE(run(s, {0.009, 11.1}, expected({0, 10})).right);
  EXPECT_FALSE(run(s, {kNan, 10}, expected({0, 10})).right);
  Output integers = output_of(Type::u8, Tolerance::Kind::absolute, {1});
  integers.task.tolerances["y"].abs = 1;
  EXPECT_TRUE(run(integers, {5}, expected({4})).right);
  EXPECT_FALSE(run(integers, {6}, expected({4})).right);
}

TEST(Compare, UnorderedIsAMultiset) {
  const Output s = output_of(Type::s32, Tolerance::Kind::unordered, {4});
  EXPECT_TRUE(run(s, {3, 1, 2, 1}, expected({1, 1, 2, 3})).right);
  EXPECT_FALSE(run(s, {3, 3, 2, 1}, expected({1, 1, 2, 3})).right);
  EXPECT_EQ(run(s, {7, 8, 2, 1}, expected({1, 1, 2, 3})).wrong, 2u);
}

TEST(Compare, UnorderedFloatsTakeAnyNan) {
  const Output s = output_of(Type::f32, Tolerance::Kind::unordered, {2});
  std::vector<uint8_t> bytes = stored(Type::f32, {1, 0});
  const uint32_t device_nan = 0x7fffffff;
  std::memcpy(bytes.data() + 4, &device_nan, 4);
  EXPECT_TRUE(compare(s.task, s.data, "y", bytes, expected({kNan, 1}), {}).right);
  EXPECT_FALSE(compare(s.task, s.data, "y", bytes, expected({2, 1}), {}).right);
}

TEST(Compare, ChosenElementsOnly) {
  const Output s = output_of(Type::s32, Tolerance::Kind::exact, {4});
  const std::vector<uint64_t> indices{1, 3};
  EXPECT_TRUE(compare(s.task, s.data, "y", stored(Type::s32, {9, 1, 9, 3}), expected({1, 3}), indices).right);
  const Comparison wrong = compare(s.task, s.data, "y", stored(Type::s32, {9, 1, 9, 4}), expected({1, 3}), indices);
  EXPECT_EQ(wrong.first_wrong, 3u);
}

TEST(Compare, AGrantedFactorWidensBothBounds) {
  Output s = output_of(Type::f32, Tolerance::Kind::floating, {2});
  const std::vector<double> off{1 + 40 * 0x1p-23, 1 - 40 * 0x1p-23};
  EXPECT_FALSE(run(s, off, expected({1, 1}, 1)).right);
  s.task.tolerances["y"].granted = 30;
  EXPECT_TRUE(run(s, off, expected({1, 1}, 1)).right);
}

}  // namespace
}  // namespace ptxlab::task
