#include "cli/run_on_gpu.h"

#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "judge/assemblers.h"

namespace ptxlab::cli {
namespace {

std::string beyond(const gpu::Overrun& overrun, const launch::ResolvedBuffer& buffer) {
  auto end = static_cast<int64_t>(buffer.bytes);
  std::string where = overrun.offset < 0 ? fmt::format("{} bytes before its start", -overrun.offset)
                                         : fmt::format("{} bytes past its end", overrun.offset - end);
  return fmt::format("wrote {} bytes beyond '{}' ({} bytes), the first {}", overrun.bytes, buffer.name, buffer.bytes,
                     where);
}

std::string launch_named(const launch::ResolvedPlan& plan, uint32_t number) {
  if (number >= plan.launches.size()) return "a launch";
  return fmt::format("launch {} (`{}`)", number + 1, plan.launches[number].entry);
}

}  // namespace

base::Result<GpuRun> run_on_gpu(gpu::Runner& worker, const ptx::Module& module, const std::string& ptx,
                                const std::string& file, const launch::ResolvedPlan& plan,
                                const std::vector<std::string>& contents, uint64_t launches,
                                std::chrono::milliseconds limit) {
  GpuRun run;
  run.device = worker.hello().device;
  run.sm = worker.hello().sm;
  run.code = "the driver";
  gpu::Job job;
  job.code = ptx;
  auto assemblers = judge::installed_assemblers();
  if (const toolchain::Tool* ptxas = assemblers.taking(module.version)) {
    toolchain::AssembleOptions how;
    how.target = judge::target_on_gpu(module.target, worker.hello().sm);
    auto assembled = toolchain::assemble(*ptxas, ptx, file, how);
    if (!assembled) return assembled.findings();
    job.code = std::move(assembled->cubin);
    run.code = "ptxas " + ptxas->version;
  }
  job.plan = plan;
  job.contents = contents;
  job.contents.resize(plan.buffers.size());
  job.launches = static_cast<uint32_t>(launches);
  auto done = worker.run(job, limit);
  if (!done) {
    if (done.findings().front().code != "GPU0004") return done.findings();
    run.findings = done.findings();
    return run;  // with `done` as it is: trouble
  }
  run.done = std::move(*done);
  switch (run.done.end) {
    case gpu::Done::End::executed: break;
    case gpu::Done::End::refused:
      run.findings.push_back(base::error("GPU0012", "the driver does not load the code: " + run.done.message,
                                         "'ptxlab doctor' says which PTX it takes"));
      break;
    case gpu::Done::End::faulted:
      run.findings.push_back(base::error("GPU0010", "the GPU stopped it: " + run.done.message,
                                         "run it with --engine simt: the checkers name the line"));
      break;
    case gpu::Done::End::unlaunched:
      run.findings.push_back(base::error(
          "GPU0013",
          fmt::format("{} is not taken by this GPU: {}", launch_named(plan, run.done.launch), run.done.message),
          "'ptxlab doctor --gpu' shows what GPU it is"));
      break;
    case gpu::Done::End::out_of_memory:
    case gpu::Done::End::lost:
    case gpu::Done::End::trouble:
      return base::error("GPU0005", "the GPU worker could not run it: " + run.done.message, "");
  }
  for (const auto& overrun : run.done.overruns) {
    run.findings.push_back(base::error("GPU0011", beyond(overrun, plan.buffers.at(overrun.buffer)),
                                       "run it with --engine simt: the checkers name the line"));
  }
  return run;
}

}  // namespace ptxlab::cli
