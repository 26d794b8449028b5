// The place in front of a loop: what is put there is passed by whoever enters the loop, by falling into it or by a jump, and
// by no round of its own.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "rewrite/editor.h"
#include "rewrite/flow.h"
#include "rewrite/vector_code.h"

namespace ptxlab::rewrite {

// Empty where code can be put in front of the loop; else why not.
std::string no_front(const Flow& flow, uint32_t loop);
// Puts it there. Jumps from outside to the loop's header come to it instead.
void put_in_front(const Flow& flow, uint32_t loop, Statements code, Editor& editor, BodyEdit& edit);

// The name of a label at a statement; a new one is put there where there is none.
std::string label_at(const ptx::Function& function, uint32_t statement, Editor& editor, BodyEdit& edit);

// Statements of the loop that compute the same in every round: pure, from what the loop leaves alone, and written once.
std::set<uint32_t> loop_invariants(const Flow& flow, uint32_t loop);
// Is the register, as `statement` reads it, written nowhere in the loop or by one of these?
bool invariant_in(const Flow& flow, uint32_t loop, const std::set<uint32_t>& invariants, uint32_t statement,
                  uint32_t reg);
// Those of `invariants` that `statement` needs for `reg`, in order.
std::vector<uint32_t> invariant_slice(const Flow& flow, uint32_t loop, const std::set<uint32_t>& invariants,
                                      uint32_t statement, uint32_t reg);

}  // namespace ptxlab::rewrite
