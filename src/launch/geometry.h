// What grid, block and cluster of a launch must satisfy on any GPU, and what the entry itself declares about them.
#pragma once
#include <string>
#include <vector>

#include "launch/resolved.h"
#include "ptx/module.h"

namespace ptxlab::launch {

inline constexpr int64_t kMaxCluster = 16;  // CTAs, with the non-portable size allowed

struct GeometryFault {
  std::string code;       // PLAN0024 no GPU launches it, PLAN0029 the entry declares otherwise
  bool of_block = false;  // else of the cluster
  std::string message, hint;
};

// The entry's `.reqnctapercluster`, else 1 x 1 x 1: what a launch has that says nothing.
Dim3 required_cluster(const ptx::Function& entry);

std::vector<GeometryFault> geometry_faults(const ptx::Function& entry, const ResolvedLaunch& launch);

}  // namespace ptxlab::launch
