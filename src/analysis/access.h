// Memory accesses as a reader of the kernel wants them: which buffer, how far apart neighbouring threads and successive
// iterations land, how wide, how well aligned.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/affine.h"
#include "analysis/cfg.h"

namespace ptxlab::analysis {

struct MemoryAccess {
  uint32_t statement = 0;
  isa::Space space = isa::Space::generic;
  bool reads = false, writes = false, atomic = false;
  uint32_t bytes = 0;  // a thread, all vector elements together
  uint32_t vector = 1;
  Affine address;                       // as the thread computes it, loop variables included
  std::optional<uint32_t> parameter;    // the pointer parameter it is based on
  std::optional<std::string> variable;  // or the variable
  // In bytes; nothing where the address is not a known multiple of the thread index.
  std::optional<int64_t> thread_stride;  // from tid.x to the next
  std::optional<int64_t> loop_stride;    // from one iteration of the innermost loop to the next, where constant
  Affine loop_step;                      // the same as a polynomial: "4*ntid.x"
  uint32_t loop = kNone;                 // that loop
  // The largest power of two that divides the address, given that the base is aligned to `base_alignment` (the
  // parameter's .ptr .align, a variable's alignment, else the access's own bytes that the hardware demands).
  uint32_t alignment = 1;
};

// Fills in what an address operand of `access.statement`, an access of `access.bytes`, says: base, strides, alignment. False where
// it is neither a register, a variable nor a number.
bool follow_address(const ptx::Function& function, const Cfg& cfg, const Values& values, const ptx::Operand& operand,
                    MemoryAccess& access);

std::vector<MemoryAccess> memory_accesses(const ptx::Function& function, const Cfg& cfg, const Values& values);

}  // namespace ptxlab::analysis
