// Every task's own kernel is estimated at its timed sizes: it can be, in little time, and no faster than memory allows.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "estimate/hardware.h"
#include "subject.h"
#include "task/case.h"

namespace ptxlab::test {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(Tasks, OwnKernelsAreEstimatedForEverySheet) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  size_t estimated = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(PTXLAB_SOURCE_DIR) + "/tasks")) {
    if (entry.path().filename() != "task.toml") continue;
    auto task = task::read_task(entry.path());
    ASSERT_TRUE(task.ok()) << entry.path();
    auto text = base::read_file(entry.path().parent_path() / "baseline.ptx");
    auto plan_text = base::read_file(entry.path().parent_path() / "baseline.plan.toml");
    ASSERT_TRUE(text.ok() && plan_text.ok()) << entry.path();
    auto checked = ptx::check(*text, "baseline.ptx");
    auto plan = launch::read_plan(*plan_text, "baseline.plan.toml");
    ASSERT_TRUE(checked.ok() && plan.ok()) << entry.path();
    for (int sm : {80, 90}) {
      const isa::Target target{static_cast<uint16_t>(sm), 0};
      toolchain::AssembleOptions how;
      how.target = target;
      auto assembled = toolchain::assemble(*text, "baseline.ptx", how);
      ASSERT_TRUE(assembled.ok()) << entry.path();
      std::vector<task::CaseData> timed;
      for (const auto& one : task->time) {
        auto bound = task::bind_case(*task, task::case_of(one.sizes, 1));
        ASSERT_TRUE(bound.ok()) << entry.path();
        timed.push_back(std::move(*bound));
      }
      double before = cpu_seconds();
      auto made = judge::estimate_timed({*task, timed, checked.module, *plan, assembled->entries, target, 1,
                                         [] { return simt::make_simt_engine(); }});
      double took = cpu_seconds() - before;
      ASSERT_TRUE(made.ok()) << entry.path() << ": " << made.findings().front().message;
      if (getenv("PTXLAB_SHOW"))
        std::printf("%s sm_%d: %.2f s; %s", task->name.c_str(), sm, took, describe(made->whole).c_str());
      EXPECT_FALSE(made->whole.bound_by.empty());
      const auto& device = estimate::hardware_of(target);
      for (size_t i = 0; i < timed.size() && task->floor_bytes; ++i) {
        auto bytes = task->floor_bytes->evaluate(
            [&](std::string_view name) {
              auto it = task->time[i].sizes.find(std::string(name));
              return it == task->time[i].sizes.end() ? std::nullopt : std::optional<int64_t>(it->second);
            },
            task->params);
        ASSERT_TRUE(bytes.ok());
        EXPECT_GT(made->nanoseconds[i], 0.95 * static_cast<double>(*bytes) / device.dram_gbs) << task->name;
      }
      ++estimated;
    }
  }
  EXPECT_GE(estimated, 16u);
}

}  // namespace
}  // namespace ptxlab::test
