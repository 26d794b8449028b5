// Which lines waste memory traffic: counts of a profile grouped by the place in the source, worst first.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::checkers {

struct TrafficLine {
  const ptx::Instruction* instruction = nullptr;  // of the group the first that no other wastes twice as much as
  size_t instructions = 0;                        // of the group
  uint64_t excess_of_instruction = 0;
  uint64_t requests = 0, units = 0, ideal = 0;  // of all of them
  uint64_t excess() const { return units - ideal; }
};

struct TrafficKind {
  uint64_t analysis::StatementCounts::*units;
  uint64_t analysis::StatementCounts::*ideal;
};

struct WorstLines {
  uint64_t total = 0;              // units of the whole profile
  std::vector<TrafficLine> lines;  // those that are worth a word, at most kWorstLines
  size_t left_out = 0;
};
inline constexpr size_t kWorstLines = 4;
inline constexpr uint64_t kLeastExcess = 64;  // less is over before anyone could measure it

// Instructions of one kind that come from one line of CUDA source (unrolled loops) are one group. Worth a word is a group
// that takes half as many units again as at best, and wastes a twentieth of all and kLeastExcess.
WorstLines worst_lines(const ptx::Module& module, const analysis::Profile& profile, TrafficKind kind);

// "load at line 41 (tile.cu:12)"
std::string access_name(const ptx::Module& module, const ptx::Instruction& instruction);

// One note a line: "the load at line 41 takes 8.0 passes a request where 1.0 would do, ...".
struct TrafficWords {
  std::string_view code, subject;   // "CHK0040", "bank conflicts"
  std::string_view takes, at_best;  // "takes {:.1f} passes a request", "would do"
  std::string_view of_all;          // "passes over shared memory"
  std::string (*hint)(const ptx::Instruction&);
};
base::Findings traffic_notes(const ptx::Module& module, const analysis::Profile& profile, TrafficKind kind,
                             const TrafficWords& words);

}  // namespace ptxlab::checkers
