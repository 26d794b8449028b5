// Where GPU workers run, as people say it: "none", "0,1" (GPUs of this machine), "ssh:host" (another one's), each of them a worker
// of its own. The one place that knows these words; --gpu and PTXLAB_GPU hold them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ptxlab::gpu {

struct Place {
  std::string name;                  // as it was said: "0", "ssh:host#1"
  std::vector<std::string> command;  // starts the worker there (WorkerOptions)
};

constexpr const char* kPlaceHelp =
    "none, or a list of: N (a GPU of this machine), ssh:[USER@]HOST[:/PATH/TO/ptxlab-gpu][#N]";

// `worker` is the program for this machine (worker_program()), `visible` what CUDA_VISIBLE_DEVICES says here: numbers count among
// those. "none" is an empty list. Error: GPU0020, a word that says no place.
base::Result<std::vector<Place>> read_places(std::string_view words, const std::string& worker,
                                             std::string_view visible);

}  // namespace ptxlab::gpu
