// The value of --gpu, which several commands take: none, GPUs of this machine, GPUs behind ssh (gpu/place.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/worker_client.h"
#include "judge/count.h"
#include "judge/gpu_pool.h"

namespace ptxlab::cli {

extern const std::string kGpuHelp;

// What is asked for by name is started at once: a verdict that silently did without it would be another one than was wanted. Where
// nothing is asked for (nor by PTXLAB_GPU), the first GPU of this machine when it is needed, if there is one.
// Errors: GPU0020 the word is none, GPU0001..GPU0003 a worker does not start.
base::Result<std::vector<judge::StartGpu>> choose_gpus(const std::string& word);

// One worker, the first of those; for commands that do one thing. Error: GPU0002 too where `word` is none.
base::Result<std::unique_ptr<gpu::Worker>> choose_gpu(const std::string& word);

// Counters on the first GPU of `word` that this machine has; empty where it has none of them.
judge::CountJob counting_on(const std::string& word);

// How a command ends that could not have what it asked for.
int refuse_gpu(const base::Findings& findings);

}  // namespace ptxlab::cli
