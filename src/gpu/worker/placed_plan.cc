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

void put_maps(const std::vector<launch::TensorMapUse>& uses, std::span<const TensorMapBytes> maps, void* bytes) {
  for (const auto& use : uses)
    std::memcpy(static_cast<char*>(bytes) + use.offset, maps[use.map].data(), maps[use.map].size());
}

Trouble fill_variable(Device& device, Arm slot, const launch::ResolvedSymbol& symbol, const PlacedPlan& placed) {
  std::span<const Address> at = placed.at;
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
  put_maps(symbol.tensor_maps, placed.maps, content.data());
  return device.write(variable, content);
}

}  // namespace

Trouble encode_maps(Device& device, const launch::ResolvedPlan& plan, std::span<const Address> at,
                    std::vector<TensorMapBytes>& into) {
  into.resize(plan.tensor_maps.size());
  for (size_t i = 0; i < into.size(); ++i) {
    const auto& map = plan.tensor_maps[i];
    if (auto why = device.encode(map, at[map.buffer] + map.addend, into[i]))
      return "the tensor map '" + map.name + "': " + *why;
  }
  return std::nullopt;
}

Trouble fill_variables(Device& device, Arm slot, const PlacedPlan& placed) {
  for (const auto& symbol : placed.plan.symbols) {
    if (auto why = fill_variable(device, slot, symbol, placed)) return "the variable '" + symbol.name + "': " + *why;
  }
  return std::nullopt;
}

Trouble queue_launches(Device& device, Arm slot, const PlacedPlan& placed, uint32_t& failed) {
  std::vector<uint8_t> parameters;
  for (uint32_t i = 0; i < placed.plan.launches.size(); ++i) {
    const auto& launch = placed.plan.launches[i];
    parameters = launch.parameters;
    put_addresses(launch.pointers, placed.at, parameters.data());
    put_maps(launch.tensor_maps, placed.maps, parameters.data());
    if (auto why = device.launch(slot, launch, parameters)) {
      failed = i;
      return *why + excess(launch, device.limits(slot, launch));
    }
  }
  return std::nullopt;
}

std::string excess(const launch::ResolvedLaunch& launch, const LaunchLimits& limits) {
  const auto product = [](const launch::Dim3& dims) { return uint64_t{dims[0]} * dims[1] * dims[2]; };
  const auto number = [](uint64_t n) { return std::to_string(n); };
  const uint64_t threads = product(launch.block), ctas = product(launch.grid), cluster = product(launch.cluster);
  std::string text;
  if (limits.shared > 0 && limits.shared_static + launch.shared_bytes > limits.shared)
    text += ": " + number(launch.shared_bytes) + " bytes of dynamic shared memory and " + number(limits.shared_static) +
            " of the code's own, a CTA has at most " + number(limits.shared);
  if (limits.threads > 0 && threads > limits.threads)
    text += ": " + number(threads) + " threads a CTA, with this code's registers at most " + number(limits.threads);
  if (launch.cooperative && limits.resident > 0 && ctas > limits.resident)
    text += ": a cooperative grid of " + number(ctas) + " CTAs, of which " + number(limits.resident) +
            " fit on this GPU at a time";
  if (cluster > 1 && limits.clusters && *limits.clusters == 0)
    text += ": no cluster of " + number(cluster) + " CTAs of this kind fits on this GPU";
  return text;
}

}  // namespace ptxlab::gpu
