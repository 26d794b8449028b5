#include "analysis/liveness.h"

#include <algorithm>
#include <bit>

#include "analysis/registers.h"

namespace ptxlab::analysis {

Liveness::Liveness(const ptx::Function& function, const Cfg& cfg) {
  const auto& blocks = cfg.blocks();
  words_ = (function.registers.size() + 63) / 64;
  pressure_.assign(blocks.size(), 0);
  if (uint64_t{words_} * 64 * blocks.size() > kMostBits) return;
  computed_ = true;
  size_t size = words_ * blocks.size();
  in_.assign(size, 0);
  out_.assign(size, 0);
  std::vector<uint64_t> reads(size, 0), kills(size, 0);  // read before any full write; fully written
  for (uint32_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const auto* instruction = function.body[i].instruction();
      if (!instruction) continue;
      auto use = register_use(*instruction);
      for (uint32_t reg : use.reads) {
        uint64_t bit = uint64_t{1} << (reg % 64);
        if (!(kills[b * words_ + reg / 64] & bit)) reads[b * words_ + reg / 64] |= bit;
      }
      if (!use.partial)
        for (uint32_t reg : use.writes) kills[b * words_ + reg / 64] |= uint64_t{1} << (reg % 64);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = cfg.order().rbegin(); it != cfg.order().rend(); ++it) {
      uint32_t b = *it;
      for (size_t w = 0; w < words_; ++w) {
        uint64_t out = 0;
        for (uint32_t to : blocks[b].successors) out |= in_[to * words_ + w];
        uint64_t in = reads[b * words_ + w] | (out & ~kills[b * words_ + w]);
        out_[b * words_ + w] = out;
        if (in != in_[b * words_ + w]) {
          in_[b * words_ + w] = in;
          changed = true;
        }
      }
    }
  }
  measure(function, cfg);
}

void Liveness::measure(const ptx::Function& function, const Cfg& cfg) {
  const auto& blocks = cfg.blocks();
  std::vector<uint64_t> live(words_);
  for (uint32_t b : cfg.order()) {
    for (size_t w = 0; w < words_; ++w) live[w] = out_[b * words_ + w];
    uint32_t units = 0;
    for (uint32_t reg : live_out(b)) units += units_of(function.registers[reg]);
    uint32_t most = units;
    for (uint32_t i = blocks[b].end; i-- > blocks[b].begin;) {
      const auto* instruction = function.body[i].instruction();
      if (!instruction) continue;
      auto use = register_use(*instruction);
      if (!use.partial)
        for (uint32_t reg : use.writes)
          if (uint64_t bit = uint64_t{1} << (reg % 64); live[reg / 64] & bit) {
            live[reg / 64] &= ~bit;
            units -= units_of(function.registers[reg]);
          }
      for (uint32_t reg : use.reads)
        if (uint64_t bit = uint64_t{1} << (reg % 64); !(live[reg / 64] & bit)) {
          live[reg / 64] |= bit;
          units += units_of(function.registers[reg]);
        }
      most = std::max(most, units);
    }
    pressure_[b] = most;
    if (most > peak_) {
      peak_ = most;
      peak_block_ = b;
    }
  }
}

std::vector<uint32_t> Liveness::list(const std::vector<uint64_t>& set, uint32_t block) const {
  std::vector<uint32_t> found;
  if (!computed_) return found;
  for (size_t w = 0; w < words_; ++w)
    for (uint64_t bits = set[block * words_ + w]; bits; bits &= bits - 1)
      found.push_back(static_cast<uint32_t>(w * 64 + std::countr_zero(bits)));
  return found;
}

}  // namespace ptxlab::analysis
