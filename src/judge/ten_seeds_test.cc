// Honest kernels under ten seeds: of inputs, sizes and schedules for the tasks; of the engine (order of warps and CTAs, addresses,
// poison) for the examples and for what other compilers made. No seed may find a fault, and all must find the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "judge/answers.h"
#include "judge/emulate_gate.h"
#include "judge/judge.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = PTXLAB_SOURCE_DIR;
constexpr uint64_t kSeeds = 10;

// One small size and a few drawn ones: a fault of ours shows there as well.
void make_small(task::Task& task) {
  task.emulate = {task.emulate.at(std::min<size_t>(1, task.emulate.size() - 1))};
  task.random_count = std::min(task.random_count, 2);
  for (auto& [name, range] : task.random_ranges) {
    auto most = range.second.evaluate([](std::string_view) { return std::nullopt; }, {});
    if (most && *most > 400) range.second = launch::Expression::constant(400);
  }
}

// What one seed has to say.
EmulateResult judged(const PreparedTask& prepared, const Baseline& baseline, uint64_t seed) {
  std::vector<launch::ResolvedPlan> plans;
  for (const auto& one : prepared.cases) {
    auto plan = launch::resolve(baseline.plan, baseline.module, one.data.binding);
    EXPECT_TRUE(plan) << base::render(plan.findings(), "");
    if (!plan) return {};
    plans.push_back(std::move(*plan));
  }
  auto gate = run_emulate_gate({prepared, baseline, baseline.module, plans, seed, 0, installed_parts().engine});
  EXPECT_EQ(gate.status, record::GateStatus::passed) << "seed " << seed << ": " << gate.outcome_reason << "\n"
                                                     << base::render(gate.findings, baseline.ptx);
  return gate;
}

using Said = std::set<std::tuple<std::string, base::Severity, uint32_t>>;

Said said(const EmulateResult& gate) {
  Said out;
  for (const auto& finding : gate.findings) out.emplace(finding.code, finding.severity, finding.place.line);
  return out;
}

TEST(TenSeeds, OfTheTasks) {
  for (const std::string& name : task::list_tasks(kRoot / "tasks")) {
    SCOPED_TRACE(name);
    auto task = task::find_task(name, kRoot / "tasks");
    ASSERT_TRUE(task);
    make_small(*task);
    auto target = judged_target(*task, std::nullopt);
    ASSERT_TRUE(target);
    auto baseline = read_baseline(*task, *target, {});
    ASSERT_TRUE(baseline) << base::render(baseline.findings(), "");
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      auto prepared = prepare(*task, *baseline, {seed, 0, installed_parts().engine, installed_parts().reference});
      if (!prepared && prepared.findings()[0].code == "ORA0001") GTEST_SKIP() << "there is no g++";
      ASSERT_TRUE(prepared) << "seed " << seed << "\n" << base::render(prepared.findings(), "");
      judged(*prepared, *baseline, seed);
    }
  }
}

struct Subject {
  fs::path file;
  task::Task task;
  std::optional<Baseline> baseline;
  base::Findings findings;  // why there is none
};

void compile(Subject& subject) {
  auto task = task::read_task(subject.file);
  if (!task) {
    subject.findings = task.findings();
    return;
  }
  subject.task = std::move(*task);
  make_small(subject.task);
  auto target = judged_target(subject.task, std::nullopt);
  auto baseline = target ? read_baseline(subject.task, *target, {}) : base::Result<Baseline>(target.findings());
  if (baseline)
    subject.baseline = std::move(*baseline);
  else
    subject.findings = baseline.findings();
}

bool lacks_a_compiler(const base::Findings& findings) {
  return findings[0].code == "CUC0001" || findings[0].code == "ORA0001";
}

// False where a compiler is missing.
bool holds_under_ten_seeds(const Subject& subject) {
  SCOPED_TRACE(subject.file.string());
  if (!subject.baseline) {
    if (lacks_a_compiler(subject.findings)) return false;
    ADD_FAILURE() << base::render(subject.findings, "");
    return true;
  }
  const Baseline& baseline = *subject.baseline;
  auto prepared = prepare(subject.task, baseline, {1, 0, installed_parts().engine, installed_parts().reference});
  if (!prepared && lacks_a_compiler(prepared.findings())) return false;
  EXPECT_TRUE(prepared) << base::render(prepared.findings(), "");
  if (!prepared) return true;
  std::optional<Said> first;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const EmulateResult gate = judged(*prepared, baseline, seed);
    for (const auto& finding : gate.findings)  // what the kernel does itself is excused as a warning: not here
      EXPECT_EQ(finding.severity, base::Severity::note) << "seed " << seed << "\n"
                                                        << base::render(finding, baseline.ptx);
    if (!first) first = said(gate);
    EXPECT_EQ(said(gate), *first) << "seed " << seed << "\n" << base::render(gate.findings, baseline.ptx);
  }
  return true;
}

// Every example and every kernel of the corpus that has a task beside it.
TEST(TenSeeds, OfTheExamplesAndTheCorpus) {
  std::vector<Subject> subjects;
  for (const char* folder : {"examples", "tests/corpus"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.path().string().ends_with(".task.toml")) subjects.push_back({entry.path(), {}, {}, {}});
  ASSERT_GE(subjects.size(), 17u);
  base::parallel_for(subjects.size(), 0, [&](size_t i) { compile(subjects[i]); });
  size_t left_out = 0;
  for (const Subject& subject : subjects) left_out += !holds_under_ten_seeds(subject);
  if (left_out) GTEST_SKIP() << left_out << " of " << subjects.size() << " for want of nvcc or g++";
}

}  // namespace
}  // namespace ptxlab::judge
