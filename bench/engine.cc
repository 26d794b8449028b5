// What a warp instruction costs in the simt engine: cycles of its own time, by kernel, check level and processor
// level; the same with the checkers watching; and the scalar twin for comparison. "cycles" is the figure to watch;
// "Gthread/s" are thread instructions a second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <x86intrin.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/file.h"
#include "checkers/registry.h"
#include "machine.h"
#include "ptx/verifier.h"
#include "simt/binding.h"
#include "simt/engine.h"

namespace ptxlab::simt {
namespace {

const ptx::Module& kernels() {
  static const ptx::Checked checked = [] {
    auto text = base::read_file(PTXLAB_SOURCE_DIR "/bench/kernels.ptx");
    if (!text.ok()) std::abort();
    return ptx::check(*text, "kernels.ptx");
  }();
  if (!checked.ok()) {
    fmt::print(stderr, "{}", base::render(checked.findings, checked.module.source));
    std::abort();
  }
  return checked.module;
}

struct Job {
  std::string entry;
  Memory memory{1};
  std::vector<size_t> buffers;
  launch::ResolvedLaunch launch;

  void buffer(const char* name, uint64_t floats) {
    size_t index = memory.allocate(name, floats * 4, launch::ResolvedBuffer::Init::data);
    std::vector<float> values(floats);
    for (uint64_t i = 0; i < floats; ++i) values[i] = static_cast<float>(i % 17) - 8;
    std::memcpy(memory.allocation(index).data.data(), values.data(), floats * 4);
    launch.pointers.push_back({static_cast<uint32_t>(launch.parameters.size()), static_cast<uint32_t>(index), 0});
    launch.parameters.resize(launch.parameters.size() + 8);
    buffers.push_back(index);
  }
  void scalar(uint32_t value, bool padded) {
    size_t at = launch.parameters.size();
    launch.parameters.resize(at + (padded ? 8 : 4));
    std::memcpy(launch.parameters.data() + at, &value, 4);
  }
};

Job vector_add(uint32_t n) {
  Job job;
  for (const char* name : {"a", "b", "c"}) job.buffer(name, n);
  job.scalar(n, false);
  job.launch.entry = "vector_add";
  job.launch.grid = {n / 256, 1, 1};
  job.launch.block = {256, 1, 1};
  return job;
}
Job sgemm(const char* entry, uint32_t n, uint32_t tile, launch::Dim3 block) {
  Job job;
  job.scalar(n, true);
  for (const char* name : {"a", "b", "c"}) job.buffer(name, uint64_t{n} * n);
  job.launch.entry = entry;
  job.launch.grid = {n / tile, n / tile, 1};
  job.launch.block = block;
  return job;
}

// `watching` names checkers.
// The process's own time in ticks of the time stamp counter: what other processes take does not count.
double ticks() {
  static const double rate = [] {
    timespec a{}, b{};
    auto nanoseconds = [](const timespec& t) {
      return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
    };
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t start = __rdtsc();
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while (nanoseconds(b) - nanoseconds(a) < 5e7);
    return static_cast<double>(__rdtsc() - start) / (nanoseconds(b) - nanoseconds(a));
  }();
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec)) * rate;
}

void measure(benchmark::State& state, Job job, CheckLevel check, const char* level,
             std::vector<std::string_view> watching = {}) {
  if (!use_lane_level(level)) return state.SkipWithError("this processor lacks the level");
  auto program = make_simt_engine()->load(kernels());
  if (!program.ok()) return state.SkipWithError("not executed by the engine");
  RunOptions options;
  options.check = check;
  double cycles = 0;
  uint64_t warps = 0, threads = 0;
  for (auto _ : state) {
    std::vector<std::unique_ptr<Observer>> owned;
    std::vector<Observer*> observers;
    for (std::string_view name : watching) {
      owned.push_back(checkers::checker_named(name)->make());
      observers.push_back(owned.back().get());
    }
    double start = ticks();
    RunReport report = (*program)->run(job.launch, job.buffers, job.memory, options, observers);
    cycles += ticks() - start;
    warps += report.warp_instructions;
    threads += report.thread_instructions;
    if (!report.completed)
      return state.SkipWithError(report.findings.empty() ? "?" : report.findings[0].message.c_str());
  }
  state.counters["cycles"] = cycles / static_cast<double>(warps);
  state.counters["Gthread/s"] = benchmark::Counter(static_cast<double>(threads) * 1e-9, benchmark::Counter::kIsRate);
}

void measure_twin(benchmark::State& state, Job job) {
  double cycles = 0;
  uint64_t threads = 0;
  for (auto _ : state) {
    twin::Machine machine(kernels());
    double start = ticks();
    twin::Outcome outcome = machine.run(job.launch, job.buffers, job.memory);
    cycles += ticks() - start;
    threads += outcome.thread_instructions;
    if (!outcome.ok()) return state.SkipWithError(outcome.problem.c_str());
  }
  state.counters["cycles"] = cycles / (static_cast<double>(threads) / 32);
  state.counters["Gthread/s"] = benchmark::Counter(static_cast<double>(threads) * 1e-9, benchmark::Counter::kIsRate);
}

const int kRegistered = [] {
  constexpr std::pair<const char*, CheckLevel> kChecks[] = {
      {"none", CheckLevel::none}, {"bounds", CheckLevel::bounds}, {"defined", CheckLevel::defined}};
  for (const char* level : {"v2", "v3", "v4"})
    for (auto [check_name, check] : kChecks) {
      auto add = [&, check = check](const char* name, auto make) {
        benchmark::RegisterBenchmark(fmt::format("{}/{}/{}", name, check_name, level).c_str(),
                                     [=](benchmark::State& state) { measure(state, make(), check, level); })
            ->Unit(benchmark::kMillisecond);
      };
      add("vector_add", [] { return vector_add(1 << 16); });
      add("sgemm_tile", [] { return sgemm("sgemm_tile", 128, 16, {16, 16, 1}); });
      add("sgemm_registers", [] { return sgemm("sgemm_registers", 128, 64, {256, 1, 1}); });
    }
  const std::pair<const char*, std::vector<std::string_view>> watchers[] = {
      {"races", {"races"}}, {"conflicts", {"conflicts"}}, {"races+conflicts", {"races", "conflicts"}}};
  auto add = [&](const char* name, auto make) {
    for (const auto& [checkers_name, watching] : watchers)
      benchmark::RegisterBenchmark(fmt::format("{}/{}", name, checkers_name).c_str(), [=, list = watching](
                                                                                          benchmark::State& state) {
        measure(state, make(), CheckLevel::defined, "v4", list);
      })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(fmt::format("{}/twin", name).c_str(), [=](benchmark::State& state) {
      measure_twin(state, make());
    })->Unit(benchmark::kMillisecond);
  };
  add("vector_add", [] { return vector_add(1 << 14); });
  add("sgemm_tile", [] { return sgemm("sgemm_tile", 64, 16, {16, 16, 1}); });
  add("sgemm_registers", [] { return sgemm("sgemm_registers", 64, 64, {256, 1, 1}); });
  return 0;
}();

}  // namespace
}  // namespace ptxlab::simt
