#include "task/mutants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "ptx/parser.h"
#include "task/compare.h"
#include "task/fill.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::task {
namespace {

using isa::Type;

const std::filesystem::path kTasks = std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks";

std::vector<uint8_t> ramp(Type type, int count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count * isa::bytes_of(type)));
  for (int i = 0; i < count; ++i) store_element(bytes, type, static_cast<uint64_t>(i), i + 20);
  return bytes;
}

TEST(OutputMutants, ChangeTheOutputAndNothingBeyondIt) {
  for (Type type : {Type::f32, Type::bf16, Type::f64, Type::s32, Type::u8}) {
    for (const OutputMutant& mutant : output_mutants()) {
      std::vector<uint8_t> bytes = ramp(type, 60);
      const std::vector<uint8_t> before = bytes;
      const bool applied = mutant.apply(bytes, type, {6, 10});
      if (mutant.name == "nan" && !isa::is_float(type)) {
        EXPECT_FALSE(applied);
        continue;
      }
      EXPECT_TRUE(applied) << mutant.name;
      EXPECT_NE(bytes, before) << mutant.name;
    }
  }
}

TEST(OutputMutants, ByHand) {
  const auto apply = [](const char* name, int count, const std::vector<int64_t>& shape) {
    std::vector<uint8_t> bytes = ramp(Type::f32, count);
    for (const OutputMutant& mutant : output_mutants())
      if (mutant.name == name) mutant.apply(bytes, Type::f32, shape);
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(element(bytes, Type::f32, static_cast<uint64_t>(i)));
    return values;
  };
  EXPECT_EQ(apply("rows_rotated", 4, {2, 2}), (std::vector<double>{22, 23, 20, 21}));
  EXPECT_EQ(apply("tail_dropped", 3, {3}), (std::vector<double>{20, 21, 0}));
  EXPECT_EQ(apply("shifted", 3, {3}), (std::vector<double>{20, 20, 21}));
  EXPECT_EQ(apply("constant", 3, {3}), (std::vector<double>{21, 21, 21}));
  EXPECT_EQ(apply("tile_dropped", 4, {4}), (std::vector<double>{20, 0, 0, 23}));
  EXPECT_TRUE(std::isnan(apply("nan", 3, {3})[1]));
}

TEST(OutputMutants, SayWhereTheyDoNotApply) {
  for (const OutputMutant& mutant : output_mutants()) {
    std::vector<uint8_t> one = ramp(Type::f32, 1), nothing(4, 0);
    if (mutant.name == "rows_rotated") {
      EXPECT_FALSE(mutant.apply(one, Type::f32, {1, 1}));
    }
    if (mutant.name == "zeros") {
      EXPECT_FALSE(mutant.apply(nothing, Type::f32, {1}));
    }
  }
}

// How often each mutant applies to the baselines, counted by hand in the PTX.
TEST(PtxMutants, FindTheirPlaces) {
  const auto count = [](const char* task_name, const std::string& mutant_name) -> size_t {
    auto text = base::read_file(kTasks / task_name / "baseline.ptx");
    EXPECT_TRUE(text.ok());
    const ptx::Parsed parsed = ptx::parse(*text, "baseline.ptx");
    EXPECT_TRUE(parsed.ok()) << base::render(parsed.findings, *text);
    for (const PtxMutant& mutant : ptx_mutants())
      if (mutant.name == mutant_name) return mutant.apply(parsed.module).size();
    ADD_FAILURE() << "no mutant " << mutant_name;
    return 0;
  };
  EXPECT_EQ(count("elementwise/vector_add_f32", "barrier_removed"), 0u);
  EXPECT_EQ(count("elementwise/vector_add_f32", "f16_accumulation"), 0u);
  EXPECT_EQ(count("elementwise/vector_add_f32", "guard_too_wide"), 1u);
  EXPECT_EQ(count("elementwise/vector_add_f32", "last_term_dropped"), 0u);
  EXPECT_EQ(count("elementwise/vector_add_f32", "wrong_element_size"), 1u);
  EXPECT_EQ(count("elementwise/vector_add_f32", "store_removed"), 1u);
  EXPECT_EQ(count("norm/rmsnorm_bf16", "barrier_removed"), 2u);
  EXPECT_EQ(count("norm/rmsnorm_bf16", "f16_accumulation"), 1u);
  EXPECT_EQ(count("norm/rmsnorm_bf16", "last_term_dropped"), 2u);
  EXPECT_EQ(count("norm/rmsnorm_bf16", "wrong_stride"), 2u);
  EXPECT_EQ(count("softmax/softmax_f32", "barrier_removed"), 4u);
  EXPECT_EQ(count("softmax/softmax_f32", "last_term_dropped"), 3u);
  // Unrolled loops: a register for each step of a sum. A formula of three additions is none.
  EXPECT_EQ(count("gemm/sgemm_f32", "f16_accumulation"), 1u);
  EXPECT_EQ(count("stencil/wave3d_r4_f32", "f16_accumulation"), 1u);
  EXPECT_EQ(count("activation/bias_gelu_dropout_bf16", "f16_accumulation"), 0u);
  EXPECT_EQ(count("gemm/sgemm_f32", "product_alone"), 64u * 8 + 2 * 64);
  EXPECT_EQ(count("gemm/sgemm_f32", "shared_misplaced"), 5u);
  EXPECT_EQ(count("histogram/histogram_u8", "store_removed"), 1u);
  EXPECT_EQ(count("histogram/histogram_u8", "shared_misplaced"), 8u + 5);
  EXPECT_EQ(count("stencil/wave3d_r4_f32", "store_misplaced"), 1u);
  EXPECT_EQ(count("quant/dequant_int8_f16", "wrong_sign"), 16u);
}

TEST(PtxMutants, EachIsPtxThatPtxasTakesAndKeepsItsLines) {
  const bool assembles = toolchain::installed().ptxas.has_value();
  for (const std::string& name : list_tasks(kTasks)) {
    auto text = base::read_file(kTasks / name / "baseline.ptx");
    ASSERT_TRUE(text.ok());
    const ptx::Parsed parsed = ptx::parse(*text, "baseline.ptx");
    for (const PtxMutant& mutant : ptx_mutants()) {
      std::set<std::string> texts{*text};
      for (const Planted& planted : mutant.apply(parsed.module)) {
        EXPECT_TRUE(texts.insert(planted.text).second) << mutant.name << ": " << planted.what;
        EXPECT_EQ(std::count(planted.text.begin(), planted.text.end(), '\n'),
                  std::count(text->begin(), text->end(), '\n'));
        EXPECT_GT(planted.line, 0u);
        const ptx::Parsed again = ptx::parse(planted.text, "mutant.ptx");
        EXPECT_TRUE(again.ok()) << mutant.name << ": " << planted.what << "\n"
                                << base::render(again.findings, planted.text);
        if (!assembles || texts.size() > 2) continue;  // one place of each is enough for ptxas
        auto assembled = toolchain::assemble(planted.text, "mutant.ptx", {*isa::target_named("sm_80")});
        EXPECT_TRUE(assembled.ok()) << mutant.name << ": " << planted.what << "\n"
                                    << base::render(assembled.findings(), planted.text);
      }
    }
  }
}

}  // namespace
}  // namespace ptxlab::task
