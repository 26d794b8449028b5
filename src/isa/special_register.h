// Special registers (manual, "Special Registers"): %tid, %laneid, %clock64 ...
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "isa/target.h"
#include "isa/type.h"

namespace ptxlab::isa {

struct SpecialRegister {
  std::string_view name;  // "%tid"
  Type type;              // of the register, or of one component
  uint8_t components;     // 1, or 4 for .x .y .z .w
  Gate gate;
  bool timing = false;      // clocks and timers
  bool scheduling = false;  // depends on where and when the hardware runs the thread: %smid, %warpid
};

std::span<const SpecialRegister> special_registers();
// Index into special_registers(), or nothing.
std::optional<uint16_t> special_register_named(std::string_view name);

}  // namespace ptxlab::isa
