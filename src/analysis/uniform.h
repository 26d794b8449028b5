// Which values are the same for all threads of a group: the basis of scalar reasoning, and of moving work between
// threads.
#pragma once
#include <vector>

#include "analysis/affine.h"
#include "analysis/cfg.h"

namespace ptxlab::analysis {

// Whose threads have to agree.
enum class Group : uint8_t {
  row,   // threads that differ in tid.x alone
  cta,   // threads of one CTA
  line,  // threads that differ in tid.x and ctaid.x alone: what a one-dimensional grid spreads elements over
  grid,  // all threads of a launch
};

// Divergence by data (thread indices, exchanges, atomics, loads from addresses that differ) and by control (values that
// meet below a branch that threads take differently). Conservative: what is called uniform is, provided the program has
// no races.
class Uniform {
 public:
  Uniform(const ptx::Function& function, const Cfg& cfg, const Values& values, Group group);
  bool uniform(const Affine& value) const { return !values_->mentions_any(value, divergent_); }
  bool uniform(ValueId value) const { return uniform(values_->value(value)); }
  bool uniform_atom(AtomId atom) const { return !divergent_[atom]; }
  // Does every thread of the group that reaches the block's end leave it the same way?
  bool uniform_branch(uint32_t block) const { return !divergent_branch_[block]; }

 private:
  const Values* values_;
  std::vector<bool> divergent_;         // by atom
  std::vector<bool> divergent_branch_;  // by block
};

}  // namespace ptxlab::analysis
