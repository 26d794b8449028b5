#include "machine.h"

#include <algorithm>
#include <cstring>

#include "cta.h"
#include "launch/plan.h"

namespace ptxlab::twin {
namespace {

constexpr size_t kElsewhere = ~size_t{0};

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

// A variable's initial bytes, symbols' addresses included.
void initialise(const ptx::Module& module, const ptx::Variable& variable, const std::vector<uint64_t>& addresses,
                uint8_t* out) {
  if (!variable.init) return;
  const uint64_t element = static_cast<uint64_t>(isa::bytes_of(variable.type));
  for (size_t i = 0; i < variable.init->elements.size(); ++i) {
    const ptx::Initializer::Element& from = variable.init->elements[i];
    uint64_t bits = from.bits;
    if (!from.symbol.empty())
      for (size_t k = 0; k < module.variables.size(); ++k)
        if (module.variables[k].name == from.symbol) bits = addresses[k] + static_cast<uint64_t>(from.offset);
    if (!from.symbol.empty() && module.function(from.symbol)) bits = function_address(module, from.symbol);
    std::memcpy(out + i * element, &bits, element);
  }
}

void add_shared(Layout& layout, const ptx::Function* function, const std::vector<ptx::Variable>& variables) {
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const ptx::Variable& v = variables[i];
    if (v.space != isa::Space::shared || v.bytes() == 0) continue;
    layout.shared_bytes = aligned(layout.shared_bytes, std::max(1u, v.alignment()));
    layout.shared[{function, i}] = layout.shared_bytes;
    layout.shared_bytes += v.bytes();
  }
}

}  // namespace

Machine::Machine(const ptx::Module& module) : module_(module), variables_(0, simt::kVariableBase) {
  std::vector<uint64_t> addresses;
  for (const ptx::Variable& v : module.variables) {
    const bool here = v.space == isa::Space::global || v.space == isa::Space::constant;
    variable_allocation_.push_back(
        here ? variables_.allocate(v.name, std::max<uint64_t>(v.bytes(), 1), launch::ResolvedBuffer::Init::zero)
             : kElsewhere);
    addresses.push_back(here ? variables_.allocation(variable_allocation_.back()).address : 0);
  }
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (variable_allocation_[i] != kElsewhere)
      initialise(module, module.variables[i], addresses, variables_.allocation(variable_allocation_[i]).data.data());
}

Machine::~Machine() = default;

Outcome Machine::run(const launch::ResolvedLaunch& launch, std::span<const size_t> buffers, simt::Memory& memory,
                     const Options& options) {
  Outcome outcome;
  const ptx::Function* entry = module_.entry(launch.entry);
  if (!entry) {
    outcome.problem = "no entry " + launch.entry;
    return outcome;
  }
  std::vector<uint8_t> bytes = launch.parameters;
  for (const launch::Relocation& pointer : launch.pointers) {
    const uint64_t address = memory.allocation(buffers[pointer.buffer]).address + pointer.addend;
    std::memcpy(&bytes[pointer.offset], &address, 8);
  }
  std::vector<std::vector<uint8_t>> parameters;
  const launch::ParameterLayout offsets = launch::layout_of(*entry);
  for (size_t i = 0; i < entry->parameters.size(); ++i) {
    const auto begin = bytes.begin() + offsets.offsets[i];
    parameters.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(entry->parameters[i].bytes()));
  }
  Layout layout;
  for (size_t index : variable_allocation_)
    layout.module_address.push_back(index == kElsewhere ? 0 : variables_.allocation(index).address);
  add_shared(layout, nullptr, module_.variables);
  for (const ptx::Function& function : module_.functions) add_shared(layout, &function, function.variables);
  layout.shared_bytes = aligned(layout.shared_bytes, 128);

  // A number of CTAs at a time take turns, since they may wait for one another.
  constexpr size_t kResident = 32;
  std::vector<std::unique_ptr<Cta>> resident;
  auto run_resident = [&] {
    for (bool progress = true; progress && outcome.ok();) {
      progress = false;
      for (auto& cta : resident)
        if (outcome.ok()) progress |= cta->advance(options, outcome);
    }
    for (auto& cta : resident)
      if (outcome.ok()) cta->expect_ended(outcome);
    resident.clear();
  };
  for (uint32_t z = 0; z < launch.grid[2]; ++z)
    for (uint32_t y = 0; y < launch.grid[1]; ++y)
      for (uint32_t x = 0; x < launch.grid[0] && outcome.ok(); ++x) {
        resident.push_back(std::make_unique<Cta>(module_, *entry, launch, layout, parameters, memory, variables_,
                                                 launch::Dim3{x, y, z}));
        if (resident.size() == kResident) run_resident();
      }
  if (outcome.ok()) run_resident();
  return outcome;
}

}  // namespace ptxlab::twin
