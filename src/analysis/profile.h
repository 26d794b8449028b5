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
  // Counted only where a run asks for it (simt::RunOptions::count_sectors):
  uint64_t sectors = 0;            // 32-byte sectors touched in global memory
  uint64_t requests = 0;           // warp-level requests to global or shared memory
  uint64_t shared_wavefronts = 0;  // passes over the 32 banks of shared memory
  uint64_t ideal_sectors = 0;      // sectors that the same bytes would touch side by side and aligned
  uint64_t ideal_wavefronts = 0;   // passes without conflicts
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
