// How long a plan's launches may take, from traces of a few CTAs, what ptxas says of the code, and a model of one SM. An
// estimate: it is for ordering candidates where no GPU can be asked, and is called an estimate wherever it is shown.
// docs/estimate.md explains the model and each figure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimate/hardware.h"
#include "estimate/trace.h"
#include "isa/target.h"
#include "ptx/module.h"
#include "record/record.h"
#include "toolchain/toolchain.h"

namespace ptxlab::estimate {

struct LaunchCost {
  const ptx::Module* module = nullptr;  // verified; holds the trace's functions
  const LaunchTrace* trace = nullptr;
  std::string entry;
  int threads = 0;                                // a CTA
  int shared_bytes = 0;                           // a CTA, dynamic; the static ones are in `resources`
  std::optional<toolchain::Resources> resources;  // of ptxas; without: registers are guessed
};

// What one CTA may call its own of the caches, given how many are resident.
Tracer::Shares shares_of(const LaunchCost& launch, const isa::Target& target);
// Steps of a CTA worth keeping: the model replays a few waves of them.
uint64_t steps_worth_keeping(const LaunchCost& launch, const isa::Target& target);

// One launch. `nanoseconds` includes the launch overhead.
record::Estimate cost(const LaunchCost& launch, const isa::Target& target);
// Launches in stream order: times add up; shares are of the longest one.
record::Estimate cost(std::span<const LaunchCost> launches, const isa::Target& target);

}  // namespace ptxlab::estimate
