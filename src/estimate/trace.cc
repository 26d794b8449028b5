#include "estimate/trace.h"

#include <algorithm>
#include <bit>

namespace ptxlab::estimate {
namespace {

constexpr uint64_t kSector = 32, kLine = 128, kGranule = 64;  // bytes; L2 fetches two sectors from DRAM at once

}  // namespace

void Tracer::begin_cta(uint32_t warps, bool edge) {
  trace_.ctas.emplace_back();
  trace_.ctas.back().edge = edge;
  trace_.ctas.back().warps.resize(warps);
  taken_.assign(warps, 0);
  seen_.clear();
  most_a_warp_ = warps ? most_steps_ / warps : 0;
}

void Tracer::step(uint32_t warp, uint32_t statement) {
  CtaTrace& cta = trace_.ctas.back();
  ++cta.steps;
  if (warp >= taken_.size() || taken_[warp]++ >= most_a_warp_) return;
  ++cta.recorded;
  cta.warps[warp].push_back({statement, kNoAccess});
}

// Sectors beyond what is recorded still pass through the caches and count as traffic.
void Tracer::access(const Event& event) {
  CtaTrace& cta = trace_.ctas.back();
  if (event.warp >= taken_.size() || !event.active) return;
  AccessCost fresh;
  bool recorded = taken_[event.warp] <= most_a_warp_ && !cta.warps[event.warp].empty();
  TraceStep* step = recorded ? &cta.warps[event.warp].back() : nullptr;
  // A generic access may touch several memories, an asynchronous copy two: one cost for all of it.
  AccessCost cost = step && step->access != kNoAccess ? cta.accesses[step->access] : fresh;
  switch (event.space) {
    case isa::Space::shared:
      cost.shared = true;
      cost.wavefronts = static_cast<uint16_t>(cost.wavefronts + event.passes);
      cost.ideal = static_cast<uint16_t>(cost.ideal + event.ideal_passes);
      if (event.atomic) cost.collisions = std::max(cost.collisions, event.passes);
      break;
    case isa::Space::local: local(event, cost); break;
    default: global(event, cost);
  }
  cost.write |= event.write && !event.atomic;
  if (!step) return;
  if (step->access == kNoAccess) {
    step->access = static_cast<uint32_t>(cta.accesses.size());
    cta.accesses.push_back(cost);
  } else {
    cta.accesses[step->access] = cost;
  }
}

void Tracer::read_sector(uint64_t sector, const Event& event, AccessCost& cost) {
  uint32_t bit = 1u << (sector % (kLine / kSector));
  bool cached = !event.past_l1 && !event.atomic;
  if (cached && event.not_into_l1) {
    if (auto* line = l1_.find(sector / (kLine / kSector)); line && (line->valid & bit)) {
      ++cost.l1_sectors;
      return;
    }
  } else if (cached) {
    auto& line = l1_.touch(sector / (kLine / kSector));
    if (line.valid & bit) {
      ++cost.l1_sectors;
      return;
    }
    line.valid |= bit;
  }
  ++cost.l2_sectors;
  uint64_t granule = sector / (kGranule / kSector);
  auto& line = l2_.touch(granule);
  if (line.valid) return;
  line.valid = 1;
  constexpr uint16_t both = kGranule / kSector;
  if (!seen_.insert(granule).second) {
    cost.dram_sectors = static_cast<uint16_t>(cost.dram_sectors + both);
    return;
  }
  cost.cold_sectors = static_cast<uint16_t>(cost.cold_sectors + both);
  if (event.buffer < trace_.buffers.size()) trace_.buffers[event.buffer].cold_read += both;
}

void Tracer::write_sector(uint64_t sector, const Event& event, AccessCost& cost) {
  uint32_t bit = 1u << (sector % (kLine / kSector));
  if (auto* line = l1_.find(sector / (kLine / kSector))) line->valid &= event.atomic ? ~bit : ~0u;
  ++cost.l2_sectors;
  auto& line = l2_.touch(sector / (kGranule / kSector));
  uint32_t half = 1u << (sector % (kGranule / kSector));
  line.valid = 1;
  if (line.dirty & half) return;
  line.dirty |= half;
  ++cost.cold_sectors;
  if (event.buffer < trace_.buffers.size()) ++trace_.buffers[event.buffer].cold_written;
}

void Tracer::global(const Event& event, AccessCost& cost) {
  uint64_t sectors[32 * 5];
  size_t n = 0;
  uint64_t bytes = 0;
  for (uint32_t left = event.active; left; left &= left - 1) {
    uint64_t address = event.address[std::countr_zero(left)];
    for (uint64_t s = address / kSector; s <= (address + event.bytes - 1) / kSector && n < std::size(sectors); ++s)
      if (n == 0 || sectors[n - 1] != s) sectors[n++] = s;
    bytes += event.bytes;
  }
  if (!std::is_sorted(sectors, sectors + n)) std::sort(sectors, sectors + n);
  n = static_cast<size_t>(std::unique(sectors, sectors + n) - sectors);
  uint64_t lines = 0, last = ~uint64_t{0};
  for (size_t i = 0; i < n; ++i) {
    if (sectors[i] / (kLine / kSector) != last) ++lines;
    last = sectors[i] / (kLine / kSector);
    if (event.write || event.atomic)
      write_sector(sectors[i], event, cost);
    else
      read_sector(sectors[i], event, cost);
  }
  // A pass looks up the tags of one line and moves 128 bytes; wide accesses go by parts of the warp.
  uint64_t parts = event.bytes > 8 ? 4 : event.bytes > 4 ? 2 : 1;
  uint64_t ideal = std::max<uint64_t>((bytes + kLine - 1) / kLine, 1);
  cost.wavefronts = static_cast<uint16_t>(cost.wavefronts + std::max(lines, std::min(parts, ideal)));
  cost.ideal = static_cast<uint16_t>(cost.ideal + ideal);
  cost.buffer = static_cast<uint16_t>(event.buffer);
  if (event.atomic) count_atomics(event, cost);
}

void Tracer::count_atomics(const Event& event, AccessCost& cost) {
  uint64_t addresses[32];
  size_t n = 0;
  for (uint32_t left = event.active; left; left &= left - 1) addresses[n++] = event.address[std::countr_zero(left)];
  std::sort(addresses, addresses + n);
  auto cta = static_cast<uint32_t>(trace_.ctas.size());
  for (size_t i = 0; i < n;) {
    size_t end = i;
    while (end < n && addresses[end] == addresses[i]) ++end;
    cost.collisions = std::max(cost.collisions, static_cast<uint16_t>(end - i));
    auto [it, fresh] = atomics_.try_emplace(addresses[i], Hot{0, cta, false});
    Hot& hot = it->second;
    hot.count += end - i;
    hot.shared |= hot.cta != cta;
    if (hot.count > trace_.hottest_atomics || (hot.count == trace_.hottest_atomics && hot.shared)) {
      trace_.hottest_atomics = hot.count;
      trace_.hottest_shared = hot.shared;
    }
    i = end;
  }
}

// Thread memory is laid out so that a warp's same word is one line; lanes at different places touch a line each.
void Tracer::local(const Event& event, AccessCost& cost) {
  uint64_t first = event.address[std::countr_zero(event.active)];
  uint64_t lines = 0;
  uint64_t seen[32];
  for (uint32_t left = event.active; left; left &= left - 1) {
    uint64_t word = event.address[std::countr_zero(left)] / 4;
    if (std::find(seen, seen + lines, word) == seen + lines) seen[lines++] = word;
  }
  uint64_t words = std::max<uint64_t>((event.bytes + 3) / 4, 1);
  cost.local = true;
  cost.wavefronts = static_cast<uint16_t>(cost.wavefronts + lines * words);
  cost.ideal = static_cast<uint16_t>(cost.ideal + words);
  for (uint64_t w = 0; w < words; ++w) {
    // A key of its own for each warp and word, away from global lines.
    auto& line = l1_.touch((uint64_t{1} << 60) | (uint64_t{event.warp} << 40) | (first / 4 + w));
    uint16_t& where = line.valid || event.write ? cost.l1_sectors : cost.l2_sectors;
    where = static_cast<uint16_t>(where + 4);
    line.valid = 0xf;
  }
}

}  // namespace ptxlab::estimate
