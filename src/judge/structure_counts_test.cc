// What the structure report expects of each access against what the engine counts at the timed sizes, for every kernel of the
// repository: two ways to the same figure that share nothing but the PTX.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/file.h"
#include "judge/judge.h"
#include "ptx/verifier.h"
#include "record/structure.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;

struct Compared {
  size_t accesses = 0, agree = 0;
  std::string list;
};

// Accesses of full warps alone: a warp at an edge touches less.
void compare(const analysis::Structure& structure, const std::map<uint32_t, record::LineProfile::Counts>& counts,
             Compared& result) {
  for (const auto& access : structure.accesses) {
    auto at = counts.find(access.line);
    if (at == counts.end() || at->second.requests == 0 || access.async) continue;
    const auto& c = at->second;
    if (c.threads != 32 * c.warps || (!access.sectors && !access.wavefronts)) continue;
    const bool global = access.sectors.has_value();
    const double counted = static_cast<double>(global ? c.sectors : c.passes) / static_cast<double>(c.requests);
    const double expected = global ? *access.sectors : *access.wavefronts;
    ++result.accesses;
    const bool near = counted <= expected * 1.15 + 0.1 && counted >= expected * 0.85 - 0.1;
    result.agree += near;
    if (!near)
      result.list += fmt::format("  line {}: {} expected, {:.2f} counted: {}\n", access.line, expected, counted,
                                 access.instruction);
  }
}

TEST(Structure, ExpectsWhatTheEngineCounts) {
  Judge judge;
  size_t all = 0, agree = 0;
  for (const auto& name : task::list_tasks(fs::path(PTXLAB_SOURCE_DIR) / "tasks")) {
    auto task = task::find_task(name, fs::path(PTXLAB_SOURCE_DIR) / "tasks");
    ASSERT_TRUE(task) << name;
    // One size: what is counted is of all timed ones together.
    const auto main = *record::main_size(*task);
    task->time = {main};
    auto figures = judge.baseline_figures(*task, {});
    ASSERT_TRUE(figures) << name << base::render(figures.findings(), "");
    std::map<uint32_t, record::LineProfile::Counts> counts;
    for (const auto& line : figures->profile.lines) counts[line.line] = line;
    record::StructureRequest request;
    request.file = "baseline.ptx";
    request.ptx = *base::read_file(*task->ptx);
    request.plan = *base::read_file(task->plan);
    request.plan_file = "baseline.plan.toml";
    request.task = &*task;
    auto report = record::describe_structure(request);
    ASSERT_TRUE(report) << name << base::render(report.findings(), "");
    Compared one;
    for (const auto& function : report->functions) compare(function.structure, counts, one);
    EXPECT_EQ(one.agree, one.accesses) << name << "\n" << one.list;
    EXPECT_GT(one.accesses, 0u) << name;
    if (std::getenv("PTXLAB_ALL")) fmt::print("{}: {} of {}\n", name, one.agree, one.accesses);
    all += one.accesses;
    agree += one.agree;
  }
  EXPECT_GT(all, 60u);
  EXPECT_EQ(agree, all);
}

}  // namespace
}  // namespace ptxlab::judge
