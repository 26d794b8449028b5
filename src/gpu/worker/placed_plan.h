// A plan whose buffers lie at known addresses: its variables are filled and its launches queued.
#pragma once
#include <span>

#include "gpu/worker/device.h"
#include "launch/resolved.h"

namespace ptxlab::gpu {

struct PlacedPlan {
  const launch::ResolvedPlan& plan;
  std::span<const Address> at;  // by buffer
};

// Every symbol of the plan, from its buffer as it is now or from bytes into which addresses go.
Trouble fill_variables(Device& device, Arm slot, const PlacedPlan& placed);

// All launches in order. `failed`: the one that was refused.
Trouble queue_launches(Device& device, Arm slot, const PlacedPlan& placed, uint32_t& failed);

}  // namespace ptxlab::gpu
