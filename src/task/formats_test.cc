// The forms of a task file that public kernels need: structs by value, arrays of records, prefixes that count, bounds as
// formulas, matrices that can be factored, [compile]; and what is said where they are wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "base/file.h"
#include "task/case.h"
#include "task/compare.h"
#include "task/task.h"
#include "task/view.h"

namespace ptxlab::task {
namespace {

constexpr const char* kTask = R"toml(schema = "ptxlab.task/1"
params = ["n", "k"]
arg = [
  { name = "x", kind = "in", type = "f32", shape = ["n"], fill = [{ uniform = [0.25, "sqrt(n)"] }] },
  { name = "q", kind = "in", type = "record", shape = ["n"], fields = [
    { name = "d", type = "f16", fill = { uniform = [0.5, 1.0] } },
    { name = "qs", type = "s8", count = 3, fill = { uniform = [-3, 3] } },
  ] },
  { name = "p", kind = "struct", fields = [
    { name = "x", pointer = "x + 4*k" },
    { name = "n", type = "s32", value = "n" },
    { name = "dt", type = "f64", value = "1/n" },
    { name = "dims", type = "u16", count = 3, value = ["k", 2, 3] },
    { name = "none", pointer = "null" },
  ] },
  { name = "hits", kind = "out", type = "record", shape = ["n", 2], valid = "count[0] / 2 + k", fields = [
    { name = "at", type = "u32" },
    { name = "v", type = "f32", count = 2 },
  ] },
  { name = "count", kind = "out", type = "u32", shape = [4], init = "zero" },
]
[compile]
flags = ["-DN=4"]
include = ["."]
instantiate = ["template __global__ void k<float>(float*);"]
[sizes]
emulate = [{ n = 5, k = 1 }]
[tolerance.hits.v]
kind = "absolute"
abs = 0.5
reason = "a test"
)toml";

struct Formats : ::testing::Test {
  base::TemporaryFolder folder{"ptxlab-formats-test"};

  base::Result<Task> read(const std::string& text) {
    std::ofstream(folder.path() / "k.cu") << "// a kernel\n";
    std::ofstream(folder.path() / "k.plan.toml") << "schema = \"ptxlab.plan/1\"\n";
    return read_task_text(text, folder.path() / "k.task.toml");
  }
  static std::string with(std::string_view from, std::string_view to, std::string text = kTask) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  base::Finding fault(std::string_view from, std::string_view to) {
    auto task = read(with(from, to));
    if (!task) return task.findings()[0];
    auto data = make_case(*task, case_of(task->emulate[0], 1));
    if (!data) return data.findings()[0];
    ADD_FAILURE() << "no finding for " << to;
    return {};
  }
  Task good(const std::string& text = kTask) {
    auto task = read(text);
    EXPECT_TRUE(task.ok()) << base::render(task.findings(), text);
    return task.ok() ? *task : Task{};
  }
};

template <class T>
T at(const std::vector<uint8_t>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST_F(Formats, StructsLieAsCppLaysThemOut) {
  const Task task = good();
  auto data = make_case(task, case_of(task.emulate[0], 1));
  ASSERT_TRUE(data.ok());
  const launch::Binding::Struct& p = data->binding.structs.at("p");
  ASSERT_EQ(p.bytes.size(), 40u);  // x 0, n 8, dt 16, dims 24, none 32
  EXPECT_EQ(p.pointers, (std::vector<launch::Relocation>{{0, 0, 4}}));
  EXPECT_EQ(at<int32_t>(p.bytes, 8), 5);
  EXPECT_EQ(at<double>(p.bytes, 16), 0.2);
  EXPECT_EQ(at<uint16_t>(p.bytes, 24), 1);
  EXPECT_EQ(at<uint16_t>(p.bytes, 28), 3);
  EXPECT_EQ(at<uint64_t>(p.bytes, 32), 0u);
  EXPECT_EQ(data->binding.scalars.at("p.n").integer, 5);  // for references
  EXPECT_EQ(data->binding.scalars.at("p.dims.1").integer, 2);
  // A place of its own, and a size that the compiler rounds up further.
  const Task moved = good(with("{ name = \"none\", pointer = \"null\" },\n  ]",
                               "{ name = \"last\", type = \"u8\", value = 7, offset = 63 },\n  ], bytes = 128"));
  auto again = make_case(moved, case_of(task.emulate[0], 1));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->binding.structs.at("p").bytes.size(), 128u);
  EXPECT_EQ(again->binding.structs.at("p").bytes[63], 7);
}

TEST_F(Formats, RecordsArePackedAndSeenFieldByField) {
  const Task task = good();
  EXPECT_EQ(task.argument("q")->field_bytes, 5u);
  auto data = make_case(task, case_of(task.emulate[0], 1));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->binding.buffers[1].bytes, 25u);
  const std::vector<View> inputs = input_views(task);
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1].name, "q.d");
  const std::vector<uint8_t> d = gather(inputs[1], data->inputs[1]), qs = gather(inputs[2], data->inputs[1]);
  ASSERT_EQ(d.size(), 10u);
  ASSERT_EQ(qs.size(), 15u);
  std::set<int> seen;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_GE(element(d, isa::Type::f16, i), 0.5);
    EXPECT_LE(element(d, isa::Type::f16, i), 1.0);
    EXPECT_EQ(data->inputs[1][5 * i], d[2 * i]);
  }
  for (uint8_t byte : qs) seen.insert(static_cast<int8_t>(byte));
  EXPECT_GE(*seen.begin(), -3);
  EXPECT_LE(*seen.rbegin(), 3);
  EXPECT_GT(seen.size(), 2u);
  EXPECT_EQ(shape_of(inputs[2], *data), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(shape_of(inputs[1], *data), (std::vector<int64_t>{5}));
}

