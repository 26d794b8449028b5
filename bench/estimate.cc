// What an estimate costs: CPU time for each task's own kernel at its timed sizes, engine runs included.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "judge/estimate_timed.h"
#include "ptx/verifier.h"
#include "simt/engine.h"
#include "task/case.h"

namespace ptxlab::judge {
namespace {

template <class T>
T must(base::Result<T> result) {
  if (!result.ok()) std::abort();
  return std::move(result).value();
}

void estimate(benchmark::State& state, const std::string& name) {
  auto task = must(task::find_task(name, PTXLAB_SOURCE_DIR "/tasks"));
  auto text = must(base::read_file(task.folder / "baseline.ptx"));
  auto checked = ptx::check(text, "baseline.ptx");
  auto plan = must(launch::read_plan(must(base::read_file(task.plan)), "baseline.plan.toml"));
  std::vector<toolchain::Resources> resources;
  toolchain::AssembleOptions how;
  how.target = {90, 'a'};
  if (toolchain::installed().ptxas) resources = must(toolchain::assemble(text, "baseline.ptx", how)).entries;
  std::vector<task::CaseData> timed;
  for (const auto& one : task.time) timed.push_back(must(task::bind_case(task, task::case_of(one.sizes, 1))));
  for (auto _ : state) {
    auto made = estimate_timed(
        {task, timed, checked.module, plan, resources, how.target, 1, [] { return simt::make_simt_engine(); }});
    if (!made.ok()) state.SkipWithError("no estimate");
    benchmark::DoNotOptimize(made);
  }
}

const int kRegistered = [] {
  for (const auto& name : task::list_tasks(PTXLAB_SOURCE_DIR "/tasks"))
    benchmark::RegisterBenchmark(("estimate/" + name).c_str(),
                                 [name](benchmark::State& state) { estimate(state, name); })
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime();
  return 0;
}();

}  // namespace
}  // namespace ptxlab::judge
