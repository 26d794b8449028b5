// What a piece of code is made of: instructions counted by what part of the machine they ask for. Told from the words as written,
// so that an instruction which the table lacks is counted too.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace ptxlab::analysis {

enum class MixClass : uint8_t {
  fp32,
  fp16,  // and bf16, alone and in pairs
  fp64,
  tensor,
  special,  // rcp, sqrt, ex2 ..., and divisions of floats
  integer,
  compare,
  conversion,
  move,
  exchange,  // shfl, vote, redux: between the lanes of a warp
  parameter,
  global,  // generic addresses count here
  shared,
  local,
  constant,
  atomic,
  async_copy,
  barrier,
  fence,
  control,
  other,
  kEnd,
};
std::string_view name_of(MixClass part);

MixClass class_of(const ptx::Instruction& instruction);

struct InstructionMix {
  std::array<uint32_t, static_cast<size_t>(MixClass::kEnd)> counts{};
  uint32_t operator[](MixClass part) const { return counts[static_cast<size_t>(part)]; }
  void add(MixClass part) { ++counts[static_cast<size_t>(part)]; }
  void add(const InstructionMix& more);
  uint32_t total() const;
};

}  // namespace ptxlab::analysis
