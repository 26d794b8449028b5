// Recognises a loop that runs until an index reaches a bound, and says at run time whether U more rounds are due. Unlike
// element_region.h it asks nothing about threads: the rounds stay where they are and in their order.
//
//   bottom-tested: HEADER: body; add i, i, step; setp.lt p, i, n; @p bra HEADER; EXIT:
//   top-tested:    HEADER: setp.ge p, i, n; @p bra EXIT; body; add i, i, step; bra HEADER; EXIT:
//
// also with <=, with != (counting up or down to an exact end), and with an index that falls. Everything is exact in the
// registers' own width: nothing is taken for granted about wrapping.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewrite/editor.h"
#include "rewrite/flow.h"

namespace ptxlab::rewrite {

struct CountedLoop {
  uint32_t loop = 0;            // index into Cfg::loops()
  uint32_t begin = 0, end = 0;  // its statements; nothing else stands between
  bool bottom_tested = true;
  bool straight = false;  // one path through the body
  uint32_t branch = 0;    // the conditional branch that goes on or leaves
  uint32_t back = 0;      // the branch back to the header; the same where bottom-tested
  bool taken_continues = true;
  uint32_t exit_at = 0;    // statement where control goes on afterwards
  uint32_t index_reg = 0;  // its value at the header; "i + (rounds - 1) * step < bound" means `rounds` more rounds
  enum class Test : uint8_t { less, less_equal, unequal };
  Test test = Test::less;
  bool falls = false;  // counts down: the test is then i > bound, and step is what is taken away
  bool is_signed = true;
  int bits = 32;
  ptx::Operand bound, step;  // registers that the loop leaves alone, or numbers; a number is positive
};

// Why not: the first thing that is missing, with its PTX line.
struct CountedLoops {
  std::vector<CountedLoop> loops;
  std::vector<std::string> rejected;
};
// Innermost loops only.
CountedLoops counted_loops(const Flow& flow);

// Emits the checks that a loop of `rounds` rounds at a time needs. `prepare` goes in front of it once and jumps to
// `otherwise` where rounds cannot be counted (a step that is not positive, a bound near the type's end). `unless_due` goes
// at its top and jumps to `otherwise` unless `rounds` more rounds are due.
class RoundsCheck {
 public:
  RoundsCheck(const CountedLoop& loop, int rounds, Editor& editor) : loop_(loop), rounds_(rounds), e_(editor) {}
  void prepare(const std::string& otherwise);
  void unless_due(const std::string& otherwise);

 private:
  uint32_t wide(const ptx::Operand& operand);
  std::string spelt(const ptx::Operand& operand) const;
  const CountedLoop& loop_;
  int rounds_;
  Editor& e_;
  uint32_t limit_ = 0;
};

}  // namespace ptxlab::rewrite
