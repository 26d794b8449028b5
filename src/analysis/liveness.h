// Live registers at the borders of every block, and how many 32-bit registers are live at once: what register
// allocation has to find room for. ptxas schedules and rematerialises, so its figure differs; the block with the peak
// is what the two share.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/cfg.h"

namespace ptxlab::analysis {

class Liveness {
 public:
  Liveness(const ptx::Function& function, const Cfg& cfg);

  bool live_in(uint32_t block, uint32_t reg) const { return test(in_, block, reg); }
  bool live_out(uint32_t block, uint32_t reg) const { return test(out_, block, reg); }
  std::vector<uint32_t> live_in(uint32_t block) const { return list(in_, block); }
  std::vector<uint32_t> live_out(uint32_t block) const { return list(out_, block); }

  // Peak of live 32-bit units inside each block, and of the function.
  const std::vector<uint32_t>& pressure() const { return pressure_; }
  uint32_t peak() const { return peak_; }
  uint32_t peak_block() const { return peak_block_; }
  // False where blocks x registers would not fit in memory (kMostBits): nothing is then live.
  bool computed() const { return computed_; }
  static constexpr uint64_t kMostBits = uint64_t{1} << 31;

 private:
  bool test(const std::vector<uint64_t>& set, uint32_t block, uint32_t reg) const {
    return computed_ && (set[block * words_ + reg / 64] >> (reg % 64) & 1);
  }
  std::vector<uint32_t> list(const std::vector<uint64_t>& set, uint32_t block) const;
  void measure(const ptx::Function& function, const Cfg& cfg);

  size_t words_ = 0;
  bool computed_ = false;
  std::vector<uint64_t> in_, out_;
  std::vector<uint32_t> pressure_;
  uint32_t peak_ = 0, peak_block_ = 0;
};

}  // namespace ptxlab::analysis
