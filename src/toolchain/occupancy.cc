// How many CTAs of a kernel one SM holds at once, by the rules of NVIDIA's occupancy calculator: registers are given
// out a warp at a time from four partitions, shared memory a CTA at a time.
#include <algorithm>

#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

constexpr int kWarp = 32;
constexpr int kPartitions = 4;  // of an SM, each with a quarter of the registers (all targets from sm_70 on)

int round_up(int value, int unit) { return unit > 0 ? (value + unit - 1) / unit * unit : value; }

int ctas_by_registers(const isa::SmLimits& limits, int warps, int registers) {
  if (registers <= 0) return limits.max_ctas;
  if (registers > limits.max_registers_thread) return 0;
  int warp = round_up(registers * kWarp, limits.register_unit);
  // A CTA's warps spread over the partitions evenly, so one that does not fill them still takes the room.
  if (warp * round_up(warps, kPartitions) > limits.registers) return 0;
  return limits.registers / kPartitions / warp * kPartitions / warps;
}

int ctas_by_shared(const isa::Target& target, const isa::SmLimits& limits, int shared_bytes) {
  if (shared_bytes > limits.shared_bytes_cta) return 0;
  int cta = round_up(shared_bytes + limits.reserved_shared_cta, target.sm >= 80 ? 128 : 256);
  return cta == 0 ? limits.max_ctas : limits.shared_bytes / cta;
}

}  // namespace

Occupancy occupancy(const isa::Target& target, int threads, int registers, int shared_bytes) {
  const isa::SmLimits& limits = isa::limits_of(target);
  if (threads <= 0 || threads > 1024) return {0, 0, 0, "threads"};
  int warps = (threads + kWarp - 1) / kWarp;
  struct Limit {
    int ctas;
    const char* name;
  };
  const Limit all[] = {{limits.max_ctas, "CTAs"},
                       {limits.max_threads / kWarp / warps, "threads"},
                       {ctas_by_registers(limits, warps, registers), "registers"},
                       {ctas_by_shared(target, limits, shared_bytes), "shared memory"}};
  const Limit& least =
      *std::min_element(std::begin(all), std::end(all), [](const Limit& a, const Limit& b) { return a.ctas < b.ctas; });
  Occupancy result;
  result.ctas = least.ctas;
  result.warps = least.ctas * warps;
  result.fraction = static_cast<double>(result.warps) / (limits.max_threads / kWarp);
  result.limited_by = result.warps * kWarp == limits.max_threads ? "threads" : least.name;
  return result;
}

}  // namespace ptxlab::toolchain
