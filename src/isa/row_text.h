// How a row of the instruction table is written. Three strings: the syntax line, the sets of alternatives, the notes.
//
//   {"add{.rnd}{.ftz}{.sat}.f32 d, a, b;", ".rnd = { .rn, .rz, .rm, .rp }", ""}
//   {"ld.global{.cop}.nc{.vec}.type d:~, [a];", ".cop = { ... }; .vec = { .v2, .v4, .v8 @8.8:sm_100f }", "loads;
//   @3.2:sm_32"}
//
// Syntax: the manual's. `.word` is a modifier, `{.word}` an optional one; a word that the sets define is a slot, any
// other stands for itself. The opcode's name is its first word; where it has more (`cp.async.bulk`), a space ends it:
// "cp.async.bulk .dst.src [dst], [src], size, [mbar];", "exit ;".
//
// Operands, separated by commas; `{, b}` is optional, `a|b` a pair, `a[|b]` one whose second half may be missing,
// `{!}a` negatable,
// `[a]` an address, `[a{}]` an address that takes coordinates, `(a)` call arguments. The first one is a destination if
// its name begins with d or p, and both halves of a pair are. p and q are predicates, `_` is a sink only. Behind the
// name may follow, in this order:
//   /_          the sink `_` is allowed
//   +           the destination's old value is read too
//   :RULE       .SLOT the type taken in that slot; .SLOT*2 twice its width; .TYPE a fixed type; imm, label, symbol;
//               for an address, .SLOT or .SPACE of its state space; no rule: for d and a of cvt-like rows the slot
//               `dtype`/`atype` (operand name + "type"), else the slot `type`, else the row's only slot with types
//   [N]         a vector {..} of N elements of that type; [vec], [vec*2]: as the slot `vec` says; [n/2]: the N of the
//               slot `shape` over 2
//   ~           a wider register is allowed
//   &           special registers and symbols are allowed (mov)
//   !           register only: no immediate
//   ?SLOT       the operand is there exactly when the modifier of that slot is (`?hint`)
//   <RANGE>     which constants are legal: <0..15>, <32..1024%32> (steps of 32), <4..16*2> (4, 8, 16), <128>
//   =SAMPLE     what an enumeration writes here, where not every name is legal
//
// Sets: ".name = { .a, .b @GATE, ... };" separated by `;`.
// GATE: "7.8:sm_90" first PTX version and target; either may be missing ("7.8", ":sm_90a"); several targets with
// suffixes are joined by `|`; "-6.4:sm_70" says removed from 6.4 on for sm_70 and later, and may follow the others
// after a space; "7.8:sm_90 8.1:sm_89" says that from 8.1 on sm_89 is enough.
//
// Notes, separated by `;`: "@GATE" of the row; effects by their name in Effects; constraints:
//   needs(WHEN: THEN)     where all of WHEN hold, one of THEN must
//   excludes(WHEN: THEN)  ... none of THEN may
//   since(WHEN @GATE)     ... the gate applies too
// WHEN and THEN are lists separated by blanks of `.token`, `.a|.b` (either), `.slot` (anything in that slot),
// `slot=.token|.token`, each with `!` in front for "not taken".
#pragma once
#include <string_view>

namespace ptxlab::isa {

// A text whose syntax is empty opens a section of the manual: its title is in `sets`.
struct RowText {
  std::string_view syntax;
  std::string_view sets;
  std::string_view notes;
};

}  // namespace ptxlab::isa
