// What a PTX instruction becomes on the machine, roughly: how many issue slots, on which pipe, and after how many cycles
// its result can be used. ptxas is not asked: the same text costs the same wherever it is estimated. What it is known to
// fold away (address arithmetic, constants, conversions of addresses, negations) costs nothing here either.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/cfg.h"
#include "estimate/hardware.h"
#include "ptx/module.h"

namespace ptxlab::estimate {

enum class Pipe : uint8_t { none, fp32, integer, special, convert, half2, fp64, tensor, memory, control };
inline constexpr size_t kPipes = 10;
std::string_view name_of(Pipe pipe);

// How an instruction takes part in the machine's waiting.
enum class Role : uint8_t { compute, load, store, atomic, shuffle, barrier, wait, branch, fence };

struct MachineCode {
  Pipe pipe = Pipe::none;
  Role role = Role::compute;
  isa::Space space = isa::Space::none;  // of a memory instruction, as written
  bool ordered = false;                 // a load that no store may be moved across: not .nc
  double slots = 0;                     // issue slots, where fractions are what is folded away now and then
  double pipe_cycles = 0;               // that the scheduler's part of its pipe is busy
  bool either = false;  // an integer add, move or shift, which ptxas may write as a multiply-add: it runs
                        // on the integer pipe or on the half of the fp32 pipe that multiplies integers
  double latency = 0;   // cycles until the result can be used, but for global and local memory
  std::vector<uint32_t> reads, writes;  // registers of the function
};

// One function's statements; labels and such have no slots.
struct LoweredFunction {
  const ptx::Function* function = nullptr;
  std::vector<MachineCode> code;  // by statement
  // Statements of each block in the order that a scheduler like ptxas's would issue them: loads early, what waits late.
  std::vector<std::vector<uint32_t>> order;           // by block
  std::vector<uint32_t> block_of;                     // by statement
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  // begin, end
  std::vector<double> loop_slots;  // by block: machine instructions of the innermost loop around it, else 0
  double slots = 0;                // of all statements once
  size_t registers = 0;
};

LoweredFunction lower(const ptx::Function& function, const Hardware& hardware);

// One instruction for itself, without what its neighbours fold away.
MachineCode lower(const ptx::Instruction& instruction, const Hardware& hardware);

}  // namespace ptxlab::estimate
