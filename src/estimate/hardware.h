// The device that stands for each target when a kernel's time is estimated: published figures, and achievable
// bandwidths.
#pragma once
#include <string_view>

#include "isa/target.h"

namespace ptxlab::estimate {

struct Hardware {
  std::string_view device;
  int sms;
  double clock_ghz;  // sustained
  double dram_gbs;   // GB/s that a copy reaches, not the data sheet's peak
  double l2_gbs;
  double dram_latency_ns;  // of a load under load
  double l2_latency_ns;
  double shared_latency_ns;
  int fp32_lanes, int_lanes, special_lanes, memory_lanes, fp64_lanes;  // a clock and SM
  double launch_ns;                                                    // an empty kernel, start to end
};

// The nearest known device at or below the target.
const Hardware& hardware_of(const isa::Target& target);

}  // namespace ptxlab::estimate
