#include "harness.h"

#include <cassert>

#include "launch/plan.h"

namespace ptxlab::twin {

launch::ResolvedLaunch make_launch(const ptx::Function& entry, launch::Dim3 grid, launch::Dim3 block,
                                   const std::vector<Argument>& arguments, uint32_t shared_bytes) {
  launch::ResolvedLaunch out;
  out.entry = entry.name;
  out.grid = grid;
  out.block = block;
  out.shared_bytes = shared_bytes;
  const launch::ParameterLayout layout = launch::layout_of(entry);
  out.parameters.resize(layout.bytes);
  assert(arguments.size() == entry.parameters.size());
  uint32_t buffers = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == Argument::Kind::buffer) {
      out.pointers.push_back({layout.offsets[i], buffers++, 0});
    } else {
      std::memcpy(&out.parameters[layout.offsets[i]], &arguments[i].bits, entry.parameters[i].bytes());
    }
  }
  return out;
}

std::vector<size_t> place_buffers(const std::vector<Argument>& arguments, simt::Memory& memory) {
  std::vector<size_t> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != Argument::Kind::buffer) continue;
    out.push_back(memory.allocate("argument " + std::to_string(i), arguments[i].bytes.size(),
                                  launch::ResolvedBuffer::Init::data, arguments[i].writable));
    memory.allocation(out.back()).data.assign(arguments[i].bytes.begin(), arguments[i].bytes.end());
  }
  return out;
}

void fetch_buffers(const simt::Memory& memory, const std::vector<size_t>& buffers, std::vector<Argument>& arguments) {
  size_t next = 0;
  for (Argument& argument : arguments)
    if (argument.kind == Argument::Kind::buffer) {
      const simt::Allocation& from = memory.allocation(buffers[next++]);
      argument.bytes.assign(from.data.begin(), from.data.end());
    }
}

std::string run_twin(std::string_view text, launch::Dim3 grid, launch::Dim3 block, std::vector<Argument>& arguments,
                     uint32_t shared_bytes) {
  ptx::Parsed parsed = ptx::parse(text, "kernel.ptx");
  if (!parsed.ok()) return base::render(parsed.findings, text);
  const ptx::Function* entry = parsed.module.entry("");
  if (!entry) return "no single entry";
  simt::Memory memory(1);
  const std::vector<size_t> buffers = place_buffers(arguments, memory);
  Machine machine(parsed.module);
  Outcome outcome = machine.run(make_launch(*entry, grid, block, arguments, shared_bytes), buffers, memory);
  fetch_buffers(memory, buffers, arguments);
  return outcome.ok() ? "" : outcome.problem + " at line " + std::to_string(outcome.line);
}

}  // namespace ptxlab::twin
