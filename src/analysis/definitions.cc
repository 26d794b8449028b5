#include "analysis/definitions.h"

#include <algorithm>

#include "analysis/liveness.h"
#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

// Steps that the sets and the uses take: (definitions + reads) x definitions, summed over registers written more than
// once.
constexpr uint64_t kMostWork = uint64_t{1} << 31;

uint64_t work_of(const ptx::Function& function, const std::vector<std::vector<uint32_t>>& definitions) {
  std::vector<uint64_t> reads(definitions.size(), 0);
  for (const auto& statement : function.body)
    if (const auto* instruction = statement.instruction())
      for (uint32_t reg : register_use(*instruction).reads) ++reads[reg];
  uint64_t work = 0;
  for (size_t reg = 0; reg < definitions.size(); ++reg)
    if (uint64_t count = definitions[reg].size(); count > 1) work += (count + reads[reg]) * count;
  return work;
}

}  // namespace

Definitions::Definitions(const ptx::Function& function, const Cfg& cfg) : cfg_(&cfg) {
  of_.resize(function.registers.size());
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (const auto* instruction = function.body[i].instruction()) {
      auto use = register_use(*instruction);
      for (uint32_t reg : use.writes) {
        of_[reg].push_back(static_cast<uint32_t>(all_.size()));
        all_.push_back({i, reg, use.partial});
      }
    }
  flow(function, cfg);
  if (computed_) find_uses(function, cfg);
}

void Definitions::flow(const ptx::Function& function, const Cfg& cfg) {
  const auto& blocks = cfg.blocks();
  place_.assign(all_.size(), kNone);
  uint32_t bits = 0;
  for (uint32_t d = 0; d < all_.size(); ++d)
    if (of_[all_[d].reg].size() > 1) place_[d] = bits++;
  words_ = (bits + 63) / 64;
  if (uint64_t{words_} * 64 * blocks.size() > Liveness::kMostBits || work_of(function, of_) > kMostWork) return;
  computed_ = true;
  size_t size = words_ * blocks.size();
  in_.assign(size, 0);
  std::vector<uint64_t> out(size, 0), made(size, 0), kept(size, ~uint64_t{0});
  auto set = [&](std::vector<uint64_t>& in, uint32_t b, uint32_t d, bool value) {
    auto& word = in[b * words_ + place_[d] / 64];
    uint64_t bit = uint64_t{1} << (place_[d] % 64);
    word = value ? word | bit : word & ~bit;
  };
  for (uint32_t d = 0; d < all_.size(); ++d) {  // in statement order, so later definitions of a block override
    if (place_[d] == kNone) continue;
    uint32_t b = cfg.block_of(all_[d].statement);
    if (!all_[d].partial)
      for (uint32_t other : of_[all_[d].reg]) {
        set(made, b, other, false);
        set(kept, b, other, false);
      }
    set(made, b, d, true);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b : cfg.order())
      for (size_t w = 0; w < words_; ++w) {
        uint64_t in = 0;
        for (uint32_t from : blocks[b].predecessors) in |= out[from * words_ + w];
        in_[b * words_ + w] = in;
        uint64_t next = made[b * words_ + w] | (in & kept[b * words_ + w]);
        if (next != out[b * words_ + w]) {
          out[b * words_ + w] = next;
          changed = true;
        }
      }
  }
}

std::vector<uint32_t> Definitions::reaching(uint32_t statement, uint32_t reg) const {
  const auto& defs = of_[reg];
  if (defs.size() <= 1 || !computed_) return defs;
  std::vector<uint32_t> found;
  uint32_t block = cfg_->block_of(statement);
  uint32_t begin = cfg_->blocks()[block].begin;
  for (auto it = defs.rbegin(); it != defs.rend(); ++it) {
    const auto& d = all_[*it];
    if (d.statement < begin || d.statement >= statement) continue;
    found.push_back(*it);
    if (d.partial) continue;
    std::reverse(found.begin(), found.end());
    return found;
  }
  for (uint32_t d : defs)
    if (in_[block * words_ + place_[d] / 64] >> (place_[d] % 64) & 1) found.push_back(d);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

uint32_t Definitions::only(uint32_t statement, uint32_t reg) const {
  auto found = reaching(statement, reg);
  return found.size() == 1 && !all_[found[0]].partial ? found[0] : kNone;
}

void Definitions::find_uses(const ptx::Function& function, const Cfg& cfg) {
  uses_.resize(all_.size());
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    const auto* instruction = function.body[i].instruction();
    if (!instruction || !cfg.reachable(cfg.block_of(i))) continue;
    for (uint32_t reg : register_use(*instruction).reads)
      for (uint32_t d : reaching(i, reg))
        if (uses_[d].empty() || uses_[d].back() != i) uses_[d].push_back(i);
  }
}

}  // namespace ptxlab::analysis
