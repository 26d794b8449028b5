// A kernel with a known answer, run before every job: a GPU that fails it has been broken by what came before, and nothing that
// it says counts.
#pragma once
#include "gpu/worker/device.h"

namespace ptxlab::gpu {

// Nothing: the device computes, copies and fills as it should.
Trouble run_canary(Device& device);

}  // namespace ptxlab::gpu
