#include "estimate/hardware.h"

namespace ptxlab::estimate {
namespace {

// SMs, clocks, caches, peak bandwidths: NVIDIA's architecture white papers (A100, GA102, AD102, H100, Blackwell) and data
// sheets; lanes: the throughput table of the CUDA C++ programming guide; latencies and instruction caches: published
// microbenchmarks of Volta to Blackwell, rounded. dram_gbs is 0.88 of the data sheet's peak but on sm_90, where a copy
// was measured; dram_latency_ns, launch_ns and cta_ns of sm_90 were chosen by what an H200 measured (docs/estimate.md),
// those of the others follow it.
// clang-format off
constexpr Hardware kRows[] = {
    {.sm = 80, .device = "A100 80GB", .sms = 108, .clock_ghz = 1.41,
     .dram_gbs = 1790, .l2_gbs = 4500, .l2_mb = 40, .dram_latency_ns = 450, .l2_latency = 220, .l1_latency = 34,
     .shared_latency = 23, .l1_kb = 192, .l2_bytes_cycle = 64,
     .fp32 = 64, .integer = 64, .special = 16, .convert = 64, .half2 = 128, .fp64 = 32, .tensor = 1024,
     .instruction_l0_kb = 12, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 80},
    {.sm = 86, .device = "RTX 3090", .sms = 82, .clock_ghz = 1.70,
     .dram_gbs = 820, .l2_gbs = 2200, .l2_mb = 6, .dram_latency_ns = 400, .l2_latency = 230, .l1_latency = 34,
     .shared_latency = 23, .l1_kb = 128, .l2_bytes_cycle = 64,
     .fp32 = 128, .integer = 64, .special = 16, .convert = 64, .half2 = 128, .fp64 = 2, .tensor = 256,
     .instruction_l0_kb = 12, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 80},
    {.sm = 89, .device = "RTX 4090", .sms = 128, .clock_ghz = 2.52,
     .dram_gbs = 890, .l2_gbs = 4500, .l2_mb = 72, .dram_latency_ns = 400, .l2_latency = 270, .l1_latency = 33,
     .shared_latency = 23, .l1_kb = 128, .l2_bytes_cycle = 64,
     .fp32 = 128, .integer = 64, .special = 16, .convert = 64, .half2 = 128, .fp64 = 2, .tensor = 256,
     .instruction_l0_kb = 12, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 70},
    {.sm = 90, .device = "H200", .sms = 132, .clock_ghz = 1.83,
     .dram_gbs = 4300, .l2_gbs = 7500, .l2_mb = 50, .dram_latency_ns = 450, .l2_latency = 260, .l1_latency = 35,
     .shared_latency = 24, .l1_kb = 256, .l2_bytes_cycle = 64,
     .fp32 = 128, .integer = 64, .special = 16, .convert = 64, .half2 = 128, .fp64 = 64, .tensor = 1280,
     .instruction_l0_kb = 16, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 80},
    {.sm = 100, .device = "B200", .sms = 148, .clock_ghz = 1.85,
     .dram_gbs = 7000, .l2_gbs = 10500, .l2_mb = 126, .dram_latency_ns = 490, .l2_latency = 290, .l1_latency = 36,
     .shared_latency = 24, .l1_kb = 256, .l2_bytes_cycle = 64,
     .fp32 = 128, .integer = 64, .special = 16, .convert = 64, .half2 = 128, .fp64 = 64, .tensor = 1024,
     .instruction_l0_kb = 16, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 80},
    {.sm = 120, .device = "RTX 5090", .sms = 170, .clock_ghz = 2.41,
     .dram_gbs = 1570, .l2_gbs = 6000, .l2_mb = 96, .dram_latency_ns = 450, .l2_latency = 290, .l1_latency = 34,
     .shared_latency = 24, .l1_kb = 128, .l2_bytes_cycle = 64,
     .fp32 = 128, .integer = 128, .special = 16, .convert = 64, .half2 = 128, .fp64 = 2, .tensor = 256,
     .instruction_l0_kb = 12, .instruction_l1_kb = 128, .launch_ns = 4200, .cta_ns = 70},
};
// clang-format on

}  // namespace

std::span<const Hardware> all_hardware() { return kRows; }

const Hardware& hardware_of(const isa::Target& target) {
  const Hardware* best = &kRows[0];
  for (const auto& row : kRows)
    if (row.sm <= target.sm) best = &row;
  return *best;
}

}  // namespace ptxlab::estimate
