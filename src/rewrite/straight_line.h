// Several copies of a straight body as one: every value gets a register of its own, so that what may be executed earlier (the
// loads of later copies, with their addresses) can be moved to the front, where they are in flight together.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewrite/aliasing.h"
#include "rewrite/editor.h"

namespace ptxlab::rewrite {

class StraightLine {
 public:
  // `carried`: registers whose value is wanted behind the copies, or brought into them.
  StraightLine(const Flow& flow, const Aliasing& aliasing, std::set<uint32_t> carried, Editor& editor)
      : flow_(flow), aliasing_(aliasing), carried_(std::move(carried)), e_(editor) {}

  // Appends one more copy of these statements.
  void add(const std::vector<uint32_t>& statements);
  // How many loads can stand at the front.
  size_t movable();
  // Where the value of a register stands behind the copies.
  uint32_t current(uint32_t reg) const {
    auto it = now_.find(reg);
    return it == now_.end() ? reg : it->second;
  }
  // Loads to the front, then the rest in order, then the carried registers set.
  void emit();

 private:
  struct Item {
    ptx::Statement statement;
    uint32_t original = 0;
    std::vector<uint32_t> reads, writes;
    bool early = false;
  };
  void rename(ptx::Operand& operand, bool destination, Item& item);
  void mark_early();
  bool may_move(size_t load) const;

  const Flow& flow_;
  const Aliasing& aliasing_;
  std::set<uint32_t> carried_;
  Editor& e_;
  std::vector<Item> items_;
  std::map<uint32_t, uint32_t> now_;   // the register that holds the value of one of the body's own
  std::map<uint32_t, size_t> writer_;  // by new register: the item
  bool marked_ = false;
};

// Empty where StraightLine can take the statement; else why not.
std::string not_copyable(const ptx::Function& function, uint32_t statement);

}  // namespace ptxlab::rewrite
