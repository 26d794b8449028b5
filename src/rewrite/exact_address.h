// 64-bit registers as sums of other registers times numbers, modulo 2^64: exact whatever wraps, unlike analysis/affine.h, which
// takes 32-bit indices for whole numbers. What says that two addresses are a constant apart for certain.
//
// 32-bit arithmetic is seen through only where its result is known to fit: built of thread and CTA indices, masks and shifts.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "rewrite/single_writes.h"

namespace ptxlab::rewrite {

struct ExactSum {
  uint64_t constant = 0;
  std::map<uint32_t, uint64_t> terms;  // register: factor, never 0
  friend bool operator==(const ExactSum&, const ExactSum&) = default;
};

class ExactAddresses {
 public:
  explicit ExactAddresses(const Flow& flow) : flow_(flow), single_(flow) {}
  // What `statement` reads from a 64-bit register; the register itself where no more is known.
  ExactSum sum_of(uint32_t statement, uint32_t reg);
  const SingleWrites& single() const { return single_; }

 private:
  std::optional<ExactSum> of_writer(uint32_t writer, int depth);
  std::optional<ExactSum> operand(uint32_t statement, const ptx::Operand& operand, int depth);
  // A 32-bit register widened without sign, where it is a sum that cannot wrap; and the largest value that it can have.
  std::optional<std::pair<ExactSum, uint64_t>> narrow(uint32_t statement, const ptx::Operand& operand, int depth);
  const Flow& flow_;
  SingleWrites single_;
};

}  // namespace ptxlab::rewrite
