// Which baselines are called weak: one that runs on a single SM, and none of the repository's.
#include "judge/weak_baseline.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ptxlab::judge {
namespace {

const isa::Target kH200{90, 'a'};

base::Findings idle(const std::filesystem::path& folder) {
  auto task = task::read_task(folder / "task.toml");
  EXPECT_TRUE(task) << folder;
  if (!task) return {};
  auto baseline = read_baseline(*task, kH200, {});
  EXPECT_TRUE(baseline) << folder << base::render(baseline.findings(), "");
  return baseline ? idle_baseline(*task, *baseline, kH200) : base::Findings();
}

TEST(WeakBaseline, OneCtaForAllSmsIsWeak) {
  auto findings = idle("tests/adversaries/tasks/sum_with_state");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "JDG0058");
  EXPECT_EQ(findings[0].severity, base::Severity::note);
  EXPECT_NE(findings[0].message.find("1 CTA for"), std::string::npos) << findings[0].message;
}

TEST(WeakBaseline, NoTaskOfTheRepositoryHasOne) {
  int tasks = 0;
  for (const auto& at : std::filesystem::recursive_directory_iterator("tasks")) {
    if (at.path().filename() != "task.toml") continue;
    ++tasks;
    EXPECT_TRUE(idle(at.path().parent_path()).empty()) << at.path();
  }
  EXPECT_GE(tasks, 9);
}

TEST(WeakBaseline, ManyTimesTheFloorIsWeak) {
  Floor floor;
  EXPECT_TRUE(slow_baseline("n=1", 1e6, floor).empty()) << "no floor, nothing to say";
  floor.us = 50;
  EXPECT_TRUE(slow_baseline("n=1", 385, floor).empty()) << "the repository's own reach 7.7 times theirs";
  auto findings = slow_baseline("n=67108864", 4500, floor);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].message.find("90 times"), std::string::npos) << findings[0].message;
  floor.us = 0.1;
  EXPECT_TRUE(slow_baseline("n=64", 8, floor).empty()) << "a launch's latency";
}

}  // namespace
}  // namespace ptxlab::judge
