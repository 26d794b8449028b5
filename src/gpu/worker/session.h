// One job on a device: memory with guards around every buffer, the plan's launches, and what became of it all.
#pragma once
#include "gpu/worker/arena.h"
#include "gpu/worker/device.h"

namespace ptxlab::gpu {

// Leaves nothing allocated but the module and the arena. After Done::End::faulted the device is lost, and the process should end.
Done execute(Device& device, Arena& arena, const Job& job);

}  // namespace ptxlab::gpu
