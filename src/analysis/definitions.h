// Reaching definitions: for each read of a register the instructions that may have written the value, and the uses of
// each definition. Registers written once (most of what compilers emit) need no data flow; the sets hold the others
// only.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/cfg.h"

namespace ptxlab::analysis {

struct Definition {
  uint32_t statement = 0;
  uint32_t reg = 0;
  bool partial = false;  // guarded: earlier definitions reach past it
};

class Definitions {
 public:
  Definitions(const ptx::Function& function, const Cfg& cfg);

  const std::vector<Definition>& all() const { return all_; }
  // Definitions of `reg` that may reach the read in `statement`, as indices into all(), sorted. Empty: never written
  // before.
  std::vector<uint32_t> reaching(uint32_t statement, uint32_t reg) const;
  // The definition, where exactly one reaches and it is not guarded; else kNone.
  uint32_t only(uint32_t statement, uint32_t reg) const;
  // Statements that may read what this definition wrote, sorted.
  const std::vector<uint32_t>& uses(uint32_t definition) const { return uses_[definition]; }
  // Every definition of a register.
  const std::vector<uint32_t>& of(uint32_t reg) const { return of_[reg]; }
  // False where the sets would take too much memory or time: reaching() then answers with every definition, uses() with
  // none.
  bool computed() const { return computed_; }

 private:
  void flow(const ptx::Function& function, const Cfg& cfg);
  void find_uses(const ptx::Function& function, const Cfg& cfg);

  const Cfg* cfg_ = nullptr;
  std::vector<Definition> all_;
  std::vector<std::vector<uint32_t>> of_, uses_;
  std::vector<uint32_t> place_;  // a definition's bit in the sets; kNone for a register written once
  std::vector<uint64_t> in_;
  size_t words_ = 0;
  bool computed_ = false;
};

}  // namespace ptxlab::analysis
