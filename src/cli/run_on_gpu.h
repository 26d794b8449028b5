// ptxlab run --engine gpu: the same plan and buffers, executed by the GPU worker.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/runner.h"
#include "launch/resolved.h"
#include "ptx/module.h"

namespace ptxlab::cli {

struct GpuRun {
  std::string device;  // "NVIDIA H200"
  uint32_t sm = 0;     // 90
  std::string code;    // who compiled: "ptxas 13.0.88", "the driver"
  gpu::Done done;
  // GPU0004 it did not end, GPU0010 a launch faulted, GPU0011 written beyond a buffer, GPU0012 the driver refuses the code,
  // GPU0013 it refuses a launch; all but GPU0011 with nothing in `done.contents`.
  base::Findings findings;
};

// `contents` by buffer of the plan, used where its init is `data`. Assembled by ptxas for the GPU that is there; without ptxas
// the driver compiles the text. Errors: ASM00xx, and those of Runner::run that are about the machine.
base::Result<GpuRun> run_on_gpu(gpu::Runner& worker, const ptx::Module& module, const std::string& ptx,
                                const std::string& file, const launch::ResolvedPlan& plan,
                                const std::vector<std::string>& contents, uint64_t launches,
                                std::chrono::milliseconds limit);

}  // namespace ptxlab::cli
