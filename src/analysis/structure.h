// What a kernel looks like, as plain data: its blocks and loops with their lines, how many registers are live, what it is made of,
// how its memory accesses fall, where it waits. What briefs, reports and `ptxlab structure` tell of a kernel is read off here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/instruction_mix.h"
#include "analysis/lanes.h"
#include "isa/type.h"
#include "ptx/module.h"

namespace ptxlab::analysis {

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
  bool diverges = false;                 // threads of a CTA may leave it in different ways
  InstructionMix mix;
};

struct LoopFacts {
  Lines lines;
  uint32_t header = 0;  // a block
  uint32_t depth = 1;
  std::optional<uint32_t> parent;
  std::vector<uint32_t> blocks;
  uint32_t instructions = 0;
  InstructionMix mix;
  // How often its body runs, in the kernel's own words: "ceil((n - tid.x) / 256)"; empty: decided by data, or not understood.
  std::string trips;
  std::optional<int64_t> least_trips, most_trips;  // where these are known numbers
  bool at_most = false;                            // it can be left otherwise too
};

struct AccessFacts {
  uint32_t line = 0, block = 0;
  std::string instruction;  // as written: "@%p1 ld.global.nc.f32 %f1, [%rd8];"
  isa::Space space = isa::Space::generic;
  bool reads = false, writes = false, atomic = false;
  bool async = false;       // cp.async and the like
  bool one_thread = false;  // a bulk copy: one thread moves all of it
  uint32_t bytes = 0;       // a thread; 0: not known
  uint32_t vector = 1;      // elements of a thread's access
  std::string base;         // the pointer parameter or variable; empty: not known
  LanePattern lanes;
  std::string stride_text;  // bytes from lane to lane where sizes decide it: "4*n"
  std::string loop_step;    // bytes from one iteration of the innermost loop to the next: "4096", "4*ntid.x"
  uint32_t alignment = 1;   // of every thread's address, where buffers begin at multiples of 256 bytes
  uint32_t required = 1;    // that the access needs: its own width
  // What a full warp costs: sectors of 32 bytes in global memory, passes over the banks of shared memory; where it is known.
  std::optional<uint32_t> sectors, wavefronts;
  bool contiguous() const { return lanes.stride == StrideClass::affine && lanes.lane_stride == int64_t{bytes}; }
};

struct BarrierFacts {
  enum class Kind : uint8_t { cta, warp, mbarrier, async_wait, fence, cluster, grid };
  Kind kind = Kind::cta;
  uint32_t line = 0, block = 0;
  std::string instruction;
};
std::string_view name_of(BarrierFacts::Kind kind);

struct Structure {
  std::string function;
  bool entry = true;
  Lines lines;
  std::vector<std::string> parameters;  // by the names that the launch gives them, else as declared
  std::vector<std::string> directives;  // ".maxntid 256, 1, 1"
  std::array<uint32_t, 3> block{};      // threads of a CTA; 0: not known
  uint32_t shared_bytes = 0;            // static, as declared
  std::vector<BlockFacts> blocks;       // in order of the text
  std::vector<LoopFacts> loops;         // outer ones first
  std::vector<AccessFacts> accesses;
  std::vector<BarrierFacts> barriers;
  InstructionMix mix;
  uint32_t named_registers = 0;    // 32-bit registers that the text uses by name
  uint32_t peak = 0, peak_block = 0;  // 32-bit registers live at once
  bool irreducible = false;           // a cycle with several ways in: `loops` misses it
  bool live_known = false;            // false: too large to compute, all live counts are 0
};

Structure structure_of(const ptx::Function& function, const Known& known = {});

}  // namespace ptxlab::analysis
