// The rule of the user's own kernel as its oracle, tried on the repository's tasks as if they had no reference: what is honest
// passes (the true values in double precision, another contraction, other roundings, another order), and what computes less
// than was asked fails.
#include "judge/own_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <unistd.h>

#include <cmath>
#include <set>

#include "base/file.h"
#include "base/narrow_float.h"
#include "judge/answers.h"
#include "ptx/verifier.h"
#include "task/fill.h"
#include "task/mutants.h"

namespace ptxlab::judge {
namespace {

PrepareOptions real_parts() {
  PrepareOptions options;
  options.engine = [] { return simt::make_simt_engine(); };
  options.reference = [](const task::Task& task) { return task::make_reference_oracle(task); };
  options.threads = 2;
  return options;
}

// A task of the repository with and without its reference, a few sizes of it.
struct Study {
  task::Task task, alone;
  std::unique_ptr<Baseline> baseline;
  std::unique_ptr<task::Oracle> reference;
  PreparedTask prepared;

  Study(const std::string& name, std::vector<task::Sizes> sizes) {
    auto found = task::find_task(name, std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks");
    EXPECT_TRUE(found.ok());
    task = *found;
    task.emulate = std::move(sizes);
    task.random_count = 0;
    task.time.clear();
    alone = task;
    alone.reference.reset();
    alone.user = true;
    auto read = read_baseline(task, {80, 0}, {});
    EXPECT_TRUE(read.ok());
    baseline = std::make_unique<Baseline>(std::move(*read));
    auto made = prepare(alone, *baseline, real_parts());
    EXPECT_TRUE(made.ok()) << base::render(made.findings(), "");
    prepared = std::move(*made);
    if (auto oracle = task::make_reference_oracle(task)) reference = std::move(*oracle);
  }

  CaseRun run(const ptx::Module& module, const PreparedCase& one, uint64_t seed, bool random = false) const {
    auto plan = launch::resolve(baseline->plan, module, one.data.binding);
    EXPECT_TRUE(plan.ok());
    CaseOptions how;
    how.seed = seed;
    how.checkers = false;
    how.random_rounding = random;
    auto engine = simt::make_simt_engine();
    return run_case(*engine, module, *plan, one.data, how);
  }
  // The first case in which the module comes out wrong; empty: in none.
  std::string wrong(const ptx::Module& module, uint64_t seed = 77, bool random = false) const {
    for (const PreparedCase& one : prepared.cases) {
      const CaseRun ran = run(module, one, seed, random);
      if (!ran.completed) return one.data.what.label() + ": did not run";
      const CaseVerdict verdict = compare_case(prepared.task, one, ran);
      if (!verdict.right) return one.data.what.label() + ": " + verdict.summary;
    }
    return "";
  }
};

// Every fma as a product and a sum: what a compiler without contraction makes of the same source.
std::string without_fma(const std::string& ptx) {
  std::string text;
  size_t at = 0;
  for (size_t line = 0; line < ptx.size(); line = at) {
    at = std::min(ptx.find('\n', line), ptx.size() - 1) + 1;
    const std::string one = ptx.substr(line, at - line);
    const size_t fma = one.find("fma.rn.f32"), semicolon = one.rfind(';');
    if (fma == std::string::npos || one.find('@') != std::string::npos) {
      text += one;
      continue;
    }
    const std::string operands = one.substr(fma + 10, semicolon - fma - 10);
    const size_t first = operands.find(','), last = operands.rfind(',');
    text += "{ .reg .f32 %product; mul.rn.f32 %product," + operands.substr(first + 1, last - first - 1) +
            "; add.rn.f32 " + operands.substr(0, first) + ", %product" + operands.substr(last) + "; }\n";
  }
  return text;
}

struct OwnOracle : ::testing::TestWithParam<std::pair<const char*, std::vector<task::Sizes>>> {};

TEST_P(OwnOracle, PassesWhatIsHonestAndFailsWhatIsNot) {
  const auto& [name, sizes] = GetParam();
  Study study(name, sizes);
  ASSERT_FALSE(study.prepared.cases.empty());
  EXPECT_NE(study.prepared.oracle.find("8 randomly rounded runs"), std::string::npos) << study.prepared.oracle;
  EXPECT_EQ(study.wrong(study.baseline->module), "");
  for (uint64_t seed : {1000, 1001, 1002}) EXPECT_EQ(study.wrong(study.baseline->module, seed, true), "");
  const ptx::Checked split = ptx::check(without_fma(study.baseline->ptx), "split.ptx");
  ASSERT_TRUE(split.ok()) << base::render(split.findings, split.module.source);
  EXPECT_EQ(study.wrong(split.module), "");
  // The values in double precision, rounded once: what a perfect kernel would give.
  for (const PreparedCase& one : study.prepared.cases) {
    if (!one.data.what.special.empty()) continue;  // what overflows in single precision does not in double
    for (const Answer& answer : one.answers) {
      const task::View view = task::output_view(study.task, answer.output);
      auto expected = study.reference->expected(one.data, answer.output, answer.indices);
      ASSERT_TRUE(expected.ok());
      std::vector<uint8_t> perfect(one.data.binding.buffers[view.buffer].bytes);
      for (size_t i = 0; i < expected->size(); ++i)
        task::store_element(perfect, view.type, answer.indices.empty() ? i : answer.indices[i], (*expected)[i].value);
      const auto compared =
          task::compare(study.prepared.task, one.data, answer.output, perfect, answer.expected, answer.indices);
      EXPECT_TRUE(compared.right) << one.data.what.label() << ": " << compared.summary;
    }
  }
  if (std::string(name).find("gemm") == 0) return;  // its planted faults take half a minute
  // Planted faults: each kind is caught at one of its places.
  std::string missed;
  for (const task::PtxMutant& mutant : task::ptx_mutants()) {
    if (study.task.mutant_skips.count(mutant.name)) continue;
    const auto planted = mutant.apply(study.baseline->module);
    bool caught = planted.empty();
    for (const task::Planted& one : planted) {
      const ptx::Checked checked = ptx::check(one.text, "mutant.ptx");
      if (caught || !checked.ok()) continue;
      caught = !study.wrong(checked.module).empty();
    }
    if (!caught) missed += " " + mutant.name;
  }
  EXPECT_EQ(missed, "");
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, OwnOracle,
    ::testing::Values(
        std::pair<const char*, std::vector<task::Sizes>>("softmax/softmax_f32",
                                                         {{{"m", 3}, {"n", 33}}, {{"m", 2}, {"n", 1009}}}),
        std::pair<const char*, std::vector<task::Sizes>>("norm/rmsnorm_bf16",
                                                         {{{"m", 3}, {"n", 31}}, {{"m", 2}, {"n", 1009}}}),
        std::pair<const char*, std::vector<task::Sizes>>("gemm/sgemm_f32", {{{"m", 33}, {"n", 17}, {"k", 65}},
                                                                            {{"m", 5}, {"n", 70}, {"k", 130}}})));

TEST(OwnOracle, AnswersAreKeptBetweenProcesses) {
  Study study("norm/rmsnorm_bf16", {{{"m", 2}, {"n", 100}}});
  const PreparedCase& one = study.prepared.cases[0];
  auto plan = launch::resolve(study.baseline->plan, study.baseline->module, one.data.binding);
  ASSERT_TRUE(plan.ok());
  const CaseRun nearest = study.run(study.baseline->module, one, 5);
  const auto views = task::output_views(study.alone);
  int engines = 0;
  const auto ask = [&](uint64_t seed) {
    return own_answers({study.alone, *study.baseline, *plan, one.data, nearest, views, seed, [&] {
                          ++engines;
                          return simt::make_simt_engine();
                        }});
  };
  const uint64_t seed = static_cast<uint64_t>(getpid()) << 20;
  const OwnAnswers first = ask(seed);
  EXPECT_EQ(engines, kRandomRuns);
  const OwnAnswers second = ask(seed);
  EXPECT_EQ(engines, kRandomRuns);
  ASSERT_EQ(first.expected[0].size(), second.expected[0].size());
  EXPECT_TRUE(second.random);
  EXPECT_EQ(first.expected[0][7].value, second.expected[0][7].value);
  EXPECT_EQ(first.expected[0][7].spread, second.expected[0][7].spread);
  // One element may come out the same in all runs, a row of a hundred does not.
  EXPECT_TRUE(std::any_of(first.expected[0].begin(), first.expected[0].end(),
                          [](const auto& expected) { return expected.spread > 0; }));
}

}  // namespace
}  // namespace ptxlab::judge
