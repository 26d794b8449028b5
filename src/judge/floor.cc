#include "judge/floor.h"

#include <algorithm>
#include <optional>

#include "estimate/hardware.h"

namespace ptxlab::judge {
namespace {

// The sheet holds what kernels reach; a floor must hold for what they could. Data sheets promise at most this much more.
constexpr double kAboveReached = 1.15;
constexpr double kBoost = 1.15;      // of clocks, over what is sustained
constexpr double kNarrowInputs = 8;  // 8-bit, 4-bit and sparse inputs, against 16-bit ones as mma reaches them
constexpr double kPackedHalves = 2;  // two 16-bit floats an instruction

bool uses_matrix_instructions(const ptx::Module& module) {
  auto matrix = [](const ptx::Statement& statement) {
    const ptx::Instruction* instruction = statement.instruction();
    if (!instruction || instruction->words.empty()) return false;
    const auto& opcode = instruction->words.front();
    return opcode == "mma" || opcode == "wmma" || opcode == "wgmma" || opcode == "tcgen05";
  };
  return std::any_of(module.functions.begin(), module.functions.end(), [&](const ptx::Function& function) {
    return std::any_of(function.body.begin(), function.body.end(), matrix);
  });
}

}  // namespace

double floor_value(const std::optional<launch::Expression>& expression, const task::Task& task,
                   const task::Sizes& sizes) {
  if (!expression) return 0;
  auto value = expression->evaluate(
      [&](std::string_view name) -> std::optional<int64_t> {
        auto at = sizes.find(std::string(name));
        return at == sizes.end() ? std::nullopt : std::optional<int64_t>(at->second);
      },
      task.params);
  return value && *value > 0 ? static_cast<double>(*value) : 0;
}

Floor floor_of(const task::Task& task, const task::Sizes& sizes, const gpu::Hello& hello, const ptx::Module& module) {
  Floor floor;
  floor.bytes = floor_value(task.floor_bytes, task, sizes);
  floor.flops = floor_value(task.floor_flops, task, sizes);
  isa::Target target;
  target.sm = static_cast<uint16_t>(hello.sm);
  const auto& hardware = estimate::hardware_of(target);
  // The row stands for a whole target: only where it names this device do its figures hold.
  if (hardware.sm != target.sm || hello.device.find(hardware.device) == std::string::npos) return floor;
  bool matrix = uses_matrix_instructions(module);
  double lanes = hardware.sms * hardware.clock_ghz * 2;  // a multiply-add is two
  floor.roofline_gbs = hardware.dram_gbs;
  floor.gflops = lanes * (matrix ? hardware.tensor : hardware.fp32);
  double peak = lanes * kBoost * (matrix ? kNarrowInputs * hardware.tensor : kPackedHalves * hardware.fp32);
  // Inputs lie in DRAM, since L2 is flushed; what is written may still be in L2 when the clock stops.
  double dram = std::max(0.0, floor.bytes - hardware.l2_mb * (1 << 20)) / (hardware.dram_gbs * kAboveReached);
  double l2 = floor.bytes / (hardware.l2_gbs * kAboveReached);
  floor.us = std::max({dram, l2, floor.flops / peak}) / 1e3;  // bytes over GB/s are nanoseconds
  return floor;
}

}  // namespace ptxlab::judge