TEST_F(Formats, EachFieldOfAnOutputHasItsTolerance) {
  const Task task = good();
  EXPECT_EQ(task.tolerances.at("hits.at").kind, Tolerance::Kind::exact);
  EXPECT_EQ(task.tolerances.at("hits.v").kind, Tolerance::Kind::absolute);
  auto data = make_case(task, case_of(task.emulate[0], 1));
  ASSERT_TRUE(data.ok());
  const View v = output_view(task, "hits.v");
  EXPECT_EQ(v.stride, 12u);
  EXPECT_EQ(shape_of(v, *data), (std::vector<int64_t>{5, 2, 2}));
  EXPECT_EQ(elements_of(v, 120), 20u);
  std::vector<uint8_t> buffer(120, 0);
  const float value = 2.25f;
  std::memcpy(buffer.data() + 12 * 3 + 4, &value, 4);  // record 3, v[0]
  std::vector<Expected> expected(20);
  expected[6].value = 2.0;
  EXPECT_TRUE(compare(task, *data, "hits.v", gather(v, buffer), expected, {}).right);
  expected[6].value = 1.5;
  const Comparison wrong = compare(task, *data, "hits.v", gather(v, buffer), expected, {});
  EXPECT_EQ(wrong.wrong, 1u);
  EXPECT_NE(wrong.summary.find("[1, 1, 0]"), std::string::npos) << wrong.summary;
  auto missing = read(with("[tolerance.hits.v]\nkind = \"absolute\"\nabs = 0.5\nreason = \"a test\"\n", ""));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.findings()[0].code, "TASK0004");
  EXPECT_NE(missing.findings()[0].message.find("tolerance.hits.v"), std::string::npos);
}

TEST_F(Formats, PrefixesNameElementsOfOutputs) {
  const Task task = good();
  const Prefix& valid = *task.argument("hits")->valid;
  ASSERT_EQ(valid.elements.size(), 1u);
  EXPECT_EQ(valid.elements[0].output, "count");
  EXPECT_EQ(valid.elements[0].index, 0u);
  auto value = valid.count.evaluate([](std::string_view name) -> std::optional<int64_t> {
    return name == "count_at_0" ? 10 : name == "k" ? std::optional<int64_t>(1) : std::nullopt;
  });
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 6);
}

