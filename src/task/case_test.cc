#include "task/case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "base/file.h"
#include "task/compare.h"
#include "task/fill.h"

namespace ptxlab::task {
namespace {

using isa::Type;
using launch::Expression;

Expression parsed(const std::string& text) { return *Expression::parse(text); }

Argument input(const std::string& name, Type type, std::vector<std::string> shape, const std::string& fill,
               std::vector<std::string> bounds = {}) {
  Argument argument;
  argument.name = name;
  argument.type = type;
  for (const std::string& text : shape) argument.shape.push_back(parsed(text));
  Fill entry{fill, {}, {}};
  for (const std::string& text : bounds) entry.bounds.push_back(parsed(text));
  argument.fills.push_back(std::move(entry));
  return argument;
}

Task small_task() {
  Task task;
  task.params = {"m", "n"};
  task.arguments.push_back(input("x", Type::f32, {"m", "n"}, "normal"));
  task.arguments.back().fills.push_back({"spike", {}, {}});
  task.arguments.back().special = {"nan", "inf"};
  task.arguments.push_back(input("ids", Type::s32, {"m"}, "uniform", {"0", "n - 1"}));
  Argument y = input("y", Type::f32, {"m", "n"}, "normal");
  y.kind = Argument::Kind::out;
  y.fills.clear();
  task.arguments.push_back(y);
  Argument n;
  n.name = "n";
  n.kind = Argument::Kind::scalar;
  n.type = Type::u32;
  n.value = "n";
  task.arguments.push_back(n);
  Argument eps = n;
  eps.name = "eps";
  eps.type = Type::f32;
  eps.value = "1/n";
  task.arguments.push_back(eps);
  task.emulate = {{{"m", 1}, {"n", 1}}, {{"m", 2}, {"n", 40}}, {{"m", 3}, {"n", 300}}, {{"m", 4}, {"n", 3000}}};
  task.random_count = 5;
  task.random_ranges = {{"m", {parsed("1"), parsed("9")}}, {"n", {parsed("1"), parsed("100")}}};
  task.where = {parsed("n % 4 == 0 || n < 3")};
  return task;
}

Case one(int64_t m, int64_t n, int fill = 0, const std::string& special = "", uint64_t seed = 1) {
  Case what = case_of({{"m", m}, {"n", n}}, seed);
  what.fill = fill;
  what.special = special;
  return what;
}

std::vector<double> row_of(const std::string& fill, Type type, size_t count, double low = NAN, double high = NAN,
                           uint64_t row = 0) {
  FillSpec spec;
  spec.name = fill;
  spec.type = type;
  spec.seed = 9;
  if (!std::isnan(low)) spec.bounded = true, spec.low = low, spec.high = high;
  std::vector<uint8_t> bytes(count * static_cast<size_t>(isa::bytes_of(type)));
  fill_row(spec, row, bytes);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(element(bytes, type, i));
  return values;
}

TEST(Cases, EverySizeWithEachFillThenSpecialValuesThenRandomSizes) {
  const Task task = small_task();
  auto cases = emulate_cases(task, 7);
  ASSERT_TRUE(cases.ok());
  EXPECT_EQ(cases->size(), 4u * 2 + 2 * 5 + 5);
  std::set<std::string> labels, specials;
  for (const Case& what : *cases) {
    labels.insert(what.label());
    if (!what.special.empty()) {
      specials.insert(what.special);
      EXPECT_GE(what.sizes.at("n"), 40);  // where there is room for them
      EXPECT_LE(what.sizes.at("n"), 300);
    }
    EXPECT_TRUE(what.sizes.at("n") % 4 == 0 || what.sizes.at("n") < 3);
    EXPECT_TRUE(make_case(task, what).ok());
  }
  EXPECT_EQ(labels.size(), cases->size());
  EXPECT_EQ(specials, (std::set<std::string>{"zeros", "denormals", "large", "nan", "inf"}));
  EXPECT_EQ((*cases)[0].input, "normal");
  EXPECT_EQ((*cases)[1].input, "spike");
}

TEST(Cases, AreTheSameForASeedAndOthersForAnother) {
  const Task task = small_task();
  auto first = emulate_cases(task, 7), again = emulate_cases(task, 7), other = emulate_cases(task, 8);
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ((*first)[i].label(), (*again)[i].label());
    EXPECT_EQ(make_case(task, (*first)[i])->inputs, make_case(task, (*again)[i])->inputs);
  }
  EXPECT_NE(make_case(task, (*first)[4])->inputs, make_case(task, (*other)[4])->inputs);
}

TEST(Cases, WhereThatNothingSatisfiesIsAFinding) {
  Task task = small_task();
  task.where = {parsed("n > 1000")};
  EXPECT_EQ(emulate_cases(task, 1).findings()[0].code, "TASK0008");
  task.where.clear();
  task.random_ranges.at("n") = {parsed("9"), parsed("3")};
  EXPECT_EQ(emulate_cases(task, 1).findings()[0].code, "TASK0008");
}

TEST(Cases, BindingAndBytes) {
  auto data = make_case(small_task(), one(2, 40));
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->binding.buffers.size(), 3u);
  EXPECT_EQ(data->binding.buffers[0].bytes, 320u);
  EXPECT_EQ(data->inputs[0].size(), 320u);
  EXPECT_EQ(data->inputs[1].size(), 8u);
  EXPECT_TRUE(data->inputs[2].empty());
  EXPECT_EQ(data->binding.buffers[2].init, launch::ResolvedBuffer::Init::poison);
  EXPECT_EQ(data->shapes[0], (std::vector<int64_t>{2, 40}));
  EXPECT_EQ(data->binding.scalars.at("n").integer, 40);
  EXPECT_EQ(data->binding.scalars.at("eps").bits, 0x3ccccccdu);  // 1/40 in f32
  auto bound = bind_case(small_task(), one(2, 40));
  EXPECT_TRUE(bound->inputs[0].empty());
  EXPECT_EQ(bound->binding.buffers, data->binding.buffers);
}

