// A candidate that comes as CUDA C: nvcc makes its PTX, and from there on it is judged as any other. What is compiled was written
// by anybody: it may include CUDA's own headers and no other file, and nothing of it runs on the host.
#pragma once
#include <string_view>

#include "isa/target.h"
#include "record/record.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::loop {

// What the text of a candidate may not ask of a compiler. Errors: CUC0010 a file that is none of CUDA's headers, CUC0011 a
// directive that reads or names files in another way, or a spelling in which one could hide, CUC0012 too large to be a kernel.
base::Findings cuda_policy(std::string_view cuda, std::string_view file);

// Fills `ptx` from `cuda`, for `target` and with the flags of the task's own kernel. Where it does not compile, the errors are
// among its findings: CUC0002, CUC0003 and CUC0005 of nvcc, and those of the policy. What it returns is trouble of this machine
// (CUC0001, CUC0004, FILE0003), of which the candidate knows nothing.
base::Findings compile_candidate(const toolchain::Tool& nvcc, const task::Task& task, const isa::Target& target,
                                 record::Candidate& candidate);

inline constexpr const char* kCudaFile = "candidate.cu";

}  // namespace ptxlab::loop