TEST_F(Formats, BoundsMayBeFormulas) {
  const Task task = good();
  auto data = make_case(task, case_of({{"n", 2000}, {"k", 1}}, 1));
  ASSERT_TRUE(data.ok());
  double low = 1e9, high = 0;
  for (size_t i = 0; i < 2000; ++i) {
    const double x = element(data->inputs[0], isa::Type::f32, i);
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_GE(low, 0.25);
  EXPECT_LT(low, 2);
  EXPECT_LE(high, std::sqrt(2000.0));
  EXPECT_GT(high, 40);
  // Bounded inputs are never replaced by denormals or large values.
  auto cases = emulate_cases(task, 1);
  ASSERT_TRUE(cases.ok());
  for (const Case& what : *cases) EXPECT_EQ(what.special, "");
}

TEST_F(Formats, IndicesStayLegal) {
  const Task task =
      good(with(R"({ name = "count")",
                R"({ name = "ptr", kind = "in", type = "s32", shape = ["n + 1"], fill = { offsets = ["7*k"] } },
  { name = "id", kind = "in", type = "u16", shape = ["k", "n"], fill = { uniform = ["k", "n - 1"] } },
  { name = "perm", kind = "in", type = "s64", shape = ["n"], fill = "permutation" },
  { name = "count")"));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto data = make_case(task, case_of({{"n", 9}, {"k", 3}}, seed));
    ASSERT_TRUE(data.ok());
    int64_t last = 0;
    std::set<int64_t> seen;
    for (size_t i = 0; i < 10; ++i) {
      const auto x = static_cast<int64_t>(element(data->inputs[3], isa::Type::s32, i));
      EXPECT_GE(x, last);
      last = x;
    }
    EXPECT_EQ(element(data->inputs[3], isa::Type::s32, 0), 0);
    EXPECT_EQ(last, 21);
    for (size_t i = 0; i < 27; ++i) {
      EXPECT_GE(element(data->inputs[4], isa::Type::u16, i), 3);
      EXPECT_LE(element(data->inputs[4], isa::Type::u16, i), 8);
    }
    for (size_t i = 0; i < 9; ++i) seen.insert(static_cast<int64_t>(element(data->inputs[5], isa::Type::s64, i)));
    EXPECT_EQ(seen.size(), 9u);
    EXPECT_EQ(*seen.rbegin(), 8);
  }
}

TEST_F(Formats, PositiveDefiniteMatricesCanBeFactored) {
  const Task task = good(with("[{ uniform = [0.25, \"sqrt(n)\"] }]", R"("spd")",
                              with(R"(shape = ["n"], fill)", R"(shape = ["k", "n", "n"], fill)")));
  auto data = make_case(task, case_of({{"n", 12}, {"k", 3}}, 5));
  ASSERT_TRUE(data.ok());
  for (size_t m = 0; m < 3; ++m) {
    double a[12][12];
    for (size_t i = 0; i < 12; ++i)
      for (size_t j = 0; j < 12; ++j) a[i][j] = element(data->inputs[0], isa::Type::f32, (m * 12 + i) * 12 + j);
    for (size_t i = 0; i < 12; ++i)
      for (size_t j = 0; j < i; ++j) EXPECT_EQ(a[i][j], a[j][i]);
    EXPECT_NE(a[0][1], a[0][2]);
    for (size_t k = 0; k < 12; ++k) {
      ASSERT_GT(a[k][k], 0) << "pivot " << k;
      for (size_t i = k + 1; i < 12; ++i)
        for (size_t j = k + 1; j < 12; ++j) a[i][j] -= a[i][k] * a[k][j] / a[k][k];
    }
  }
  auto odd = make_case(good(with("[{ uniform = [0.25, \"sqrt(n)\"] }]", "\"spd\"")), case_of({{"n", 12}, {"k", 3}}, 5));
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.findings()[0].code, "TASK0012");
}

TEST_F(Formats, CompileIsRead) {
  const Task task = good();
  EXPECT_EQ(task.compile.flags, (std::vector<std::string>{"-DN=4"}));
  ASSERT_EQ(task.compile.include.size(), 1u);
  EXPECT_TRUE(std::filesystem::equivalent(task.compile.include[0], folder.path()));
  EXPECT_EQ(task.compile.instantiate.size(), 1u);
}

TEST_F(Formats, FloatingTolerancesNeedTermsOnlyWithAReference) {
  const std::string text = with("kind = \"absolute\"\nabs = 0.5\nreason = \"a test\"\n", "kind = \"float\"\n");
  EXPECT_TRUE(good(text).tolerances.at("hits.v").without_terms);
  std::ofstream(folder.path() / "k.reference.cc") << "//\n";
  auto task = read(text);
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.findings()[0].code, "TASK0004");
  EXPECT_NE(task.findings()[0].message.find("terms"), std::string::npos);
}

