// The repository's tasks pass their own lint, and a task that cannot say no does not.
#include "judge/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/file.h"
namespace ptxlab::judge {
namespace {

task::Task task_named(const std::string& name) {
  auto task = task::find_task(name, std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks");
  EXPECT_TRUE(task);
  return *task;
}

bool has(const LintReport& report, std::string_view code) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& f) { return f.code == code; });
}

TEST(Lint, EveryTaskIsFitToJudge) {
  for (const std::string& name : task::list_tasks(std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks")) {
    auto report = lint(task_named(name), {});
    if (has(report, "ORA0001")) GTEST_SKIP() << "there is no g++";
    EXPECT_TRUE(report.ok()) << text(report);
    EXPECT_GT(report.rows.size(), 20u);
    EXPECT_NE(text(report).find("mutant"), std::string::npos);
  }
}

// Every speed-up is quoted against the strongest baseline, so each of them has to be right.
TEST(Lint, AFurtherBaselineHasToBeRight) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate.resize(3);
  task.random_count = 0;
  ASSERT_GT(task.baselines.size(), 1u);
  auto report = lint(task, {});
  if (has(report, "ORA0001")) GTEST_SKIP() << "there is no g++";
  EXPECT_FALSE(has(report, "LINT0007")) << text(report);
  EXPECT_NE(text(report).find("baseline triton.ptx"), std::string::npos) << text(report);

  base::TemporaryFolder folder("ptxlab-lint-test");
  auto ptx = base::read_file(*task.ptx);
  ASSERT_TRUE(ptx);
  const size_t add = ptx->find("add.f32");
  ASSERT_NE(add, std::string::npos);
  std::ofstream(folder.path() / "wrong.ptx") << ptx->replace(add, 3, "sub");
  task.baselines[1].file = folder.path() / "wrong.ptx";
  task.baselines[1].plan = "baseline.plan.toml";
  report = lint(task, {});
  EXPECT_TRUE(has(report, "LINT0007")) << text(report);

  task.baselines[1].file = "nowhere.ptx";
  EXPECT_NE(text(lint(task, {})).find("cannot be read"), std::string::npos);
}

TEST(Lint, ALooseToleranceLetsMutantsPass) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate.resize(2);
  task.random_count = 0;
  auto& tolerance = task.tolerances.at("c");
  tolerance.kind = task::Tolerance::Kind::absolute;
  tolerance.abs = 1e38;
  for (auto& argument : task.arguments) argument.special.clear();
  auto report = lint(task, {});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(has(report, "LINT0003")) << text(report);
}

TEST(Lint, ASkipHasToNameAMutant) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate.resize(2);
  task.random_count = 0;
  task.mutant_skips = {{"zeroes", "a slip of the pen"}};
  EXPECT_TRUE(has(lint(task, {}), "LINT0004"));
}

TEST(Lint, AnInputThatDoesNotMatterIsNamed) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate.resize(3);
  task.random_count = 0;
  // A third input that the kernel never gets.
  task::Argument unused = task.arguments[0];
  unused.name = "unused";
  task.arguments.push_back(unused);
  auto report = lint(task, {});
  EXPECT_TRUE(has(report, "LINT0002")) << text(report);
}

TEST(Lint, AnOutputOfOneElementVariesFromCaseToCase) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate = {task.emulate.at(0)};
  ASSERT_EQ(task.emulate[0].begin()->second, 1);
  task.random_count = 0;
  EXPECT_FALSE(has(lint(task, {}), "LINT0006"));
  for (auto& argument : task.arguments) {  // the sum of two constants
    argument.special.clear();
    argument.fills = {{"constant", {launch::Expression::constant(1)}, "", {}}};
  }
  EXPECT_TRUE(has(lint(task, {}), "LINT0006")) << text(lint(task, {}));
}

TEST(Lint, NobodyHasToCatchAFaultInAKernelThatIsNotLaunched) {
  auto task = task_named("elementwise/vector_add_f32");
  task.emulate.resize(3);
  task.random_count = 0;
  base::TemporaryFolder folder("ptxlab-lint-test");
  auto ptx = base::read_file(*task.ptx);
  ASSERT_TRUE(ptx);
  task.ptx = folder.path() / "two.ptx";
  std::ofstream(*task.ptx) << *ptx << R"(
.visible .entry other(.param .u64 y, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
AGAIN:
  st.global.u32 [%rd1], %r2;
  add.u64 %rd1, %rd1, 4;
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p1, %r2, %r1;
  @%p1 bra AGAIN;
  ret;
}
)";
  const auto report = lint(task, {});
  EXPECT_NE(text(report).find("mutant last_term_dropped   skipped  nothing here can have this fault"),
            std::string::npos)
      << text(report);
  EXPECT_FALSE(has(report, "LINT0003")) << text(report);
}

}  // namespace
}  // namespace ptxlab::judge
