// The order in which a block's instructions are issued. ptxas moves loads up as far as data and memory order let, so that
// several are in flight before the first value is needed; a list scheduler with the longest path to the block's end as
// priority does the same.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "estimate/lowering.h"
#include "ptx/module.h"

namespace ptxlab::estimate {

// Statements [begin, end) in issue order; labels and such are left out.
std::vector<uint32_t> schedule(const ptx::Function& function, std::span<const MachineCode> code, uint32_t begin,
                               uint32_t end);

}  // namespace ptxlab::estimate
