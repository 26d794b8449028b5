// How long a plan's launches may take, from what the engine counted while it ran a few CTAs, and what ptxas says of the
// code. An estimate: it is for ordering candidates where no GPU can be asked, and is called an estimate wherever it is
// shown.
//
// A launch is bound by the slowest of three: instructions over issue slots and pipes, bytes over bandwidth, and the
// latency that a CTA's own chain of loads costs, wave after wave. They overlap badly near the corner, so they are
// combined by a 3-norm, which the measured scalar vector add fits (3.43 of 4.24 TB/s, where bandwidth and latency are
// equal).
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "analysis/profile.h"
#include "isa/target.h"
#include "ptx/module.h"
#include "record/record.h"
#include "toolchain/toolchain.h"

namespace ptxlab::estimate {

struct LaunchCost {
  const ptx::Function* entry = nullptr;  // verified; the function that `counts` are of
  const analysis::FunctionProfile* counts = nullptr;
  uint64_t ctas_run = 0, ctas_total = 0;  // counted, and in the launch
  int threads = 0;                        // a CTA
  int registers = 32;                     // a thread, by ptxas
  int shared_bytes = 0;                   // a CTA, static and dynamic
  // Bytes of the buffers that the launch touches, each once; 0 unknown. What is read again comes from L2 or L1.
  uint64_t footprint_bytes = 0;
};

// One launch. `nanoseconds` includes the launch overhead.
record::Estimate cost(const LaunchCost& launch, const isa::Target& target);
// Launches in stream order: times add up; the rest is of the longest one.
record::Estimate cost(std::span<const LaunchCost> launches, const isa::Target& target);

// What one warp instruction costs: slots of its scheduler's issue, and of the pipe it runs on.
enum class Pipe : uint8_t { none, fp32, integer, special, memory, fp64, control };
struct IssueCost {
  Pipe pipe = Pipe::integer;
  double instructions = 1;  // machine instructions that ptxas makes of it, roughly
};
IssueCost issue_cost(const ptx::Instruction& instruction);

}  // namespace ptxlab::estimate
