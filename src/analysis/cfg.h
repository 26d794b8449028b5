// Control flow of a function: basic blocks over its flat statement list, edges, dominators, post-dominators, natural
// loops. All of it is computed by iteration, so that no input however deep exhausts the stack.
#pragma once
#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::analysis {

inline constexpr uint32_t kNone = ~uint32_t{0};

struct Block {
  uint32_t begin = 0, end = 0;       // statements [begin, end) of Function::body
  std::vector<uint32_t> successors;  // of a conditional branch: the target first, then the block below
  std::vector<uint32_t> predecessors;
  uint32_t terminator = kNone;  // the statement that ends it: bra, brx, ret, exit, trap; kNone: falls through
};

// A natural loop: the blocks that reach a back edge to `header` without leaving it. Loops with one header are one.
struct Loop {
  uint32_t header = 0;
  std::vector<uint32_t> blocks;   // sorted; header included
  std::vector<uint32_t> latches;  // blocks with an edge back to the header
  struct Exit {
    uint32_t from, to;
  };
  std::vector<Exit> exits;
  uint32_t parent = kNone;  // the innermost loop around it, as an index
  uint32_t depth = 1;
  bool contains(uint32_t block) const;
};

class Cfg {
 public:
  explicit Cfg(const ptx::Function& function);

  const std::vector<Block>& blocks() const { return blocks_; }
  // Blocks reachable from the entry (block 0) in reverse post-order.
  const std::vector<uint32_t>& order() const { return order_; }
  bool reachable(uint32_t block) const { return number_[block] != kNone; }
  uint32_t block_of(uint32_t statement) const { return block_of_[statement]; }
  // Immediate dominator; of the entry and of unreachable blocks kNone.
  uint32_t dominator(uint32_t block) const { return dominators_[block]; }
  bool dominates(uint32_t above, uint32_t below) const;  // reflexive
  // Immediate post-dominator; kNone where paths end in different exits, or in none.
  uint32_t post_dominator(uint32_t block) const { return post_dominators_[block]; }
  // Sorted so that a loop comes before those inside it.
  const std::vector<Loop>& loops() const { return loops_; }
  // The innermost loop around a block, or kNone.
  uint32_t loop_of(uint32_t block) const { return loop_of_[block]; }
  // True where some cycle has more than one way in: loops() then misses it.
  bool irreducible() const { return irreducible_; }

 private:
  void split(const ptx::Function& function);
  void connect(const ptx::Function& function);
  void number();
  void find_dominators();
  void find_post_dominators();
  void find_loops();

  std::vector<Block> blocks_;
  std::vector<uint32_t> block_of_, order_, number_, dominators_, depth_, post_dominators_, loop_of_;
  std::vector<Loop> loops_;
  bool irreducible_ = false;
};

}  // namespace ptxlab::analysis