TEST_F(Formats, EveryMistakeHasItsPlaceAndTheNearestWord) {
  const struct {
    const char *from, *to, *code, *hint;
  } faults[] = {
      {"pointer = \"x + 4*k\"", "pointer = \"xx + 4*k\"", "TASK0003", "did you mean `x`?"},
      {"pointer = \"x + 4*k\"", "pointer = \"x + 4*kk\"", "TASK0003", "did you mean `k`?"},
      {"pointer = \"x + 4*k\"", "pointr = \"x + 4*k\"", "TASK0002", "did you mean `pointer`?"},
      {"pointer = \"x + 4*k\"", "pointer = \"x + 0 - k\"", "TASK0011", ""},
      {"type = \"s32\", value = \"n\"", "type = \"i32\", value = \"n\"", "TASK0003", "did you mean `s32`?"},
      {"type = \"s32\", value = \"n\"", "type = \"s32\"", "TASK0004", ""},
      {"type = \"s32\", value = \"n\"", "type = \"s32\", value = \"n << 40\"", "TASK0011", ""},
      {"value = [\"k\", 2, 3]", "value = [\"k\", 2]", "TASK0003", "count says how many elements the field has"},
      {"count = 3, value", "count = 0, value", "TASK0003", "between 1 and 4096"},
      {"name = \"dims\"", "name = \"dt\"", "TASK0003", ""},
      {"value = \"1/n\"", "value = \"1/m\"", "TASK0003", ""},
      {"kind = \"struct\"", "kind = \"strcut\"", "TASK0003", "did you mean `struct`?"},
      {"{ name = \"d\", type", "{ name = \"d\", typ", "TASK0002", "did you mean `type`?"},
      {"fill = { uniform = [-3, 3] }", "fill = { unifrom = [-3, 3] }", "TASK0003", "did you mean `uniform`?"},
      {"fill = { uniform = [-3, 3] }", "fill = { uniform = [3, -3] }", "TASK0012", ""},
      {"fill = { uniform = [-3, 3] }", "fill = { uniform = [3] }", "TASK0003", ""},
      {"fill = { uniform = [-3, 3] }", "fill = \"spd\"", "TASK0003", ""},
      {"fill = { uniform = [0.5, 1.0] }", "fill = \"permutation\"", "TASK0003", ""},
      {"\"sqrt(n)\"", "\"sqrt(m)\"", "TASK0003", ""},
      {"valid = \"count[0] / 2 + k\"", "valid = \"cuont[0]\"", "TASK0003", "did you mean `count`?"},
      {"valid = \"count[0] / 2 + k\"", "valid = \"count[k]\"", "TASK0003", ""},
      {"valid = \"count[0] / 2 + k\"", "valid = \"hits[0]\"", "TASK0003", ""},
      {"valid = \"count[0] / 2 + k\"", "valid = \"count[0] +\"", "TASK0003", ""},
      {"valid = \"count[0] / 2 + k\"", "valid = \"m\"", "TASK0003", ""},
      {"instantiate =", "instanciate =", "TASK0002", "did you mean `instantiate`?"},
      {"include = [\".\"]", "include = [\"nowhere\"]", "TASK0006", ""},
      {"flags = [\"-DN=4\"]", "flags = [\"N=4\"]", "TASK0003", ""},
      {"[tolerance.hits.v]", "[tolerance.hits.w]", "TASK0002", "did you mean `v`?"},
      {"[tolerance.hits.v]", "[tolerance.hit.v]", "TASK0002", "did you mean `hits`?"},
  };
  for (const auto& one : faults) {
    const base::Finding finding = fault(one.from, one.to);
    if (std::string_view(one.to).find("count[0] +") != std::string_view::npos) {
      EXPECT_EQ(finding.code, "PLAN0001") << one.to;  // as every expression
    } else {
      EXPECT_EQ(finding.code, one.code) << one.to << ": " << finding.message;
    }
    if (*one.hint) {
      EXPECT_EQ(finding.hint, one.hint) << one.to << ": " << finding.message;
    }
    EXPECT_GT(finding.place.line, 0u) << one.to << ": " << finding.message;
  }
}

