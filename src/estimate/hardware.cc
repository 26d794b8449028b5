#include "estimate/hardware.h"

namespace ptxlab::estimate {
namespace {

struct Row {
  int sm;
  Hardware hardware;
};

// sm_90's bandwidth and launch time were measured on an H200; the other rows are data sheets times the same share of
// peak (0.88). Latencies are rounded from published microbenchmarks.
constexpr Row kRows[] = {
    //    device          SMs  GHz   DRAM  L2     DRAM L2   shared fp32 int special ld/st fp64 launch
    {80, {"A100 80GB", 108, 1.41, 1790, 4500, 600, 230, 20, 64, 64, 16, 32, 32, 3000}},
    {86, {"RTX 3090", 82, 1.70, 820, 2200, 560, 220, 17, 128, 64, 16, 32, 2, 3000}},
    {89, {"RTX 4090", 128, 2.52, 890, 4500, 560, 230, 12, 128, 64, 16, 32, 2, 3000}},
    {90, {"H200", 132, 1.83, 4240, 7500, 700, 260, 16, 128, 64, 16, 32, 64, 3000}},
    {100, {"B200", 148, 1.85, 6900, 10500, 800, 300, 16, 128, 64, 16, 32, 64, 3000}},
    {120, {"RTX 5090", 170, 2.41, 1570, 6000, 600, 260, 13, 128, 64, 16, 32, 2, 3000}},
};

}  // namespace

const Hardware& hardware_of(const isa::Target& target) {
  const Hardware* best = &kRows[0].hardware;
  for (const auto& row : kRows)
    if (row.sm <= target.sm) best = &row.hardware;
  return *best;
}

}  // namespace ptxlab::estimate
