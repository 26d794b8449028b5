// What a comparison on a GPU costs beside the kernels: inputs of a timed size, the reference's sample, messages with large
// buffers; and with a GPU a job as the execute gate gives it, by its guards' bytes, and a contest opened on large buffers.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "gpu/contest.h"
#include "gpu/wire.h"
#include "gpu/worker_client.h"
#include "judge/timed_inputs.h"
#include "task/case.h"
#include "task/oracle.h"
#include "task/task.h"

namespace ptxlab {
namespace {

task::Task rmsnorm() {
  auto task = task::read_task(std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks/norm/rmsnorm_bf16/task.toml");
  if (!task) std::abort();
  return std::move(*task);
}

void made_inputs(benchmark::State& state) {
  task::Task task = rmsnorm();
  for (auto _ : state) benchmark::DoNotOptimize(task::make_case(task, task::case_of(task.time.front().sizes, 1)));
}
BENCHMARK(made_inputs)->Unit(benchmark::kMillisecond)->UseRealTime();

void sampled_answers(benchmark::State& state) {
  task::Task task = rmsnorm();
  auto oracle = task::make_reference_oracle(task);
  if (!oracle) return state.SkipWithError("no reference");
  for (auto _ : state)
    benchmark::DoNotOptimize(judge::make_timed_input(task, task::case_of(task.time.front().sizes, 1), oracle->get()));
}
BENCHMARK(sampled_answers)->Unit(benchmark::kMillisecond)->UseRealTime();

gpu::Opened opened_with(size_t bytes) {
  gpu::Opened opened;
  opened.end = gpu::Done::End::executed;
  for (auto& arm : opened.looks)
    for (auto& look : arm) look.contents = {"", std::string(bytes, 'x')};
  return opened;
}

void outputs_encoded(benchmark::State& state) {
  gpu::Opened opened = opened_with(128 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(gpu::framed(gpu::Kind::opened, opened));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * (int64_t{512} << 20));
}
BENCHMARK(outputs_encoded)->Unit(benchmark::kMillisecond)->UseRealTime();

void outputs_decoded(benchmark::State& state) {
  std::string bytes = gpu::encode(opened_with(128 << 20));
  for (auto _ : state) benchmark::DoNotOptimize(gpu::decode<gpu::Opened>(bytes));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * (int64_t{512} << 20));
}
BENCHMARK(outputs_decoded)->Unit(benchmark::kMillisecond)->UseRealTime();

// y = x, a float each.
constexpr const char* kCopy = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 y, .param .u64 x, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %d<6>;
	ld.param.u64 %d0, [y];
	ld.param.u64 %d1, [x];
	ld.param.u32 %r0, [n];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	setp.ge.u32 %p0, %r4, %r0;
	@%p0 bra done;
	mad.wide.u32 %d2, %r4, 4, %d1;
	mad.wide.u32 %d3, %r4, 4, %d0;
	ld.global.b32 %r5, [%d2];
	st.global.b32 [%d3], %r5;
done:
	ret;
}
)";

launch::ResolvedPlan copy_plan(uint32_t elements) {
  launch::ResolvedPlan plan;
  using Role = launch::ResolvedBuffer::Role;
  using Init = launch::ResolvedBuffer::Init;
  plan.buffers = {{"x", 4ull * elements, Role::in, Init::data}, {"y", 4ull * elements, Role::out, Init::poison}};
  launch::ResolvedLaunch launch;
  launch.entry = "copy";
  launch.grid = {(elements + 255) / 256, 1, 1};
  launch.block = {256, 1, 1};
  launch.parameters.resize(20);
  std::memcpy(launch.parameters.data() + 16, &elements, 4);
  launch.starts = {0, 8, 16};
  launch.pointers = {{0, 1, 0}, {8, 0, 0}};
  plan.launches = {launch};
  return plan;
}

// Null where there is no GPU, or PTXLAB_GPU=none.
gpu::Worker* worker() {
  static auto started = gpu::Worker::start({});
  return started ? started->get() : nullptr;
}

void job(benchmark::State& state) {
  if (!worker()) return state.SkipWithError("no GPU");
  gpu::Job job;
  job.code = kCopy;
  job.plan = copy_plan(4096);
  job.contents = {std::string(4 * 4096, 'x'), ""};
  job.guard = static_cast<uint32_t>(state.range(0));
  job.keep_module = true;
  for (auto _ : state) {
    auto done = worker()->run(job, std::chrono::seconds(20));
    if (!done || done->end != gpu::Done::End::executed) return state.SkipWithError("the job failed");
  }
}
BENCHMARK(job)->Arg(1 << 9)->Arg(1 << 12)->Arg(1 << 16)->Unit(benchmark::kMicrosecond)->UseRealTime();

// The copy against itself.
gpu::Contest even_contest(int64_t bytes) {
  const auto elements = static_cast<uint32_t>(bytes / 4);
  gpu::Contest contest;
  contest.sides[0] = contest.sides[1] = {kCopy, copy_plan(elements)};
  contest.shared = 2;
  contest.contents = {std::string(4ull * elements, 'x'), ""};
  contest.change = {0, 64, "abcd"};
  return contest;
}

void contest_opened(benchmark::State& state) {
  if (!worker()) return state.SkipWithError("no GPU");
  const gpu::Contest contest = even_contest(state.range(0));
  for (auto _ : state) {
    auto opened = worker()->open(contest, std::chrono::seconds(60));
    if (!opened || opened->end != gpu::Done::End::executed) return state.SkipWithError("it did not open");
  }
}
BENCHMARK(contest_opened)->Arg(1 << 20)->Arg(1 << 27)->Unit(benchmark::kMillisecond)->UseRealTime();

void epoch_measured(benchmark::State& state) {
  if (!worker()) return state.SkipWithError("no GPU");
  gpu::Contest contest = even_contest(state.range(0));
  contest.outputs = false;
  auto opened = worker()->open(contest, std::chrono::seconds(60));
  if (!opened || opened->end != gpu::Done::End::executed) return state.SkipWithError("it did not open");
  for (auto _ : state) {
    auto measured = worker()->measure({1, {}}, std::chrono::seconds(60));
    if (!measured || measured->end != gpu::Done::End::executed) return state.SkipWithError("it was not measured");
  }
}
BENCHMARK(epoch_measured)->Arg(1 << 20)->Arg(1 << 27)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ptxlab
