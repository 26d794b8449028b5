// Which accesses of a kernel can touch the same memory, and who else may see them: what every rule has to know that moves
// or drops a load or store. A compiler that has only the kernel must take two pointers for one; here the plan says which
// buffers it passes.
//
// Taken for granted: what a plan passes as two buffers are two buffers.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "rewrite/flow.h"

namespace ptxlab::rewrite {

// "'ld.global.u16' in line 425": for messages.
std::string place(const ptx::Function& function, uint32_t statement);
// The PTX line of the first instruction at or behind a statement; 0 where there is none.
uint32_t line_at(const ptx::Function& function, uint32_t statement);

// The buffer ("buffer x") or variable an access is based on, as far as kernel and plan tell them apart; "" unknown.
std::string base_of(const analysis::MemoryAccess& access, const launch::Launch& launch);

// The buffers or variables that it may be based on: several where the kernel chooses a pointer among its parameters ("of_q ?
// q : k"). Nothing where that is not known.
std::optional<std::set<std::string>> bases_of(const Flow& flow, const analysis::MemoryAccess& access,
                                              const launch::Launch& launch);

// The launches of one entry, in the plan's order.
std::vector<const launch::Launch*> launches_of(const ptx::Module& module, const launch::Plan& plan,
                                               const ptx::Function& entry);

class Aliasing {
 public:
  // `flow` and the plan have to outlive it.
  Aliasing(const Flow& flow, std::vector<const launch::Launch*> launches)
      : flow_(flow), launches_(std::move(launches)) {}

  // Can some thread's `a` touch what some thread's `b` touches, in any of the launches?
  bool may_overlap(const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) const;
  // Do both, executed by one thread with the same register values, touch disjoint bytes for sure? (Same base, constant
  // distance.)
  bool disjoint_now(const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) const;
  // A load that the program says nobody writes behind: .nc, .const.
  bool never_written(const analysis::MemoryAccess& access) const;
  // Buffers that the kernel writes; nothing where some store's target is not known.
  std::optional<std::set<std::string>> written(const launch::Launch& launch) const;
  const std::vector<const launch::Launch*>& launches() const { return launches_; }

 private:
  const Flow& flow_;
  std::vector<const launch::Launch*> launches_;
};

// How an instruction is ordered with other threads: such ones, and everything across them, stay where they are.
// "" where it is not; else in words: "waits for or exchanges with other threads".
std::string ordering_of(const ptx::Instruction& instruction);

// A weak load or store with no more than type, vector and cache words: may be moved or dropped as any other.
bool plain_access(const ptx::Instruction& instruction);

// Writes one register from its operands alone, the same whenever and wherever it is executed: no memory, no exchange, no
// clock, no carry flag, no guard.
bool pure(const ptx::Instruction& instruction);

}  // namespace ptxlab::rewrite