// --- the user's own kernel as the oracle: how its spread bounds the error ---

struct Spread : Formats {
  Comparison compared(double got, double value, double spread, double others) {
    const Task task = good(with("kind = \"absolute\"\nabs = 0.5\nreason = \"a test\"\n", "kind = \"float\"\n"));
    auto data = make_case(task, case_of(task.emulate[0], 1));
    std::vector<Expected> expected(20);
    for (Expected& e : expected) {
      e.value = 1;
      e.spread = others;
    }
    expected[3].value = value;
    expected[3].spread = spread;
    std::vector<float> actual(20, 1.0f);
    actual[3] = static_cast<float>(got);
    const auto* bytes = reinterpret_cast<const uint8_t*>(actual.data());
    return compare(task, *data, "hits.v", {bytes, bytes + 80}, expected, {});
  }
};

TEST_F(Spread, BoundsAnElement) {
  const double u = 0x1p-24;
  EXPECT_TRUE(compared(1 + 4 * u, 1, 0, 0).right);  // 4 units of the output's type are always granted
  EXPECT_FALSE(compared(1 + 6 * u, 1, 0, 0).right);
  EXPECT_TRUE(compared(1 + 0.0079, 1, 0.001, 0).right);  // 8 deviations
  EXPECT_FALSE(compared(1 + 0.0081, 1, 0.001, 0).right);
  EXPECT_TRUE(compared(1 + 0.0075, 1, 0, 0.001).right);  // or 8 typical ones
  EXPECT_FALSE(compared(1 + 0.0081, 1, 0, 0.001).right);
  EXPECT_FALSE(compared(std::nan(""), 1, 0.001, 0).right);
  EXPECT_TRUE(compared(std::nan(""), std::nan(""), 0, 0).right);
  EXPECT_FALSE(compared(1, std::nan(""), 0, 0).right);
}

TEST_F(Spread, WhatRoundingItselfDecidesIsNotAsked) {
  const Task task = good();
  auto data = make_case(task, case_of(task.emulate[0], 1));
  std::vector<Expected> expected(4);
  expected[2].integer = 5;
  expected[2].spread = 1;
  expected[2].lowest = 4;
  expected[2].highest = 6;
  std::vector<uint32_t> actual{0, 0, 4, 0};
  const auto right = [&] {
    const auto* bytes = reinterpret_cast<const uint8_t*>(actual.data());
    return compare(task, *data, "count", {bytes, bytes + 16}, expected, {}).right;
  };
  EXPECT_TRUE(right());
  actual[2] = 7;
  EXPECT_FALSE(right());
  expected[2].spread = 0;
  actual[2] = 4;
  EXPECT_FALSE(right());
}

}  // namespace
}  // namespace ptxlab::task