TEST(Cases, NanAndInfinityArePlantedWhereTheTaskWantsThem) {
  for (const char* special : {"nan", "inf"}) {
    auto data = make_case(small_task(), one(20, 40, 0, special));
    int rows = 0, most = 0;
    for (uint64_t row = 0; row < 20; ++row) {
      int planted = 0;
      for (uint64_t i = 0; i < 40; ++i) planted += !std::isfinite(element(data->inputs[0], Type::f32, 40 * row + i));
      rows += planted > 0;
      most = std::max(most, planted);
    }
    EXPECT_GT(rows, 3) << special;
    EXPECT_LT(rows, 18) << special;  // some rows stay clean
    EXPECT_EQ(most, 3) << special;   // one for every 16 elements and one more
  }
}

TEST(Cases, BoundedInputsKeepTheirBoundsInEverySpecialCase) {
  Task task = small_task();
  for (const char* special : {"", "zeros", "denormals", "large", "nan", "inf"}) {
    auto data = make_case(task, one(50, 8, 0, special));
    for (uint64_t i = 0; i < 50; ++i) {
      const double id = element(data->inputs[1], Type::s32, i);
      EXPECT_TRUE(id >= 0 && id < 8) << special << " " << id;
    }
  }
}

TEST(Cases, ShapesThatOverflowOrAreHugeAreFindings) {
  Task task = small_task();
  EXPECT_EQ(make_case(task, one(int64_t{1} << 40, int64_t{1} << 40)).findings()[0].code, "TASK0010");
  EXPECT_EQ(make_case(task, one(1 << 20, 1 << 20)).findings()[0].code, "TASK0010");
  EXPECT_EQ(make_case(task, one(0, 5)).findings()[0].code, "TASK0010");
  EXPECT_EQ(bind_case(task, one(1 << 20, 1 << 20)).findings()[0].code, "TASK0010");
  task.arguments[0].shape = {parsed("m * n * n * n * n")};
  EXPECT_EQ(make_case(task, one(1, 1 << 20)).findings()[0].code, "PLAN0003");
}

TEST(Cases, ScalarsOutsideTheirTypeAndEmptyBoundsAreFindings) {
  Task task = small_task();
  task.arguments[3].type = Type::u8;
  EXPECT_EQ(make_case(task, one(1, 300)).findings()[0].code, "TASK0011");
  task.arguments[3].type = Type::s64;
  task.arguments[3].value = "-9223372036854775807 - 1";
  EXPECT_EQ(make_case(task, one(1, 4))->binding.scalars.at("n").bits, uint64_t{1} << 63);
  task = small_task();
  task.arguments[1].fills[0].bounds = {parsed("5"), parsed("n - 1")};
  EXPECT_EQ(make_case(task, one(1, 4)).findings()[0].code, "TASK0012");
}

TEST(Cases, InputsFromAFile) {
  const base::TemporaryFolder folder("case-file");
  std::ofstream(folder.path() / "x.bin") << "0123456789abcdef";
  Task task = small_task();
  task.folder = folder.path();
  task.arguments[0].fills = {{"file", {}, "x.bin"}};
  auto data = make_case(task, one(1, 4));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(std::string(data->inputs[0].begin(), data->inputs[0].end()), "0123456789abcdef");
  EXPECT_EQ(make_case(task, one(1, 8)).findings()[0].code, "TASK0013");
}

