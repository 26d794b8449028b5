// The decoded form of an instruction, and the register file that it works on. Plain data: the lane handlers are compiled
// several times for different processors and must share nothing but this with the rest of the program.
//
// A register is a slot of 32 lanes of 32 bits; registers of 64 bits take two slots. Narrower registers use the low bits of
// a lane, and whoever reads one ignores the rest. A predicate is a lane mask in the first word of its slot. Immediates,
// addresses and special registers are slots too, filled when the frame is made, so that a handler knows slots only.
//
// Definedness: `shadow` has the layout of `values`; a set bit says that the value's bit is undefined. `taint` says for
// each slot which lanes have any undefined bit, and a lane's shadow counts only where its taint bit is set. So defined
// code costs a few mask operations an instruction and never touches the shadows.
#pragma once
#include <cstdint>

#include "isa/type.h"
#include "simt/modifiers.h"

namespace ptxlab::simt {

using LaneMask = uint32_t;
inline constexpr int kLanes = 32;
inline constexpr LaneMask kAllLanes = ~LaneMask{0};
inline constexpr uint32_t kSlotBytes = 128;

// Slots with a fixed meaning: 64 bits of zero that are always defined, and 64 bits that nobody reads.
inline constexpr uint32_t kZeroSlot = 0;
inline constexpr uint32_t kSinkSlot = 2;
inline constexpr uint32_t kFirstSlot = 4;

struct Registers {
  uint8_t* values = nullptr;
  uint8_t* shadow = nullptr;
  LaneMask* taint = nullptr;
  uint32_t* origin = nullptr;  // a slot's: 1 + the id of the instruction that made it undefined; 0: never written
  uint8_t* dirty = nullptr;    // a slot's shadow is not all ones
};

template <class T>
inline __attribute__((always_inline)) T* lanes(const Registers& registers, uint32_t slot) {
  return reinterpret_cast<T*>(registers.values + uint64_t{slot} * kSlotBytes);
}
inline __attribute__((always_inline)) LaneMask predicate(const Registers& registers, uint32_t slot) {
  return *lanes<LaneMask>(registers, slot);
}

struct Op;
struct Context;

enum class Flow : uint8_t {
  next,   // go on behind the instruction
  jump,   // the handler has set the split's pc
  wait,   // the split waits, or is gone; another one has to run
  fault,  // the launch ends
};

using Lanewise = void (*)(const Op&, const Registers&, LaneMask active);
using Step = Flow (*)(Context&, const Op&, LaneMask active);
using Rule = void (*)(const Op&, const Registers&, LaneMask active);

// How the interpreter's loop treats an instruction.
enum class OpKind : uint8_t {
  lanewise,  // each lane for itself, registers only: `lanewise`, with `rule` for definedness
  step,      // memory, exchange between lanes, control: `step`, which looks after definedness itself
  branch,    // to `target`
};

enum FloatFlags : uint8_t { kFlush = 1, kSaturate = 2, kRelu = 4, kNanWins = 8, kOutOfBounds = 16 };

struct Op {
  Lanewise lanewise = nullptr;
  Step step = nullptr;
  Rule rule = nullptr;
  // Slots: destination and second destination; sources in written order. An address operand's base is `a`.
  uint32_t d = kSinkSlot, d2 = kSinkSlot, a = kZeroSlot, b = kZeroSlot, c = kZeroSlot, e = kZeroSlot;
  uint32_t guard = kZeroSlot;
  uint32_t target = 0;   // branch
  int64_t offset = 0;    // of an address; else what the handler wants to know (a relation set, a look-up table)
  int64_t offset_b = 0;  // of a second address, whose base is `b`
  const Modifiers* modifiers = nullptr;
  uint32_t list = 0;  // vector operands: first index into Code::lists, `count` slots
  uint16_t count = 0;
  OpKind kind = OpKind::lanewise;
  bool guarded = false;
  bool guard_negated = false;
  bool negate_a = false;  // `!` on a predicate operand
  bool negate_c = false;
  bool d_wide = false, a_wide = false, b_wide = false, c_wide = false;  // slots of 64-bit lanes
  uint8_t bits = 32;                                                    // of the instruction's type
  uint8_t result_bits = 32;                                             // of the destination's
  bool is_signed = false;
  isa::Space space = isa::Space::none;
  uint8_t mode = 0;        // what the handler wants to know
  uint8_t flags = 0;       // FloatFlags
  uint32_t id = 0;         // unique in the kernel's image: counters and origins
  uint32_t statement = 0;  // in Function::body
};

}  // namespace ptxlab::simt
