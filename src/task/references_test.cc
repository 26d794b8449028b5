// The references of the repository's tasks against values worked out by hand: a reference that is wrong in the same way as
// its kernel would pass everything else.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "task/case.h"
#include "task/fill.h"
#include "task/oracle.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

// A task's reference, asked about inputs that a test writes down.
class Asked {
 public:
  Asked(const std::string& name, const Sizes& sizes) {
    auto found = find_task(name, std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks");
    EXPECT_TRUE(found.ok()) << base::render(found.findings(), "");
    task_ = *found;
    auto made = make_case(task_, case_of(sizes, 1));
    EXPECT_TRUE(made.ok()) << base::render(made.findings(), "");
    data_ = *made;
  }

  Asked& set(const std::string& buffer, const std::vector<double>& values) {
    std::vector<uint8_t>& bytes = input(buffer);
    const isa::Type type = task_.argument(buffer)->type;
    EXPECT_EQ(bytes.size(), values.size() * static_cast<size_t>(isa::bytes_of(type))) << buffer;
    for (size_t i = 0; i < values.size(); ++i) store_element(bytes, type, i, values[i]);
    return *this;
  }
  Asked& set(const std::string& buffer, size_t index, double value) {
    store_element(input(buffer), task_.argument(buffer)->type, index, value);
    return *this;
  }
  Asked& scalar(const std::string& name, double value) {
    launch::Binding::Scalar& scalar = data_.binding.scalars.at(name);
    scalar.integer = static_cast<int64_t>(value);
    scalar.bits = static_cast<uint64_t>(scalar.integer);
    if (isa::is_float(task_.argument(name)->type))
      store_element({reinterpret_cast<uint8_t*>(&scalar.bits), 8}, task_.argument(name)->type, 0, value);
    return *this;
  }

  std::vector<Expected> expected(const std::string& output) {
    auto oracle = make_reference_oracle(task_);
    if (!oracle.ok()) {
      no_compiler_ = oracle.findings()[0].code == "ORA0001";
      EXPECT_TRUE(no_compiler_) << base::render(oracle.findings(), "");
      return {};
    }
    auto answer = (*oracle)->expected(data_, output, {});
    EXPECT_TRUE(answer.ok()) << base::render(answer.findings(), "");
    return answer.ok() ? *answer : std::vector<Expected>{};
  }
  std::vector<double> values(const std::string& output) {
    std::vector<double> values;
    for (const Expected& e : expected(output)) values.push_back(e.value);
    return values;
  }
  bool no_compiler() const { return no_compiler_; }

 private:
  std::vector<uint8_t>& input(const std::string& buffer) {
    size_t i = 0;
    while (data_.binding.buffers.at(i).name != buffer) ++i;
    return data_.inputs[i];
  }
  Task task_;
  CaseData data_;
  bool no_compiler_ = false;
};

void near(const std::vector<double>& got, const std::vector<double>& wanted, double relative = 1e-6) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], relative * std::fabs(wanted[i])) << "element " << i;
}

#define PTXLAB_NEEDS_COMPILER(asked) \
  if ((asked).no_compiler()) GTEST_SKIP() << "there is no g++"

TEST(ReferencesByHand, VectorAdd) {
  Asked asked("elementwise/vector_add_f32", {{"n", 3}});
  asked.set("a", {1, -2, 0.5}).set("b", {4, 2, 0.25});
  const auto got = asked.expected("c");
  PTXLAB_NEEDS_COMPILER(asked);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].value, 5);
  EXPECT_EQ(got[1].value, 0);
  EXPECT_EQ(got[1].magnitude, 4);
  EXPECT_EQ(got[2].value, 0.75);
}

TEST(ReferencesByHand, Rmsnorm) {
  // The mean of 9 and 16 is 12.5, its root 3.5355339.
  Asked asked("norm/rmsnorm_bf16", {{"m", 1}, {"n", 2}});
  asked.set("x", {3, 4}).set("w", {1, 2}).scalar("eps", 0);
  const auto got = asked.values("y");
  PTXLAB_NEEDS_COMPILER(asked);
  near(got, {0.8485281374, 2.2627416998});
}

TEST(ReferencesByHand, Softmax) {
  // 1 / (1 + e) and e / (1 + e), whatever is added to a row.
  Asked asked("softmax/softmax_f32", {{"m", 2}, {"n", 2}});
  asked.set("x", {0, 1, 1000, 999});
  const auto got = asked.values("y");
  PTXLAB_NEEDS_COMPILER(asked);
  near(got, {0.2689414214, 0.7310585786, 0.7310585786, 0.2689414214});
}

TEST(ReferencesByHand, BiasGeluDropout) {
  // The block of counter 0 and key 0 is 6627e8d5 e169c58d bc57ac4c 9b00dbd8 (the known answers of Philox's authors).
  Asked asked("activation/bias_gelu_dropout_bf16", {{"m", 1}, {"n", 4}, {"percent", 50}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  asked.set("x", {nan, 1, -3, 2}).set("bias", {5, -2, 0, 1});
  asked.scalar("seed", 0).scalar("offset", 0).scalar("scale", 2).scalar("drop", 0xbc57ac4c);
  auto got = asked.expected("y");
  PTXLAB_NEEDS_COMPILER(asked);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].value, 0);  // dropped, although it is NaN
  EXPECT_EQ(got[0].magnitude, 0);
  EXPECT_NEAR(got[1].value, 2 * -0.1588080, 1e-6);  // GELU(-1)
  EXPECT_NEAR(got[2].value, 2 * -0.0036374, 2e-6);  // GELU(-3); its word is `drop` itself, so it stays
  EXPECT_EQ(got[3].value, 0);
  asked.scalar("drop", 0xbc57ac4d);
  EXPECT_EQ(asked.values("y")[2], 0);
  asked.scalar("drop", 0x9b00dbd8);
  EXPECT_NEAR(asked.values("y")[3], 2 * 2.9963626, 1e-5);  // GELU(3) = 3 + GELU(-3)
}

