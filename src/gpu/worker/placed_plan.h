// A plan whose buffers lie at known addresses: its variables are filled and its launches queued.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "gpu/worker/device.h"
#include "launch/resolved.h"

namespace ptxlab::gpu {

struct PlacedPlan {
  const launch::ResolvedPlan& plan;
  std::span<const Address> at;           // by buffer
  std::span<const TensorMapBytes> maps;  // by tensor map
};

// All tensor maps of a plan whose buffers lie at these addresses.
Trouble encode_maps(Device& device, const launch::ResolvedPlan& plan, std::span<const Address> at,
                    std::vector<TensorMapBytes>& into);

// Every symbol of the plan, from its buffer as it is now or from bytes into which addresses go.
Trouble fill_variables(Device& device, Arm slot, const PlacedPlan& placed);

// All launches in order. `failed`: the one that was refused; the text then says what it asked for and what there is.
Trouble queue_launches(Device& device, Arm slot, const PlacedPlan& placed, uint32_t& failed);

// What of a refused launch is more than there is: ": 240000 bytes of shared memory, a CTA has at most 232448"; empty where
// nothing is known to be.
std::string excess(const launch::ResolvedLaunch& launch, const LaunchLimits& limits);

}  // namespace ptxlab::gpu
