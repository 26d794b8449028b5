// The second variant of timed inputs, which elements are looked at, and outputs compared whole with the baseline's.
#include "judge/timed_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "judge/timed_outputs.h"
#include "task/task.h"

namespace ptxlab::judge {
namespace {

// A task with one input of this type and fill.
task::Task task_with(isa::Type type, const std::string& fill, size_t bytes, task::CaseData& data) {
  task::Task made;
  task::Argument x;
  x.name = "x", x.type = type;
  x.fills.emplace_back();
  x.fills.back().name = fill;
  made.arguments = {x};
  data.inputs = {std::vector<uint8_t>(bytes)};
  for (size_t i = 0; i < bytes; ++i) data.inputs[0][i] = static_cast<uint8_t>(i * 37);
  launch::ResolvedBuffer buffer;
  buffer.bytes = bytes;
  data.binding.buffers = {buffer};
  return made;
}

TEST(TimedInputs, OneElementGetsAnothersValue) {
  for (auto [type, fill] :
       {std::pair{isa::Type::f32, "normal"}, {isa::Type::bf16, "heavy"}, {isa::Type::u8, "uniform"}}) {
    task::CaseData data;
    auto task = task_with(type, fill, 4096, data);
    std::string changed;
    auto change = choose_change(task, data, 1, changed);
    auto width = static_cast<size_t>(isa::bytes_of(type));
    ASSERT_EQ(change.bytes.size(), width) << fill;
    EXPECT_EQ(change.offset % width, 0u);
    EXPECT_NE(std::memcmp(data.inputs[0].data() + change.offset, change.bytes.data(), width), 0);
    EXPECT_NE(changed.find("'x'"), std::string::npos);
  }
  for (const char* fill : {"sorted", "permutation", "offsets", "spd", "constant"}) {
    task::CaseData data;
    auto task = task_with(isa::Type::s32, fill, 4096, data);
    std::string changed;
    EXPECT_TRUE(choose_change(task, data, 1, changed).bytes.empty()) << fill;
  }
}

TEST(TimedInputs, SampledIndicesHoldTheEndsOfAllAndOfRows) {
  auto indices = sampled_indices(1'000'000, 1000, 7);
  std::set<uint64_t> all(indices.begin(), indices.end());
  EXPECT_EQ(all.size(), indices.size()) << "each once, in order";
  for (uint64_t i : {uint64_t{0}, uint64_t{63}, uint64_t{999'999}, uint64_t{999'936}}) EXPECT_TRUE(all.count(i)) << i;
  int row_ends = 0;
  for (uint64_t i : all) row_ends += i % 1000 == 999;
  EXPECT_GE(row_ends, 20);
  EXPECT_GT(all.size(), 4000u);
  EXPECT_EQ(sampled_indices(10, 10, 1).size(), 10u) << "few are all looked at";
}

struct Outputs : ::testing::Test {
  PreparedTask prepared;
  TimedInput input;
  gpu::Opened opened;
  void SetUp() override {
    prepared.task.tolerances["y"].kind = task::Tolerance::Kind::floating;
    task::Argument y;
    y.name = "y", y.kind = task::Argument::Kind::out, y.type = isa::Type::f32;
    prepared.task.arguments = {y};
    prepared.task.tolerances["y"].accumulate = isa::Type::f32;
    prepared.task.tolerances["y"].without_terms = true;
    launch::ResolvedBuffer buffer;
    buffer.name = "y", buffer.bytes = 4 * kElements, buffer.role = launch::ResolvedBuffer::Role::out;
    input.data.binding.buffers = {buffer};
    input.data.shapes = {{kElements}};
    std::vector<float> values(kElements);
    for (size_t i = 0; i < kElements; ++i) values[i] = 1 + static_cast<float>(i) / kElements;
    own.assign(reinterpret_cast<const char*>(values.data()), 4 * kElements);
    opened.looks[0][0].contents = {own};
  }
  static constexpr size_t kElements = 3'000'000;
  std::string own;  // what the candidate put out
  void set(size_t i, float value) { std::memcpy(own.data() + 4 * i, &value, 4); }
  TimedOutputs compare() {
    opened.looks[1][0].contents = {own};
    return compare_timed_outputs({prepared, input, nullptr, opened});
  }
};

TEST_F(Outputs, EveryElementIsCompared) {
  EXPECT_TRUE(compare().right);
  EXPECT_EQ(compare().compared, kElements);
  set(kElements - 1, 2.5F);
  auto wrong = compare();
  EXPECT_FALSE(wrong.right);
  EXPECT_NE(wrong.summary.find("2999999"), std::string::npos) << wrong.summary;
  set(kElements - 1, NAN);
  EXPECT_FALSE(compare().right);
}

TEST_F(Outputs, ARoundingIsNoDifference) {
  for (size_t i = 0; i < kElements; i += 1000) {
    float value;
    std::memcpy(&value, own.data() + 4 * i, 4);
    set(i, std::nextafter(value, 10.0F));
  }
  EXPECT_TRUE(compare().right) << compare().summary;
  EXPECT_GT(apart_of({prepared, input, nullptr, opened}).at(0), 0);
}

TEST_F(Outputs, WhatDidNotComeBackIsTrouble) {
  own.resize(8);
  EXPECT_TRUE(compare().trouble);
  EXPECT_FALSE(compare().right);
}

}  // namespace
}  // namespace ptxlab::judge
