#include "gpu/worker/placed_plan.h"

#include <cstring>

namespace ptxlab::gpu {
namespace {

void put_addresses(const std::vector<launch::Relocation>& pointers, std::span<const Address> at, void* bytes) {
  for (const auto& pointer : pointers) {
    uint64_t address = at[pointer.buffer] + pointer.addend;
    std::memcpy(static_cast<char*>(bytes) + pointer.offset, &address, sizeof address);
  }
}

Trouble fill_variable(Device& device, Arm slot, const launch::ResolvedSymbol& symbol, std::span<const Address> at) {
  bool copied = symbol.buffer != launch::ResolvedSymbol::kNoBuffer;
  uint64_t bytes = copied ? symbol.bytes : symbol.value.size();
  Address variable = 0;
  uint64_t room = 0;
  if (auto why = device.variable(slot, symbol.name, variable, room)) return why;
  if (bytes > room) return "it has " + std::to_string(room) + " bytes, " + std::to_string(bytes) + " are given";
  if (copied && symbol.pointers.empty()) return device.copy(variable, at[symbol.buffer] + symbol.addend, bytes);
  std::string content(symbol.value.begin(), symbol.value.end());
  if (copied) {
    content.resize(bytes);
    if (auto why = device.read(at[symbol.buffer] + symbol.addend, content)) return why;
  }
  put_addresses(symbol.pointers, at, content.data());
  return device.write(variable, content);
}

}  // namespace

Trouble fill_variables(Device& device, Arm slot, const PlacedPlan& placed) {
  for (const auto& symbol : placed.plan.symbols) {
    if (auto why = fill_variable(device, slot, symbol, placed.at)) return "the variable '" + symbol.name + "': " + *why;
  }
  return std::nullopt;
}

Trouble queue_launches(Device& device, Arm slot, const PlacedPlan& placed, uint32_t& failed) {
  std::vector<uint8_t> parameters;
  for (uint32_t i = 0; i < placed.plan.launches.size(); ++i) {
    const auto& launch = placed.plan.launches[i];
    parameters = launch.parameters;
    put_addresses(launch.pointers, placed.at, parameters.data());
    if (auto why = device.launch(slot, launch, parameters)) {
      failed = i;
      return why;
    }
  }
  return std::nullopt;
}

}  // namespace ptxlab::gpu
