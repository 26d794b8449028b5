// Recognises code that does the same independent work for each element of a range, spread over threads: a loop with the
// stride of the CTA ("for (i = tid; i < n; i += ntid)") or of the grid, or the body of "if (i < n)" with one element a
// thread. What is recognised may be re-mapped: which thread works on which element does not matter, up to the order of
// reductions.
//
// What makes that true, and is checked here:
//   - the body depends on the thread through the element's index alone (everything else is uniform over the threads
//   that
//     share the range), exchanges nothing with other threads, and ends by falling out at its end;
//   - an element's stores are to its own elements; nothing that the body reads is written by it elsewhere, and what
//   other
//     code of the kernel writes or reads of the same memory lies behind a barrier;
//   - what the loop carries around is a reduction (add, mul, min, max, and, or, xor, fma's addend) whose result is
//   combined
//     with that of other threads.
// Taken for granted: different pointer parameters do not overlap, unless the plan passes one buffer twice; 32-bit
// indices do not wrap.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "rewrite/flow.h"

namespace ptxlab::rewrite {

struct ElementAccess {
  uint32_t statement = 0;
  bool store = false;
  uint32_t bytes = 0;  // of one element, all lanes together
  uint32_t lanes = 1;  // 2 or 4 where the body's own access is a vector already
  // By lane: loaded into, or stored from; kNone: an immediate, or a lane that nobody wants.
  std::vector<uint32_t> value_regs;
  uint32_t address_reg = 0;
  int64_t offset = 0;
  // Constant part of the address beyond the base, in bytes: has to be a multiple of the vector.
  uint32_t group_shift = 0;
};

struct ElementRegion {
  enum class Shape : uint8_t { cta_stride, grid_stride, guarded };
  Shape shape = Shape::cta_stride;
  // New code goes before statement `insert_at`; where it has done the work it jumps to the block that begins at
  // `exit_at`.
  uint32_t insert_at = 0, exit_at = 0;
  uint32_t loop = analysis::kNone;  // whose header is at insert_at
  // The original's own statements for this work are [insert_at, covered_end): they go where the body was guarded, and
  // stay for what the guards refuse where it was a loop.
  uint32_t covered_end = 0;
  // Statements of [insert_at, covered_end) that set up the loop's registers, where the loop stands behind a prologue.
  std::vector<uint32_t> setup;
  std::vector<uint32_t> body;           // statements to copy for each element, in order
  std::set<std::string> inner_labels;   // defined in the body
  std::vector<std::string> end_labels;  // branch targets that mean "this element is done"
  uint32_t index_reg = 0;               // the element's index, set before each copy of the body
  // The index of element e is e times this: "for (i = 4 * tid; i < n; i += 4 * ntid)".
  int64_t index_scale = 1;
  bool index_signed = false;
  int index_bits = 32;
  ptx::Operand bound;  // i < bound; register or number, valid at insert_at
  ptx::Operand step;   // loops: register or number of threads that share the range
  // Predicates that hold for all elements of a row alike and under which a thread has nothing to do: guards on other
  // indices ("row >= rows").
  struct LeaveIf {
    uint32_t reg;
    bool negated;
  };
  std::vector<LeaveIf> leave_if;
  uint32_t threads = 0;  // where the step or the index has the CTA's size built in: that size; else 0
  struct Pointer {
    uint32_t reg;
    int64_t stride;  // bytes from one element to the next
  };
  std::vector<Pointer> pointers;  // registers that move along with the index
  std::vector<uint32_t> accumulators;
  bool float_accumulators = false;
  bool only_writer = true;              // no code outside it writes memory that outlives the CTA
  std::vector<ElementAccess> accesses;  // those that neighbours make adjacent; the others stay as they are
  std::vector<uint32_t> address_slice;  // statements of the body that compute their addresses, in order
};

struct Recognised {
  std::vector<ElementRegion> regions;
  std::vector<std::string> rejected;  // "loop at $L__BB0_2: ...": for the note
};

// `launch`: how the plan launches the function (arguments that name one buffer twice, constant block sizes).
Recognised recognise(const Flow& flow, const launch::Launch& launch);

}  // namespace ptxlab::rewrite
