// A kernel's structure for people: loops drawn as what they enclose, live registers as bars, what memory accesses cost beside what
// they would cost at best.
#pragma once
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "analysis/structure.h"

namespace ptxlab::analysis {

// What an assembler made of the function, where one was asked.
struct Assembly {
  std::string by, target;                                 // "ptxas 13.0.88", "sm_80"
  int registers = 0, spilled = 0, stack = 0, shared = 0;  // bytes, but for the registers
  uint64_t code_bytes = 0;
  std::string occupancy;  // "8 CTAs of 256 threads fit an SM, 100 % of its warps, limited by threads"; empty: not known
};

std::string structure_text(const Structure& structure, const std::optional<Assembly>& assembly);

// An object of "functions" in ptxlab.structure/1.
nlohmann::json structure_json(const Structure& structure, const std::optional<Assembly>& assembly);

// What a reader has to know of an access in a few words: "next to each other", "132 bytes apart", "8 lanes 4 bytes apart".
std::string lanes_text(const AccessFacts& access);
// "4 sectors", "16 sectors, 4 at best"; of shared memory "32 passes, 1 at best"; empty where it is not known.
std::string cost_text(const AccessFacts& access);
// "load global 4 x 4 bytes"
std::string access_text(const AccessFacts& access);
// "integer 52, fp32 30, moves 12", the most first.
std::string mix_text(const InstructionMix& mix, size_t most = 99);
// "16 times", "8 to 9 times", "ceil((n - tid.x) / 256) times"; empty where it is not known.
std::string trips_text(const LoopFacts& loop);

// In a kernel of hundreds of blocks the small ones that follow each other inside one loop are told as one.
struct BlockRun {
  uint32_t first = 0, last = 0;
  Lines lines;
  uint32_t instructions = 0, peak = 0;
};
std::vector<BlockRun> block_runs(const Structure& structure);

// Accesses of one loop, or outside of loops, that differ in nothing but their place: told as one.
struct AccessGroup {
  const AccessFacts* first = nullptr;
  uint32_t count = 1, last_line = 0, last_block = 0;
};
std::vector<AccessGroup> grouped(const Structure& structure);

}  // namespace ptxlab::analysis
