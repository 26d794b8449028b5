#include "analysis/structure.h"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/access.h"
#include "analysis/affine.h"
#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "analysis/registers.h"
#include "ptx/printer.h"

namespace ptxlab::analysis {
namespace {

constexpr int64_t kLanes = 32, kSector = 32, kBanks = 32, kWord = 4;

// The first lane's address, where the lowest of all is 0: what is counted is the best alignment, backwards too.
int64_t lowest_at_zero(int64_t stride) { return stride < 0 ? -stride * (kLanes - 1) : 0; }

uint32_t sectors_of(int64_t stride, int64_t bytes) {
  std::set<int64_t> sectors;
  int64_t base = lowest_at_zero(stride);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t byte = 0; byte < bytes; byte += kWord) sectors.insert((base + lane * stride + byte) / kSector);
  }
  return static_cast<uint32_t>(sectors.size());
}

// 64-bit accesses go by half warps, 128-bit ones by quarters: no bank has to give more than one word a thread at a time.
uint32_t wavefronts_of(int64_t stride, int64_t bytes) {
  int64_t group = kLanes / std::max<int64_t>(1, bytes / kWord);
  int64_t base = lowest_at_zero(stride);
  uint32_t total = 0;
  for (int64_t first = 0; first < kLanes; first += group) {
    std::array<std::set<int64_t>, kBanks> words;
    for (int64_t lane = first; lane < first + group; ++lane) {
      for (int64_t byte = 0; byte < bytes; byte += kWord) {
        int64_t word = (base + lane * stride + byte) / kWord;
        words[static_cast<size_t>(word % kBanks)].insert(word);
      }
    }
    size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    total += static_cast<uint32_t>(most);
  }
  return total;
}

StrideClass class_of(const MemoryAccess& access) {
  if (!access.thread_stride) return StrideClass::irregular;
  if (*access.thread_stride == 0) return StrideClass::uniform;
  return *access.thread_stride == access.bytes ? StrideClass::contiguous : StrideClass::strided;
}

Lines lines_of(const ptx::Function& function, uint32_t begin, uint32_t end, uint32_t* instructions) {
  Lines lines;
  for (uint32_t s = begin; s < end; ++s) {
    const auto* instruction = function.body[s].instruction();
    if (!instruction) continue;
    if (!lines.first) lines.first = instruction->line;
    lines.last = instruction->line;
    if (instructions) ++*instructions;
  }
  return lines;
}

AccessFacts facts_of(const ptx::Function& function, const Cfg& cfg, const Values& values, const MemoryAccess& access) {
  const auto& instruction = *function.body[access.statement].instruction();
  AccessFacts facts;
  facts.line = instruction.line;
  facts.block = cfg.block_of(access.statement);
  facts.instruction = ptx::print(instruction, function);
  facts.space = access.space;
  facts.reads = access.reads;
  facts.writes = access.writes;
  facts.atomic = access.atomic;
  facts.bytes = access.bytes;
  if (access.parameter) facts.base = function.parameters[*access.parameter].name;
  if (access.variable) facts.base = *access.variable;
  facts.stride = class_of(access);
  facts.thread_stride = access.thread_stride;
  if (access.loop != kNone) facts.loop_step = values.describe(access.loop_step, function);
  facts.alignment = access.alignment;
  // Strides beyond any buffer are addresses that overflow; they cost what irregular ones do.
  bool known = access.thread_stride && std::abs(*access.thread_stride) < (int64_t{1} << 40) && access.bytes > 0;
  if (known && access.space == isa::Space::shared)
    facts.wavefronts = wavefronts_of(*access.thread_stride, access.bytes);
  if (known && (access.space == isa::Space::global || access.space == isa::Space::generic))
    facts.sectors = sectors_of(*access.thread_stride, access.bytes);
  return facts;
}

}  // namespace

std::string_view name_of(StrideClass stride) {
  switch (stride) {
    case StrideClass::uniform: return "uniform";
    case StrideClass::contiguous: return "contiguous";
    case StrideClass::strided: return "strided";
    case StrideClass::irregular: return "irregular";
  }
  return "";
}

Structure structure_of(const ptx::Function& function) {
  Cfg cfg(function);
  Liveness liveness(function, cfg);
  Values values(function, cfg, liveness);
  Structure structure;
  structure.function = function.name;
  structure.irreducible = cfg.irreducible();
  structure.live_known = liveness.computed();
  structure.peak = liveness.peak();
  structure.peak_block = liveness.peak_block();
  for (uint32_t b = 0; b < cfg.blocks().size(); ++b) {
    const auto& block = cfg.blocks()[b];
    BlockFacts facts;
    facts.lines = lines_of(function, block.begin, block.end, &facts.instructions);
    for (uint32_t s = block.begin; s < block.end && !function.body[s].instruction(); ++s) {
      if (const auto* label = std::get_if<ptx::Label>(&function.body[s].what))
        facts.label = function.labels[label->id].name;
    }
    facts.successors = block.successors;
    if (cfg.loop_of(b) != kNone) facts.loop = cfg.loop_of(b);
    for (uint32_t reg : liveness.live_in(b))
      facts.live_at_start += static_cast<uint32_t>(units_of(function.registers[reg]));
    if (b < liveness.pressure().size()) facts.peak = liveness.pressure()[b];
    structure.blocks.push_back(std::move(facts));
  }
  for (const auto& loop : cfg.loops()) {
    LoopFacts facts;
    facts.header = loop.header;
    facts.depth = loop.depth;
    if (loop.parent != kNone) facts.parent = loop.parent;
    facts.blocks = loop.blocks;
    for (uint32_t b : loop.blocks) {
      const auto& lines = structure.blocks[b].lines;
      if (!lines.first) continue;
      facts.lines.first = facts.lines.first ? std::min(facts.lines.first, lines.first) : lines.first;
      facts.lines.last = std::max(facts.lines.last, lines.last);
    }
    structure.loops.push_back(std::move(facts));
  }
  for (const auto& access : memory_accesses(function, cfg, values))
    structure.accesses.push_back(facts_of(function, cfg, values, access));
  return structure;
}

}  // namespace ptxlab::analysis