TEST(ReferencesByHand, Rope) {
  // Two tokens at positions 1 and 0; position 0 turns by nothing, position 1 by (1/2, 1/4) and (0, 1).
  Asked asked("attention/rope_bf16", {{"t", 2}, {"hq", 2}, {"hk", 1}, {"half", 2}, {"p", 2}});
  asked.set("positions", {1, 0}).set("table", {1, 1, 0, 0, 0.5, 0, 0.25, 1});
  asked.set("q", {3, 5, 8, 7, 0, 1, 4, 0, /**/ 1, 2, 3, 4, 5, 6, 7, 8}).set("k", {2, 0, 0, 3, /**/ 9, 8, 7, 6});
  const auto q = asked.values("q"), k = asked.values("k");
  PTXLAB_NEEDS_COMPILER(asked);
  near(q, {-0.5, -7, 4.75, 5, -1, 0, 2, 1, /**/ 1, 2, 3, 4, 5, 6, 7, 8});
  near(k, {1, -3, 0.5, 0, /**/ 9, 8, 7, 6});
}

TEST(ReferencesByHand, Dequantise) {
  // Rows of five in groups of four: the fifth column has the second scale. 3 times 1025/1024 lies between two f16 numbers.
  Asked asked("quant/dequant_int8_f16", {{"n", 2}, {"k", 5}, {"group", 4}});
  asked.set("q", {-128, 0, 127, 1, 3, 2, 2, 2, 2, 2}).set("scale", {-0.5, 1025.0 / 1024, 1, 0.25});
  const auto got = asked.values("y");
  PTXLAB_NEEDS_COMPILER(asked);
  near(got, {64, -0.0, -63.5, -0.5, 3075.0 / 1024, 2, 2, 2, 2, 0.5}, 0);
  EXPECT_TRUE(std::signbit(got[1]));
}

TEST(ReferencesByHand, Histogram) {
  Asked asked("histogram/histogram_u8", {{"n", 5}});
  asked.set("x", {7, 7, 255, 0, 7});
  const auto got = asked.expected("bins");
  PTXLAB_NEEDS_COMPILER(asked);
  ASSERT_EQ(got.size(), 256u);
  int64_t all = 0;
  for (const Expected& e : got) all += e.integer;
  EXPECT_EQ(all, 5);
  EXPECT_EQ(got[7].integer, 3);
  EXPECT_EQ(got[255].integer, 1);
  EXPECT_EQ(got[0].integer, 1);
}

TEST(ReferencesByHand, Sgemm) {
  // (3 -1; 2 0) (2 4; 5 1) = (1 11; 4 8); times 2, less C.
  Asked asked("gemm/sgemm_f32", {{"m", 2}, {"n", 2}, {"k", 2}});
  asked.set("a", {3, -1, 2, 0}).set("b", {2, 4, 5, 1}).set("c", {4, 1, 0, -1}).scalar("alpha", 2).scalar("beta", -1);
  const auto got = asked.expected("c");
  PTXLAB_NEEDS_COMPILER(asked);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].value, -2);
  EXPECT_EQ(got[0].magnitude, 2 * (6 + 5) + 2 + 4 + 2);
  EXPECT_EQ(got[1].value, 21);
  EXPECT_EQ(got[2].value, 8);
  EXPECT_EQ(got[3].value, 17);
  // Where beta is 0, C is not read.
  asked.scalar("beta", 0).set("c", 0, std::numeric_limits<double>::quiet_NaN());
  near(asked.values("c"), {2, 22, 8, 16}, 0);
}

TEST(ReferencesByHand, Wave) {
  // Two points along x. Around the first: u = 2 on it, r at distance r in +x, 10 in +y, 1/2 in -z, else 0.
  Asked asked("stencil/wave3d_r4_f32", {{"nx", 2}, {"ny", 1}, {"nz", 1}});
  const auto at = [](size_t z, size_t y, size_t x) { return (z * 9 + y) * 10 + x; };
  asked.set("coefficients", {-1, 1, 2, 3, 4}).set("u", std::vector<double>(810)).set("v", std::vector<double>(810, 1));
  asked.set("p", std::vector<double>(810, 7)).set("u", at(4, 4, 4), 2).set("v", at(4, 4, 4), 0.25);
  for (size_t r = 1; r <= 4; ++r) {
    asked.set("u", at(4, 4, 4 + r), static_cast<double>(r));
    asked.set("u", at(4, 4 + r, 4), 10).set("u", at(4 - r, 4, 4), 0.5);
  }
  const auto got = asked.expected("p");
  PTXLAB_NEEDS_COMPILER(asked);
  ASSERT_EQ(got.size(), 810u);
  // -2 + 1 (1 + 10.5) + 2 (2 + 10.5) + 3 (3 + 10.5) + 4 (4 + 10.5) = 133; 4 - 7 + 133 / 4.
  EXPECT_EQ(got[at(4, 4, 4)].value, 30.25);
  // -1 + 1 (2 + 2) + 2 (3 + 0) + 3 (4 + 0) = 21; 2 - 7 + 21.
  EXPECT_EQ(got[at(4, 4, 5)].value, 16);
  for (size_t i = 0; i < got.size(); ++i) {
    if (i == at(4, 4, 4) || i == at(4, 4, 5)) continue;
    EXPECT_EQ(got[i].value, 7) << i;
    EXPECT_EQ(got[i].magnitude, 0) << i;
  }
}

}  // namespace
}  // namespace ptxlab::task
