// Tasks and examples of the repository with their plans: every case resolves to launches.
#include <gtest/gtest.h>

#include "base/file.h"
#include "ptx/parser.h"
#include "task/case.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

const std::filesystem::path kRoot = PTXLAB_SOURCE_DIR;

void resolves(const Task& task, const std::filesystem::path& ptx_file) {
  auto ptx_text = base::read_file(ptx_file);
  auto plan_text = base::read_file(task.plan);
  ASSERT_TRUE(ptx_text.ok() && plan_text.ok());
  const ptx::Parsed parsed = ptx::parse(*ptx_text, ptx_file.string());
  ASSERT_TRUE(parsed.ok()) << base::render(parsed.findings, *ptx_text);
  auto plan = launch::read_plan(*plan_text, task.plan.string());
  ASSERT_TRUE(plan.ok()) << base::render(plan.findings(), *plan_text);
  auto cases = emulate_cases(task, 1);
  ASSERT_TRUE(cases.ok());
  for (const Task::Timed& timed : task.time) cases->push_back(case_of(timed.sizes, 1));
  uint64_t threads = 0;
  for (const Case& what : *cases) {
    auto data = bind_case(task, what);
    ASSERT_TRUE(data.ok()) << base::render(data.findings(), "");
    auto resolved = launch::resolve(*plan, parsed.module, data->binding);
    ASSERT_TRUE(resolved.ok()) << what.label() << "\n" << base::render(resolved.findings(), *plan_text);
    EXPECT_EQ(resolved->launches.size(), 1u);
    if (what.sizes != task.time.back().sizes && what.sizes != task.time.front().sizes)
      threads += launch::thread_count(*resolved);
  }
  EXPECT_LT(threads, 2'000'000u) << "emulating should stay cheap";
}

TEST(Plans, OfTheTasksResolve) {
  for (const std::string& name : list_tasks(kRoot / "tasks")) {
    SCOPED_TRACE(name);
    auto task = find_task(name, kRoot / "tasks");
    ASSERT_TRUE(task.ok());
    resolves(*task, *task->ptx);
  }
}

// The examples hold the same kernels as the tasks, so the tasks' PTX serves where there is no nvcc.
TEST(Plans, OfTheExamplesResolve) {
  for (auto [example, task_name] :
       {std::pair("vector_add", "elementwise/vector_add_f32"), std::pair("rmsnorm", "norm/rmsnorm_bf16"),
        std::pair("softmax", "softmax/softmax_f32"),
        std::pair("bias_gelu_dropout", "activation/bias_gelu_dropout_bf16"), std::pair("rope", "attention/rope_bf16"),
        std::pair("dequantise", "quant/dequant_int8_f16"), std::pair("histogram", "histogram/histogram_u8"),
        std::pair("sgemm", "gemm/sgemm_f32"), std::pair("wave", "stencil/wave3d_r4_f32")}) {
    SCOPED_TRACE(example);
    auto task = read_task(kRoot / "examples" / (std::string(example) + ".task.toml"));
    ASSERT_TRUE(task.ok()) << base::render(task.findings(), "");
    EXPECT_TRUE(task->user);
    EXPECT_EQ(task->name, example);
    EXPECT_EQ(task->kernel.filename(), std::string(example) + ".cu");
    EXPECT_FALSE(task->reference.has_value());
    EXPECT_EQ(task_file_of(task->kernel), task->file);
    EXPECT_EQ(plan_file_of(task->kernel), task->plan);
    resolves(*task, kRoot / "tasks" / task_name / "baseline.ptx");
  }
}

}  // namespace
}  // namespace ptxlab::task
