// The legal forms of the table written out as PTX: what a test runs through ptxas to find rows that allow too much, and
// what grammars and generators draw from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/table.h"

namespace ptxlab::isa {

// Forms of a row whose choices break no constraint: all of them where there are at most `limit`, else a sample (fixed
// by `seed`) in which each pair of neighbouring choices that is legal somewhere is likely to occur.
std::vector<Form> forms_of(const Row& row, size_t limit, uint64_t seed = 1);

// How the operands of a form are written.
struct OperandStyle {
  bool optional = true;  // optional operands and second halves of pairs are there
  int immediate = -1;    // this operand (of shape value) is a constant
  bool typed = false;    // registers of the operand's own type (.s32, .f16) instead of bits
  bool sink = false;     // `_` where it is allowed
  bool negate = false;   // `!` where it is allowed
  int replaced = -1;  // this slot's modifier is written as `by`, operands of its type included: to make illegal forms
  Choice by;
};

// One line, with its semicolon, on the registers and symbols that frame() declares; "" where the style makes no sense
// for the form.
std::string instruction_text(const Form& form, const OperandStyle& style = {});

// A module with one entry whose body is `lines`, each on a line of its own. `first_line` receives the line number of
// the first.
std::string frame(const std::vector<std::string>& lines, PtxVersion version, const Target& target,
                  uint32_t& first_line);

// A PTX version and target that the gate admits: the newest version up to `newest`, and the lowest target that is
// `at_least` so high, or the highest one where none is.
struct Setting {
  PtxVersion version = 0;
  Target target;
};
Setting setting_for(const Gate& gate, PtxVersion newest, uint16_t at_least);

}  // namespace ptxlab::isa
