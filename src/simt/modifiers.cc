#include "simt/modifiers.h"

#include <iterator>
#include <string_view>

#include "isa/table.h"

namespace ptxlab::simt {
namespace {

struct Word {
  std::string_view token;
  void (*apply)(Modifiers&);
};

constexpr Word kWords[] = {
    {".rn", [](Modifiers& m) { m.rounding = Rounding::nearest_even; }},
    {".rz", [](Modifiers& m) { m.rounding = Rounding::zero; }},
    {".rm", [](Modifiers& m) { m.rounding = Rounding::down; }},
    {".rp", [](Modifiers& m) { m.rounding = Rounding::up; }},
    {".rna", [](Modifiers& m) { m.rounding = Rounding::nearest_away; }},
    {".rni", [](Modifiers& m) { m.rounding = Rounding::nearest_even, m.to_integer = true; }},
    {".rzi", [](Modifiers& m) { m.rounding = Rounding::zero, m.to_integer = true; }},
    {".rmi", [](Modifiers& m) { m.rounding = Rounding::down, m.to_integer = true; }},
    {".rpi", [](Modifiers& m) { m.rounding = Rounding::up, m.to_integer = true; }},
    {".lo", [](Modifiers& m) { m.part = Part::lo; }},
    {".hi", [](Modifiers& m) { m.part = Part::hi; }},
    {".wide", [](Modifiers& m) { m.part = Part::wide; }},
    {".ftz", [](Modifiers& m) { m.ftz = true; }},
    {".sat", [](Modifiers& m) { m.sat = true; }},
    {".satfinite", [](Modifiers& m) { m.satfinite = true; }},
    {".relu", [](Modifiers& m) { m.relu = true; }},
    {".approx", [](Modifiers& m) { m.approx = true; }},
    {".full", [](Modifiers& m) { m.full = true; }},
    {".NaN", [](Modifiers& m) { m.nan = true; }},
    {".xorsign", [](Modifiers& m) { m.xorsign = true; }},
    {".abs", [](Modifiers& m) { m.absolute = true; }},
    {".oob", [](Modifiers& m) { m.oob = true; }},
    {".cc", [](Modifiers& m) { m.carry_out = true; }},
    {".wrap", [](Modifiers& m) { m.wrap = true; }},
    {".clamp", [](Modifiers& m) { m.wrap = false; }},
    {".l", [](Modifiers& m) { m.left = true; }},
    {".r", [](Modifiers& m) { m.left = false; }},
    {".u2", [](Modifiers& m) { m.packed_bits = 2; }},
    {".s2", [](Modifiers& m) { m.packed_bits = 2, m.packed_signed = true; }},
    {".pack", [](Modifiers& m) { m.pack = true; }},
    {".shiftamt", [](Modifiers& m) { m.shift_amount = true; }},
};
constexpr Word kRelations[] = {
    {".eq", [](Modifiers& m) { m.relation = kEqual; }},
    {".ne", [](Modifiers& m) { m.relation = kLess | kGreater; }},
    {".lt", [](Modifiers& m) { m.relation = kLess; }},
    {".le", [](Modifiers& m) { m.relation = kLess | kEqual; }},
    {".gt", [](Modifiers& m) { m.relation = kGreater; }},
    {".ge", [](Modifiers& m) { m.relation = kGreater | kEqual; }},
    {".lo", [](Modifiers& m) { m.relation = kLess, m.unsigned_relation = true; }},
    {".ls", [](Modifiers& m) { m.relation = kLess | kEqual, m.unsigned_relation = true; }},
    {".hi", [](Modifiers& m) { m.relation = kGreater, m.unsigned_relation = true; }},
    {".hs", [](Modifiers& m) { m.relation = kGreater | kEqual, m.unsigned_relation = true; }},
    {".equ", [](Modifiers& m) { m.relation = kEqual | kUnordered; }},
    {".neu", [](Modifiers& m) { m.relation = kLess | kGreater | kUnordered; }},
    {".ltu", [](Modifiers& m) { m.relation = kLess | kUnordered; }},
    {".leu", [](Modifiers& m) { m.relation = kLess | kEqual | kUnordered; }},
    {".gtu", [](Modifiers& m) { m.relation = kGreater | kUnordered; }},
    {".geu", [](Modifiers& m) { m.relation = kGreater | kEqual | kUnordered; }},
    {".num", [](Modifiers& m) { m.relation = kLess | kEqual | kGreater; }},
    {".nan", [](Modifiers& m) { m.relation = kUnordered; }},
};
constexpr Word kCombinations[] = {
    {".and", [](Modifiers& m) { m.combine = Combine::conjunction; }},
    {".or", [](Modifiers& m) { m.combine = Combine::disjunction; }},
    {".xor", [](Modifiers& m) { m.combine = Combine::exclusive; }},
};
// Slots whose words handlers read from the form themselves.
constexpr std::string_view kReadElsewhere[] = {"mode", "op", "vec"};

bool apply(std::span<const Word> words, std::string_view token, Modifiers& m) {
  for (const Word& word : words) {
    if (word.token != token) continue;
    word.apply(m);
    return true;
  }
  return false;
}

}  // namespace

Modifiers modifiers_of(const isa::Form& form) {
  Modifiers m;
  m.type = form.type(0);
  m.second = form.type(1);
  m.third = form.type(2);
  m.space = form.space();
  m.vector = static_cast<uint8_t>(form.vector_length());
  for (const isa::OperandSpec& operand : form.row->operands) m.sources += !operand.destination;
  for (size_t i = 0; i < form.row->slots.size(); ++i) {
    if (form.taken[i] < 0) continue;
    const isa::Slot& slot = form.row->slots[i];
    const isa::Choice& choice = slot.choices[static_cast<size_t>(form.taken[i])];
    if (choice.type != isa::Type::none || choice.space != isa::Space::none) continue;
    bool known = slot.name == "cmp"    ? apply(kRelations, choice.token, m)
                 : slot.name == "bool" ? apply(kCombinations, choice.token, m)
                                       : apply(kWords, choice.token, m);
    for (std::string_view name : kReadElsewhere) known |= slot.name == name;
    m.other |= !known;
  }
  return m;
}

}  // namespace ptxlab::simt
