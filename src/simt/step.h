// Step handlers: instructions that need more than the registers of their own lane. Each family exports a table, one line an
// opcode; decode.cc looks them up.
#pragma once
#include "simt/binding.h"
#include "simt/machine.h"

namespace ptxlab::isa {
struct Form;
}

namespace ptxlab::simt {

struct StepBinding {
  const char* opcode;  // null: the table's end
  // The handler, or null where the form is not executed. May store what it wants to know in op.mode and op.flags.
  Step (*select)(const isa::Form& form, const Modifiers& modifiers, Op& op);
};

const StepBinding* memory_bindings();    // memory_steps.cc: ld, st, isspacep ...
const StepBinding* atomic_bindings();    // atomics.cc: atom, red
const StepBinding* async_bindings();     // async_copy.cc: cp.async and its groups
const StepBinding* exchange_bindings();  // exchange.cc: shfl, vote, match, redux ...
const StepBinding* matrix_bindings();    // matrix.cc: ldmatrix, stmatrix, movmatrix
const StepBinding* mma_bindings();       // mma.cc
const StepBinding* wmma_bindings();      // wmma.cc
const StepBinding* control_bindings();   // control.cc: exit, ret, call, bar, fences, clocks, div and rem, packing moves

}  // namespace ptxlab::simt
