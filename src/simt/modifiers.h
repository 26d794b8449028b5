// An instruction's modifiers as plain data: what handlers are chosen by. Read from the table's form once, at decode.
#pragma once
#include <cstdint>

#include "isa/type.h"

namespace ptxlab::isa {
struct Form;
}

namespace ptxlab::simt {

enum class Rounding : uint8_t { none, nearest_even, zero, down, up, nearest_away };
enum class Part : uint8_t { none, lo, hi, wide };
enum class Combine : uint8_t { none, conjunction, disjunction, exclusive };

// A comparison as the set of outcomes that make it true.
enum Relation : uint8_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

struct Modifiers {
  isa::Type type = isa::Type::none, second = isa::Type::none, third = isa::Type::none;  // as written
  isa::Space space = isa::Space::none;
  uint8_t vector = 1;
  Rounding rounding = Rounding::none;
  bool to_integer = false;  // .rni .rzi .rmi .rpi
  Part part = Part::none;
  Combine combine = Combine::none;
  uint8_t relation = 0;
  bool unsigned_relation = false;  // lo ls hi hs
  bool ftz = false, sat = false, satfinite = false, relu = false, approx = false, full = false;
  bool nan = false, xorsign = false, absolute = false, carry_out = false, oob = false;
  bool pack = false;                                      // cvt.pack
  bool wrap = false, left = false, shift_amount = false;  // shf, bfind
  uint8_t packed_bits = 0;                                // cvt.pack to .u2 and .s2, which are no types of registers
  bool packed_signed = false;
  uint8_t sources = 0;                  // operands of the row that are read
  bool d_wide = false, a_wide = false;  // registers of 64 bits as first destination, first source
  // A modifier that changes a result and that no field here stands for: only handlers that look for it may take it.
  bool other = false;
};

Modifiers modifiers_of(const isa::Form& form);

}  // namespace ptxlab::simt
