// The worker's life: greets, then answers one frame after the other until the other side is gone or the device is lost.
#pragma once
#include <memory>
#include <string>

#include "gpu/worker/device.h"

namespace ptxlab::gpu {

// `in` and `out` are file descriptors. Null: there is no device, and the greeting says why. The process's exit status; where the
// device is lost it ends at once instead.
int serve(std::unique_ptr<Device> device, const std::string& why_none, int in, int out);

}  // namespace ptxlab::gpu
