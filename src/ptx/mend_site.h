// What a mend is looked for: one finding, and the function, statement and instruction that it points into.
#pragma once
#include <cstdint>
#include <vector>

#include "ptx/codes.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {

using Edits = std::vector<base::Edit>;

struct Site {
  const Module& module;
  const base::Finding& finding;
  Span span;                                 // of the finding
  const Function* function = nullptr;        // null at module level
  const Statement* statement = nullptr;      // null where the statement could not be read
  const Instruction* instruction = nullptr;  // null where the statement is none
  bool is(Code code) const { return finding.code == spelling(code); }
};

// Finds places in a checked module.
class Sites {
 public:
  explicit Sites(const Module& module);
  Site at(const base::Finding& finding) const;
  uint32_t offset(const base::Place& place) const;

 private:
  const Module& module_;
  std::vector<uint32_t> line_starts_;
};

// What a function's legal instructions say of its registers, for those whose declared type does not: .b32 %r1 holds a float
// where add.f32 reads it.
class Uses {
 public:
  Uses(const Module& module, const Function& function);
  // Whether a value of `type` in register `reg` agrees with the other uses of it.
  bool agrees(uint32_t reg, isa::Type type) const;
  // Whether `reg` is computed from the address of a shared variable.
  bool from_shared(uint32_t reg) const { return held_[reg].shared; }

 private:
  struct Held {
    bool floating = false, integer = false, shared = false;
  };
  void follow_shared(const Module& module, const Function& function);

  std::vector<Held> held_;
};

}  // namespace ptxlab::ptx
