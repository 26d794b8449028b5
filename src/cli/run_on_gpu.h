// ptxlab run --engine gpu: the same plan and buffers, executed by the GPU worker.
#pragma once
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
  std::string code;    // who compiled: "ptxas 13.0.88", "the driver"
  gpu::Done done;
  base::Findings findings;  // GPU0010 a launch faulted, GPU0011 written beyond a buffer
};

// `contents` by buffer of the plan, used where its init is `data`. Assembled by ptxas for the GPU that is there; without ptxas
// the driver compiles the text. Errors: those of Runner::run, ASM00xx, GPU0012 the driver refuses the code.
base::Result<GpuRun> run_on_gpu(gpu::Runner& worker, const ptx::Module& module, const std::string& ptx,
                                const std::string& file, const launch::ResolvedPlan& plan,
                                const std::vector<std::string>& contents, uint64_t launches);

}  // namespace ptxlab::cli
