// Random rounding: what is exact stays, what is not goes to one of its two neighbours, both ways about equally often.
#include "simt/random_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "simt/run_op.h"

namespace ptxlab::simt {
namespace {

using test::Column;
using test::Kernel;

// Runs `text` (a, b, c to d) on 128 threads with the same operands each; the results in order.
template <class T>
std::vector<T> results(const std::string& text, const std::string& type, T a, T b, T c, uint64_t seed = 1,
                       bool random = true) {
  std::string suffix = type;
  std::string body =
      ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n  .reg .b32 "
      "%t;\n  .reg .b64 %a<5>, %o;\n  .reg ." +
      suffix + " %d, %a, %b, %c;\n";
  const std::string width = std::to_string(sizeof(T));
  body += "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %o, %t, " + width + ";\n";
  for (int i = 0; i < 4; ++i) {
    const std::string letter(1, "abcd"[i]), address = "%a" + std::to_string(i);
    body += "  ld.param.u64 " + address + ", [p" + letter + "];\n  add.u64 " + address + ", " + address + ", %o;\n";
    if (i < 3) body += "  ld.global." + suffix + " %" + letter + ", [" + address + "];\n";
  }
  Kernel kernel(body + "  " + text + "\n  st.global." + suffix + " [%a3], %d;\n  ret;\n}\n",
                ".version 8.8\n.target sm_90\n.address_size 64\n");
  kernel.in(std::vector<T>(128, a)).in(std::vector<T>(128, b)).in(std::vector<T>(128, c)).out(128 * sizeof(T));
  kernel.shape({1, 1, 1}, {128, 1, 1});
  kernel.options.random_rounding = random;
  kernel.options.seed = seed;
  RunReport report = kernel.run();
  EXPECT_TRUE(report.completed && report.findings.empty());
  return kernel.read<T>(3);
}

// Both neighbours of the exact result, and nothing else, each in a third to two thirds of the lanes.
template <class T>
void two_neighbours(const std::string& text, const std::string& type, T a, T b, T c, long double exact) {
  std::map<T, int> seen;
  for (T value : results<T>(text, type, a, b, c)) ++seen[value];
  ASSERT_EQ(seen.size(), 2u) << text;
  const T low = seen.begin()->first, high = seen.rbegin()->first;
  EXPECT_EQ(std::nextafter(low, std::numeric_limits<T>::infinity()), high) << text;
  EXPECT_LT(static_cast<long double>(low), exact) << text;
  EXPECT_GT(static_cast<long double>(high), exact) << text;
  EXPECT_GT(seen[low], 128 / 3) << text;
  EXPECT_GT(seen[high], 128 / 3) << text;
}

TEST(RandomRounding, InexactResultsGoBothWays) {
  two_neighbours<float>("add.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 1 + 1e-9L);
  two_neighbours<float>("sub.rn.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 1 - 1e-9L);
  two_neighbours<float>("mul.f32 %d, %a, %b;", "f32", 1.1f, 1.3f, 0, (long double)1.1f * 1.3f);
  two_neighbours<float>("fma.rn.f32 %d, %a, %b, %c;", "f32", 1.1f, 1.3f, -1.0f, (long double)1.1f * 1.3f - 1);
  two_neighbours<float>("div.rn.f32 %d, %a, %b;", "f32", 1.0f, 3.0f, 0, 1.0L / 3);
  two_neighbours<float>("sqrt.rn.f32 %d, %a;", "f32", 2.0f, 0, 0, sqrtl(2));
  two_neighbours<float>("rcp.rn.f32 %d, %a;", "f32", 3.0f, 0, 0, 1.0L / 3);
  two_neighbours<float>("add.ftz.f32 %d, %a, %b;", "f32", -1.0f, 1e-9f, 0, -1 + 1e-9L);
  two_neighbours<double>("add.f64 %d, %a, %b;", "f64", 1.0, 1e-18, 0, 1 + 1e-18L);
  two_neighbours<double>("fma.rn.f64 %d, %a, %b, %c;", "f64", 1.1, 1.3, -1, (long double)1.1 * 1.3 - 1);
  two_neighbours<double>("div.rn.f64 %d, %a, %b;", "f64", 1.0, 3.0, 0, 1.0L / 3);
  two_neighbours<float>("{.reg .s32 %i; mov.b32 %i, 16777217; cvt.rn.f32.s32 %d, %i;}", "f32", 0, 0, 0, 16777217.0L);
}

TEST(RandomRounding, ExactResultsStay) {
  for (auto [text, expected] : {std::pair("add.f32 %d, %a, %b;", 3.5f),
                                {"mul.f32 %d, %a, %b;", 3.0f},
                                {"fma.rn.f32 %d, %a, %b, %c;", 3.25f},
                                {"div.rn.f32 %d, %a, %b;", 0.75f},
                                {"sub.f32 %d, %a, %a;", 0.0f},
                                {"min.f32 %d, %a, %b;", 1.5f},
                                {"add.rz.f32 %d, %a, 0f2edbe6ff;", 1.5f}}) {
    for (float value : results<float>(text, "f32", 1.5f, 2.0f, 0.25f)) {
      EXPECT_EQ(value, expected) << text;
      EXPECT_FALSE(std::signbit(value)) << text;
    }
  }
  // Rounding to an integer is what an algorithm means.
  for (float value : results<float>("cvt.rni.f32.f32 %d, %a;", "f32", 1.4f, 0, 0)) EXPECT_EQ(value, 1.0f);
  // The largest finite number plus a little rounds to itself: no infinity comes of it.
  for (float value : results<float>("add.f32 %d, %a, %b;", "f32", 3.4028235e38f, 1.0f, 0))
    EXPECT_EQ(value, 3.4028235e38f);
  for (float value : results<float>("add.f32 %d, %a, %b;", "f32", INFINITY, -INFINITY, 0))
    EXPECT_TRUE(std::isnan(value));
}

TEST(RandomRounding, ApproximationsKeepWithinTheirBounds) {
  const std::tuple<const char*, float, double, double> cases[] = {
      {"ex2.approx.f32 %d, %a;", 1.7f, std::exp2(1.7f), std::exp2(1.7f) * 0x1p-22},
      {"lg2.approx.f32 %d, %a;", 17.0f, std::log2(17.0), std::log2(17.0) * 0x1p-22},
      {"rsqrt.approx.f32 %d, %a;", 3.0f, 1 / std::sqrt(3.0), 0x1p-23},
      {"sin.approx.f32 %d, %a;", 2.0f, std::sin(2.0), 0x1p-20},
      {"tanh.approx.f32 %d, %a;", 0.5f, std::tanh(0.5), std::tanh(0.5) * 0x1p-11},
      {"div.full.f32 %d, %a, 0f40400000;", 1.0f, 1.0 / 3, 0x1p-23},
  };
  for (auto [text, a, exact, bound] : cases) {
    std::set<float> seen;
    for (float value : results<float>(text, "f32", a, 0, 0)) {
      EXPECT_NEAR(value, exact, bound + exact * 0x1p-24) << text;
      seen.insert(value);
    }
    EXPECT_GT(seen.size(), 2u) << text;
  }
}

TEST(RandomRounding, HalvesAndConversions) {
  // 1 + 2^-12 in f16 lies between 1 and 1 + 2^-10.
  std::set<uint32_t> seen;
  for (uint32_t value : results<uint32_t>("{.reg .b16 %x, %y; mov.b32 {%x, %y}, %a; fma.rn.f16 %x, %x, %x, %y; "
                                          "mov.b32 %d, {%x, %x};}",
                                          "b32", 0x0c003c00u, 0, 0))
    seen.insert(value & 0xffff);
  EXPECT_EQ(seen, (std::set<uint32_t>{0x3c00, 0x3c01}));
  seen.clear();
  for (uint32_t value : results<uint32_t>("{.reg .b16 %x; .reg .f32 %f; mov.b32 %f, %a; cvt.rn.bf16.f32 %x, %f; "
                                          "mov.b32 %d, {%x, %x};}",
                                          "b32", 0x3f800001u, 0, 0))
    seen.insert(value & 0xffff);
  EXPECT_EQ(seen, (std::set<uint32_t>{0x3f80, 0x3f81}));
}

TEST(RandomRounding, TheSeedDecides) {
  const auto one = results<float>("add.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 1);
  EXPECT_EQ(one, results<float>("add.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 1));
  EXPECT_NE(one, results<float>("add.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 2));
  const auto off = results<float>("add.f32 %d, %a, %b;", "f32", 1.0f, 1e-9f, 0, 1, false);
  EXPECT_EQ(off, std::vector<float>(128, 1.0f));
}

TEST(RandomRounding, AtomicsRoundTooAndReportsSayWhetherAnythingDid) {
  const std::string atomic =
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n  red.global.add.f32 [%a], "
      "0f322bcc77;\n  ret;\n}\n";  // 1e-8
  std::set<float> seen;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Kernel kernel(atomic);
    kernel.in(std::vector<float>{1.0f}, true).shape({1, 1, 1}, {32, 1, 1});
    kernel.options.random_rounding = true;
    kernel.options.seed = seed;
    EXPECT_TRUE(kernel.run().inexact);
    seen.insert(kernel.read<float>(0)[0]);
  }
  EXPECT_GT(seen.size(), 2u);  // by nearest rounding every sum is 1
  Kernel copy(
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n  st.global.f32 [%a], "
      "0f3f800000;\n  ret;\n}\n");
  copy.out(4).shape({1, 1, 1}, {1, 1, 1});
  copy.options.random_rounding = true;
  EXPECT_FALSE(copy.run().inexact);
}

}  // namespace
}  // namespace ptxlab::simt
