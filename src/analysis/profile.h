// Dynamic counts of a run, by statement of each function: plain data that engines fill and estimates, reports and
// briefs read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ptxlab::analysis {

struct StatementCounts {
  uint64_t warps = 0;              // warp instructions issued
  uint64_t threads = 0;            // active lanes summed
  uint64_t sectors = 0;            // 32-byte sectors touched in global memory
  uint64_t requests = 0;           // warp-level memory requests
  uint64_t shared_wavefronts = 0;  // 1 + conflicts, summed
};

struct FunctionProfile {
  std::string function;
  std::vector<StatementCounts> statements;  // by index into Function::body
};

struct Profile {
  std::vector<FunctionProfile> functions;
  // Adds another launch's or CTA's counts.
  void add(const Profile& other);
};

}  // namespace ptxlab::analysis
