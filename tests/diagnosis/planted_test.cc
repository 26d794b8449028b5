// The tables of faults hold what they say, and a sample of them gets its names from the judge as it is. All of them: study.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "judge/diagnosis.h"
#include "judge/judge.h"
#include "planted.h"
#include "ptx/printer.h"

namespace ptxlab::planted {
namespace {

namespace fs = std::filesystem;

struct Planted : ::testing::Test {
  static const std::vector<Fault>& faults() {
    static const auto all = read_faults(fs::path(PTXLAB_SOURCE_DIR) / "tests/diagnosis/faults");
    EXPECT_TRUE(all) << base::render(all.findings(), "");
    static const std::vector<Fault> none;
    return all ? *all : none;
  }
  static judge::Judge& judge() {
    static judge::Judge the_judge;
    return the_judge;
  }
  static const task::Task& task(const std::string& name) {
    static std::map<std::string, task::Task> tasks;
    auto at = tasks.find(name);
    if (at == tasks.end())
      at = tasks.emplace(name, *task::find_task(name, fs::path(PTXLAB_SOURCE_DIR) / "tasks")).first;
    return at->second;
  }
  static const judge::Baseline& baseline(const std::string& name) {
    return **judge().baseline(task(name), *isa::target_named("sm_80"));
  }
};

TEST_F(Planted, EveryEditHasItsPlaceAndEveryNameIsOne) {
  EXPECT_GT(faults().size(), 500u);
  for (const auto& fault : faults()) {
    const auto source = base::read_file(task(fault.task).folder / "kernel.cu");
    ASSERT_TRUE(source);
    EXPECT_TRUE(edited(*source, fault.cuda)) << fault.task << ": " << fault.what;
    const auto& theirs = baseline(fault.task);
    EXPECT_TRUE(edited(theirs.plan_text, fault.plan)) << fault.task << ": " << fault.what;
    if (fault.cuda.empty()) {
      EXPECT_TRUE(edited(ptx::print(theirs.module), fault.ptx)) << fault.task << ": " << fault.what;
    }
    for (const auto& name : fault.is) {
      bool known = fault.slow && name.starts_with("JDG00");
      for (int p = 0; p < static_cast<int>(judge::Pattern::kEnd); ++p)
        known = known || name == name_of(static_cast<judge::Pattern>(p));
      EXPECT_TRUE(known) << fault.task << ": " << fault.what << ": " << name;
    }
  }
}

// Those of the plan need no compiler, and these tasks little time.
TEST_F(Planted, ASampleGetsItsNames) {
  judge::JudgeOptions how;
  how.target = isa::target_named("sm_80");
  how.until = record::GateName::emulate;
  size_t judged = 0, seen = 0;
  for (const auto& fault : faults()) {
    if (fault.slow || fault.host != "plan" || fault.is.size() != 1 || fault.task.starts_with("gemm")) continue;
    if (seen++ % 8 != 0) continue;
    auto candidate = make(fault, baseline(fault.task), {});
    ASSERT_TRUE(candidate);
    const auto verdict = judge().judge(task(fault.task), *candidate, how);
    const auto [name, said] = name_given(verdict);
    if (name.empty() && verdict.outcome == record::OutcomeName::faulted) continue;  // an error says what it is
    EXPECT_EQ(name, fault.is.front()) << fault.task << ": " << fault.what << "\n" << said;
    ++judged;
  }
  EXPECT_GT(judged, 3u);
}

TEST_F(Planted, AnyKernelTakesTheGeneralFaults) {
  const std::string name = "norm/rmsnorm_bf16";
  const auto& theirs = baseline(name);
  const auto made = plant_everywhere(task(name), "baseline", theirs.ptx, theirs.plan_text, 2);
  for (const char* what :
       {"0.7 times", "without its sign", "odd CTAs do not store", "'x' and 'w' exchanged in the plan"})
    EXPECT_TRUE(std::any_of(made.begin(), made.end(), [&](const Fault& f) { return f.what == what; })) << what;
  EXPECT_TRUE(std::all_of(made.begin(), made.end(), [](const Fault& f) { return !f.text.empty(); }));
}

}  // namespace
}  // namespace ptxlab::planted
