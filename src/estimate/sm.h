// A model of one SM that replays traces: schedulers that issue in order from their warps, pipes, the load/store unit, this
// SM's share of L2 and DRAM as queues, latencies, barriers, CTAs that follow one another. What limits a kernel shows by
// itself: loads in flight against latency, warps against dependences, queues against bandwidth, the last wave.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "estimate/hardware.h"
#include "estimate/lowering.h"
#include "estimate/trace.h"

namespace ptxlab::estimate {

// Why a warp that is there does not issue.
enum class Stall : uint8_t {
  none,        // it issues
  selected,    // it could, another warp of its scheduler did
  dram,        // waits for a value from DRAM
  l2,          // from L2
  l1,          // from L1 or thread memory
  shared,      // from shared memory, a shuffle, a special register
  arithmetic,  // from fp32, integer or 16-bit floats
  slow,        // from special functions, conversions, fp64, tensor
  pipe,        // its pipe is busy
  queue,       // the load/store unit's queue is full
  barrier,
  branch,  // the next instruction is being fetched
  fence,
};
inline constexpr size_t kStalls = 13;
std::string_view name_of(Stall stall);

struct SmTask {
  std::span<const LoweredFunction> functions;  // beside LaunchTrace::functions
  const LaunchTrace* trace = nullptr;
  const Hardware* hardware = nullptr;
  int resident = 1;             // CTAs at once
  double dram_bytes_cycle = 0;  // this SM's share
  double l2_bytes_cycle = 0;
  std::vector<double> cold_share;   // by buffer: of a CTA's first readings, those that DRAM answers
  std::vector<double> write_share;  // likewise of what is written
  double reread_share = 1;          // of what a CTA reads again after L2 has dropped it
  double fetch_cycles_l0 = 0;       // more cycles an instruction in loops beyond the scheduler's own cache
  double fetch_cycles_l1 = 0;       // and beyond the SM's
  double code_bytes_slot = 16;      // of ptxas's code to our slots
  double spill_words = 0;           // 32-bit spills and reloads a thread and execution of `spill_blocks`
  double spill_l2_share = 0;        // of them that L1 cannot hold
  std::vector<std::pair<uint32_t, uint32_t>> spill_blocks;  // function, block
  uint64_t most_steps = 400'000;
};

struct SmResult {
  double cycles = 0;                       // from the first CTA's start to the last byte
  double steady_cycles = 0;                // a CTA in the middle of the run, the others around it
  std::array<double, kPipes> pipe_busy{};  // cycles of the busiest scheduler's pipe
  double fetch_busy = 0;                   // cycles that the busiest scheduler waits for code
  double issue_busy = 0, lsu_busy = 0, l2_busy = 0, dram_busy = 0;
  std::array<double, kStalls> stalls{};  // warp cycles
  double warp_cycles = 0;                // of all resident warps
  double slots = 0;
  double dram_bytes = 0, l2_bytes = 0, l1_bytes = 0;
  double conflicts = 0;  // passes of shared memory beyond the ideal
  double scattered = 0;  // passes of global memory beyond the ideal
  uint64_t ctas = 0;     // simulated
};

// Runs `ctas` CTAs of the trace, the sampled ones in turn; edge CTAs stand first and last where `edges`.
SmResult run_sm(const SmTask& task, uint64_t ctas, bool edges);

}  // namespace ptxlab::estimate
