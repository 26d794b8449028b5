// The device that stands for each target when a kernel's time is estimated: one row a target, the only place where
// figures of hardware stand. docs/estimate.md explains each column and says where the figures come from.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/target.h"

namespace ptxlab::estimate {

struct Hardware {
  int sm;  // the row holds from this target on
  std::string_view device;
  int sms;
  double clock_ghz;  // sustained under load

  double dram_gbs;         // GB/s that a copy reaches, both ways counted, not the data sheet's peak
  double l2_gbs;           // of all SMs together
  double l2_mb;            //
  double dram_latency_ns;  // of a load that misses everything, without queues
  double l2_latency;       // cycles, likewise
  double l1_latency;       // cycles from issue to the value's first use
  double shared_latency;   // cycles
  int l1_kb;               // an SM, shared memory included
  int l2_bytes_cycle;      // what one SM takes from L2 a cycle

  // Lanes a cycle and SM; a warp instruction takes 32 of them.
  int fp32, integer, special, convert, half2, fp64;
  int tensor;  // multiply-adds of 16-bit inputs and 32-bit sums a cycle and SM, as mma reaches them

  double instruction_l0_kb;  // a scheduler's own instruction cache; loops beyond it are fetched again
  double instruction_l1_kb;  // an SM's (called L1.5 by some); beyond it code comes from L2

  double launch_ns;  // an empty kernel, start to end, as events see it
  double cta_ns;     // from a CTA's end to its successor's first instruction
};

// The nearest known device at or below the target.
const Hardware& hardware_of(const isa::Target& target);
std::span<const Hardware> all_hardware();

}  // namespace ptxlab::estimate
