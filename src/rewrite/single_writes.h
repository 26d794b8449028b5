// Registers that one statement writes, and that before every read: in this respect code is as if in static single assignment
// form, and values can be reasoned about by name. Most of what compilers emit is; what is not is left alone.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "rewrite/flow.h"

namespace ptxlab::rewrite {

class SingleWrites {
 public:
  explicit SingleWrites(const Flow& flow) : flow_(flow) {
    // Registers of an inner block (inline assembly) mean nothing outside, and may hide one of the same name.
    int depth = 0;
    for (const auto& statement : flow.function.body) {
      if (std::holds_alternative<ptx::BlockBegin>(statement.what)) ++depth;
      if (std::holds_alternative<ptx::BlockEnd>(statement.what)) --depth;
      const auto* declaration = std::get_if<ptx::RegisterDeclaration>(&statement.what);
      if (!declaration || depth == 0) continue;
      for (const auto& item : declaration->items)
        for (const auto& reg : flow.function.registers)
          if (reg.name == item.name || (item.bank && reg.name.starts_with(item.name))) inner_.insert(reg.name);
    }
  }
  // The statement that writes the register; kNone where there are several, or one that is guarded.
  uint32_t writer(uint32_t reg) const {
    if (inner_.count(flow_.function.registers[reg].name)) return analysis::kNone;
    const auto& of = flow_.definitions.of(reg);
    if (of.size() != 1 || flow_.definitions.all()[of[0]].partial) return analysis::kNone;
    return flow_.definitions.all()[of[0]].statement;
  }
  // Is `first` executed before `second` on every way there?
  bool before(uint32_t first, uint32_t second) const {
    uint32_t a = flow_.cfg.block_of(first), b = flow_.cfg.block_of(second);
    return a == b ? first < second : flow_.cfg.dominates(a, b);
  }
  // Does the register hold, wherever `statement` is executed, what its one writer wrote last?
  bool known_at(uint32_t statement, uint32_t reg) const {
    uint32_t w = writer(reg);
    return w != analysis::kNone && before(w, statement);
  }
  // Is it read only where its writer has been?
  bool known_at_uses(uint32_t reg) const {
    uint32_t w = writer(reg);
    if (w == analysis::kNone) return false;
    for (uint32_t use : flow_.definitions.uses(flow_.definitions.of(reg)[0]))
      if (!before(w, use)) return false;
    return true;
  }

 private:
  const Flow& flow_;
  std::set<std::string> inner_;
};

}  // namespace ptxlab::rewrite