TEST(Fills, NormalHeavyUniform) {
  const std::vector<double> normal = row_of("normal", Type::f64, 20'000);
  double sum = 0, squares = 0;
  for (double v : normal) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 20'000, 0, 0.03);
  EXPECT_NEAR(squares / 20'000, 1, 0.05);
  const std::vector<double> heavy = row_of("heavy", Type::f64, 20'000);
  EXPECT_GT(*std::max_element(heavy.begin(), heavy.end()), 12);  // a normal draw never gets there
  for (double v : row_of("uniform", Type::f32, 1000)) EXPECT_TRUE(v >= -1 && v <= 1);
  const std::vector<double> ids = row_of("uniform", Type::u32, 1000, 3, 5);
  EXPECT_EQ(std::set<double>(ids.begin(), ids.end()), (std::set<double>{3, 4, 5}));
}

TEST(Fills, SpikesStandAtTheEndsAndOnceInside) {
  int inside = 0;
  for (uint64_t row = 0; row < 50; ++row) {
    const std::vector<double> values = row_of("spike", Type::f32, 100, NAN, NAN, row);
    EXPECT_GT(std::fabs(values.front()), 30);
    EXPECT_GT(std::fabs(values.back()), 30);
    for (size_t i = 1; i + 1 < values.size(); ++i) inside += std::fabs(values[i]) > 30;
  }
  EXPECT_GT(inside, 40);
  EXPECT_LE(inside, 50);
}

TEST(Fills, TiesSortedPermutationOffsetsConstant) {
  const std::vector<double> ties = row_of("ties", Type::bf16, 1000);
  EXPECT_LE(std::set<double>(ties.begin(), ties.end()).size(), 8u);
  const std::vector<double> sorted = row_of("sorted", Type::f32, 1000);
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  std::vector<double> permutation = row_of("permutation", Type::s32, 100);
  EXPECT_FALSE(std::is_sorted(permutation.begin(), permutation.end()));
  std::sort(permutation.begin(), permutation.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(permutation[static_cast<size_t>(i)], i);
  const std::vector<double> offsets = row_of("offsets", Type::s64, 11, 0, 1000);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 1000);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  for (double v : row_of("constant", Type::s32, 5, 7, 7)) EXPECT_EQ(v, 7);
}

TEST(Fills, ZerosOfBothSignsDenormalsAndLargeValuesOfEachType) {
  for (Type type : {Type::f16, Type::bf16, Type::f32, Type::f64, Type::e4m3, Type::e5m2}) {
    const FloatLimits limits = float_limits(type);
    int negative = 0;
    for (double v : row_of("zeros", type, 100)) {
      EXPECT_EQ(v, 0);
      negative += std::signbit(v);
    }
    EXPECT_GT(negative, 20);
    for (double v : row_of("denormals", type, 100))
      EXPECT_TRUE(v != 0 && std::fabs(v) < limits.smallest_normal) << isa::name_of(type) << v;
    for (double v : row_of("large", type, 100))
      EXPECT_TRUE(std::isfinite(v) && std::fabs(v) >= 16) << isa::name_of(type) << v;
  }
}

TEST(Fills, IntegersSaturateAtTheirTypes) {
  std::vector<uint8_t> bytes(8);
  const auto stored = [&](Type type, double value) {
    store_element(bytes, type, 0, value);
    return element(bytes, type, 0);
  };
  EXPECT_EQ(stored(Type::s8, 300), 127);
  EXPECT_EQ(stored(Type::s8, -300), -128);
  EXPECT_EQ(stored(Type::u8, -1), 0);
  EXPECT_EQ(stored(Type::u16, 1e9), 65535);
  EXPECT_EQ(stored(Type::s32, -5), -5);
  EXPECT_EQ(stored(Type::s64, -0x1p63), -0x1p63);
  EXPECT_EQ(stored(Type::f16, 1.0 / 3), 0.333251953125);
  EXPECT_EQ(stored(Type::bf16, 1.00390625), 1.0);  // halfway, to even
}

TEST(Fills, ARowIsTheSameWhateverElseIsMade) {
  EXPECT_EQ(row_of("normal", Type::f32, 10, NAN, NAN, 5), row_of("normal", Type::f32, 10, NAN, NAN, 5));
  EXPECT_NE(row_of("normal", Type::f32, 10, NAN, NAN, 5), row_of("normal", Type::f32, 10, NAN, NAN, 6));
}

TEST(Fills, LongRowsAreMadeInPiecesAndAllOfThemFilled) {
  FillSpec spec;
  spec.name = "normal";
  spec.seed = 3;
  const uint64_t elements = 2 * kLongRow + 5;
  std::vector<uint8_t> bytes(4 * elements), again(4 * elements), first(4 * kLongRow);
  fill_rows(spec, bytes.size(), bytes);
  fill_rows(spec, again.size(), again);
  EXPECT_EQ(bytes, again) << "whatever thread makes which piece";
  fill_row(spec, 0, first);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin()));
  EXPECT_NE(element(bytes, Type::f32, 7), element(bytes, Type::f32, kLongRow + 7)) << "no piece repeats another";
  EXPECT_NE(element(bytes, Type::f32, elements - 1), 0);
  // What leans on its neighbours is never cut.
  spec.name = "sorted";
  fill_rows(spec, bytes.size(), bytes);
  EXPECT_LE(element(bytes, Type::f32, kLongRow - 1), element(bytes, Type::f32, kLongRow));
}

}  // namespace
}  // namespace ptxlab::task
