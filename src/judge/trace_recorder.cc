#include "judge/trace_recorder.h"

#include <bit>

#include "analysis/registers.h"
#include "simt/traffic.h"

namespace ptxlab::judge {

std::vector<estimate::FunctionRange> number_statements(const ptx::Module& module) {
  std::vector<estimate::FunctionRange> ranges;
  uint32_t first = 0;
  for (const auto& function : module.functions) {
    if (!function.has_body) continue;
    auto count = static_cast<uint32_t>(function.body.size());
    ranges.push_back({function.name, first, count});
    first += count;
  }
  return ranges;
}

TraceRecorder::TraceRecorder(const ptx::Module& module, const estimate::LaunchTrace& trace, estimate::Tracer& tracer,
                             uint32_t allocations)
    : tracer_(tracer), allocations_(allocations), at_(64) {
  size_t next = 0;
  for (const auto& function : module.functions)
    if (function.has_body) first_[&function] = trace.functions[next++].first;
}

uint32_t TraceRecorder::statement_of(const simt::Site& site) {
  if (site.function != last_) {
    last_ = site.function;
    last_first_ = first_[site.function];
  }
  return last_first_ + site.statement;
}

void TraceRecorder::issue(const simt::Issue& issue) {
  uint32_t statement = statement_of(issue.site);
  at_[issue.warp.warp] = statement;
  tracer_.step(issue.warp.warp, statement);
}

void TraceRecorder::access(const simt::Access& access) {
  // An asynchronous copy lands when its warp is elsewhere: its way into shared memory costs nothing that shows.
  if (at_[access.warp.warp] != statement_of(access.site) || !access.active) return;
  if (access.space != isa::Space::global && access.space != isa::Space::shared && access.space != isa::Space::local)
    return;
  estimate::Tracer::Event event;
  event.warp = access.warp.warp;
  event.active = access.active;
  event.bytes = access.bytes;
  event.address = access.address;
  event.space = access.space;
  event.write = access.writes;
  event.atomic = access.atomic;
  if (access.space == isa::Space::global) {
    const auto& instruction = *access.site.instruction;
    for (std::string_view word : {".cg", ".cv", ".volatile", ".relaxed", ".acquire", ".mmio"})
      event.past_l1 |= analysis::has_word(instruction, word);
    event.not_into_l1 = analysis::has_word(instruction, ".L1::no_allocate");
    uint32_t allocation = access.allocation[std::countr_zero(access.active)];
    event.buffer =
        allocation >= simt::kModuleVariables ? allocations_ + (allocation - simt::kModuleVariables) : allocation;
  } else if (access.space == isa::Space::shared) {
    auto traffic = simt::count_passes(access.address, access.active, access.bytes, access.atomic);
    event.passes = traffic.units;
    event.ideal_passes = traffic.ideal;
  }
  tracer_.access(event);
}

}  // namespace ptxlab::judge
