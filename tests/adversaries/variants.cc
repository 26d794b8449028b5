// Writes what each rule makes of each task's baseline, one file for the first way that applies: honest kernels that no
// adversary test may flag. usage: adversary_variants ROOT OUT
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "launch/plan.h"
#include "ptx/verifier.h"
#include "rewrite/rule.h"
#include "task/task.h"

namespace {

using namespace ptxlab;
namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// The first choice of the rule that applies; false: it refuses this kernel.
bool write_variant(const rewrite::Rule& rule, const rewrite::Subject& subject, const fs::path& folder) {
  for (const auto& choice : rule.choices(subject)) {
    auto made = rule.apply(subject, choice);
    if (!made.ok() || made->ptx.empty()) continue;
    fs::create_directories(folder);
    write(folder / "candidate.ptx", made->ptx);
    if (!made->plan.empty()) write(folder / "candidate.plan.toml", made->plan);
    return true;
  }
  return false;
}

int write_variants_of(const task::Task& task, const fs::path& out) {
  auto ptx = base::read_file(task.folder / task.baselines.front().file);
  auto plan_text = base::read_file(task.folder / task.baselines.front().plan);
  if (!ptx.ok() || !plan_text.ok()) return 0;
  auto checked = ptx::check(*ptx, "baseline.ptx");
  auto plan = launch::read_plan(*plan_text, "baseline.plan.toml");
  if (!checked.ok() || !plan.ok()) return 0;
  rewrite::Subject subject{&checked.module, &*plan, &task, *isa::target_named("sm_80"), {}};
  int made = 0;
  for (const rewrite::Rule* rule : rewrite::all_rules()) {
    const fs::path folder = out / task.name / std::string(rule->name());
    made += write_variant(*rule, subject, folder);
  }
  return made;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: adversary_variants ROOT OUT\n", stderr);
    return 2;
  }
  const fs::path tasks = fs::path(words[1]) / "tasks";
  int made = 0;
  for (const std::string& name : task::list_tasks(tasks))
    if (auto task = task::find_task(name, tasks)) made += write_variants_of(*task, words[2]);
  std::printf("%d\n", made);
  return made > 0 ? 0 : 1;
}
