// What no kernel can beat at a timed size, and what of the device's rates one reaches: from the task's [floor] and the sheet of
// hardware (estimate/hardware.h).
#pragma once
#include <optional>
#include <string>

#include "gpu/protocol.h"
#include "ptx/module.h"
#include "task/task.h"

namespace ptxlab::judge {

// An expression of the task's [floor] at one size; 0: it has none, or none that makes sense.
double floor_value(const std::optional<launch::Expression>& expression, const task::Task& task,
                   const task::Sizes& sizes);

struct Floor {
  double bytes = 0, flops = 0;          // of the task at this size; 0: it does not say
  double us = 0;                        // 0: unknown, or the device is not on the sheet
  double roofline_gbs = 0, gflops = 0;  // that kernels reach on this device; 0: not on the sheet
};

// `module`: what is timed; whether it uses matrix instructions decides which peak bounds it.
Floor floor_of(const task::Task& task, const task::Sizes& sizes, const gpu::Hello& hello, const ptx::Module& module);

}  // namespace ptxlab::judge
