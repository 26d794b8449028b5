// What needs no expression any more: where an entry's parameters lie, how many threads a resolved plan launches.
#include <algorithm>
#include <limits>

#include "launch/plan.h"

namespace ptxlab::launch {

ParameterLayout layout_of(const ptx::Function& entry) {
  ParameterLayout layout;
  uint64_t at = 0;
  for (const ptx::Variable& parameter : entry.parameters) {
    const uint64_t alignment = std::max<uint64_t>(parameter.alignment(), 1);
    at = (at + alignment - 1) / alignment * alignment;
    layout.offsets.push_back(static_cast<uint32_t>(at));
    at += parameter.bytes();
  }
  layout.bytes = static_cast<uint32_t>(at);
  return layout;
}

uint64_t thread_count(const ResolvedPlan& plan) {
  uint64_t total = 0;
  for (const ResolvedLaunch& launch : plan.launches) {
    uint64_t threads = 1;
    for (const Dim3& dims : {launch.grid, launch.block}) {
      for (uint32_t d : dims)
        if (__builtin_mul_overflow(threads, uint64_t{d}, &threads)) return std::numeric_limits<uint64_t>::max();
    }
    if (__builtin_add_overflow(total, threads, &total)) return std::numeric_limits<uint64_t>::max();
  }
  return total;
}

}  // namespace ptxlab::launch
