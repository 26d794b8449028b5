// The rule "instruction" of a grammar and what it needs, from the rows of the instruction table that a target has.
#pragma once
#include "isa/target.h"
#include "ptx/grammar.h"

namespace ptxlab::ptx {

// Uses the rules "ws", "sp", "ident" and "number" of the grammar.
void add_instructions(const isa::Target& target, isa::PtxVersion version, Grammar& grammar);

}  // namespace ptxlab::ptx
