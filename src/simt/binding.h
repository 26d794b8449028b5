// Which instruction is executed by what: each family of handlers exports a table of these, one line an opcode.
#pragma once
#include <cstddef>

#include "simt/modifiers.h"
#include "simt/op.h"

namespace ptxlab::simt {

// How undefined bits travel through a lanewise instruction (definedness.cc).
enum class Travel : uint8_t {
  whole,        // any undefined source bit makes the whole result undefined
  upward,       // result bits at and above the lowest undefined source bit: sums and low products
  bitwise,      // bit i of the result from bits i of the sources
  conjunction,  // as bitwise, where a defined 0 decides
  disjunction,  // as bitwise, where a defined 1 decides
  move,         // a copy
  shift_left,
  shift_right,
  funnel,
  choose,       // selp: the chosen source, if the predicate is defined
  extract,      // bfe
  insert,       // bfi
  permute,      // prmt
  reverse,      // brev
  convert,      // cvt: integers bit by bit, the rest whole
  halves,       // each 16-bit half by itself
  pack_halves,  // the high half from a, the low one from b
  compare,      // into predicates
  sign,         // neg and abs of floats: bit by bit
};

struct LaneBinding {
  const char* opcode;                    // null: the table's end
  Lanewise (*select)(const Modifiers&);  // null where the form is not executed
  Travel travel;
};

// The handlers compiled for this processor (lanes_v2.cc, lanes_v3.cc, lanes_v4.cc), and those compiled once.
const LaneBinding* lane_bindings();
const LaneBinding* scalar_bindings();

// The levels by name, for tests and benchmarks: "v2", "v3", "v4". False where the processor lacks it.
bool use_lane_level(const char* name);
const char* lane_level();

Rule rule_for(Travel travel, const Modifiers& modifiers);

}  // namespace ptxlab::simt
