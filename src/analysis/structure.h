// What a kernel looks like, as plain data: its blocks and loops with their lines, how many registers are live, and how its
// memory accesses fall. What briefs and reports tell of a kernel is read off here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/type.h"
#include "ptx/module.h"

namespace ptxlab::analysis {

// How the threads of a warp fall on memory.
enum class StrideClass : uint8_t {
  uniform,     // all on one address
  contiguous,  // each beside its neighbour
  strided,     // a constant distance apart, with gaps or backwards
  irregular,   // by data, or not known
};
std::string_view name_of(StrideClass stride);

struct Lines {
  uint32_t first = 0, last = 0;  // of the PTX text, from 1
};

struct BlockFacts {
  std::string label;  // the one it begins with; empty: none
  Lines lines;
  std::vector<uint32_t> successors;
  std::optional<uint32_t> loop;  // the innermost, as an index into `loops`
  uint32_t instructions = 0;
  uint32_t live_at_start = 0, peak = 0;  // 32-bit registers
};

struct LoopFacts {
  Lines lines;
  uint32_t header = 0;  // a block
  uint32_t depth = 1;
  std::optional<uint32_t> parent;
  std::vector<uint32_t> blocks;
};

struct AccessFacts {
  uint32_t line = 0, block = 0;
  std::string instruction;  // as written: "@%p1 ld.global.nc.f32 %f1, [%rd8];"
  isa::Space space = isa::Space::generic;
  bool reads = false, writes = false, atomic = false;
  uint32_t bytes = 0;  // a thread
  std::string base;    // the pointer parameter or variable; empty: not known
  StrideClass stride = StrideClass::irregular;
  std::optional<int64_t> thread_stride;  // bytes
  std::string loop_step;   // bytes from one iteration of the innermost loop to the next: "4096", "4*%ntid.x"
  uint32_t alignment = 1;  // that is certain
  // What a full warp of neighbours costs: sectors of 32 bytes in global memory, wavefronts in shared memory. Where the stride
  // is known.
  std::optional<uint32_t> sectors, wavefronts;
};

struct Structure {
  std::string function;
  std::vector<BlockFacts> blocks;  // in order of the text
  std::vector<LoopFacts> loops;    // outer ones first
  std::vector<AccessFacts> accesses;
  uint32_t peak = 0, peak_block = 0;  // 32-bit registers live at once
  bool irreducible = false;           // a cycle with several ways in: `loops` misses it
  bool live_known = false;            // false: too large to compute, all live counts are 0
};

Structure structure_of(const ptx::Function& function);

}  // namespace ptxlab::analysis
