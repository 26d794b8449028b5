// The instruction table: one row for each syntax line of the PTX manual, written in the manual's notation (rows/*.inc)
// and parsed by consteval code in table.cc alone. All that ptxlab knows of an instruction's form is derived from here:
// keyword lookup, verifier, printer order, the engine's decode, `doctor --isa`, the enumeration of legal forms.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/target.h"
#include "isa/type.h"

namespace ptxlab::isa {

inline constexpr int kMaxSlots = 16;
inline constexpr int kMaxOperands = 8;

// One alternative of a modifier slot: ".ftz", ".v4", ".f32", ".shared::cta".
struct Choice {
  std::string_view token;     // with its dot
  Type type = Type::none;     // where the token names a type
  Space space = Space::none;  // where it names a state space
  Gate gate;                  // when this alternative exists
};

struct Slot {
  std::string_view name;  // as in the row: "rnd", "type", "ss"; for a literal modifier its own word
  bool optional = false;
  std::span<const Choice> choices;
};

enum class Shape : uint8_t {
  value,      // register or immediate (or special register, or symbol address, where the row says so: mov)
  reg,        // register only
  predicate,  // predicate register, `!` allowed where negatable
  address,    // [reg], [reg+imm], [symbol], [symbol+imm], [imm]
  vector,     // {a, b} of the slot `vec`'s length, or a single one where the slot is absent
  label,      // branch target
  symbol,     // function name, variable name
  arguments,  // parenthesised list of call
  immediate,  // constant only
};

// Which width and type a register operand must have.
struct TypeRule {
  enum class Kind : uint8_t { none, slot, fixed, twice_slot } kind = Kind::none;  // twice: the d of mul.wide
  uint8_t slot = 0;
  Type type = Type::none;
  bool relaxed = false;  // ld/st/cvt/mov: a register wider than the type is allowed (manual, "Operand Size Exceeding
                         // Instruction-Type Size")
};

struct OperandSpec {
  std::string_view name;  // d, a, b, c, p, as in the syntax
  Shape shape = Shape::value;
  TypeRule type;
  bool destination = false;
  bool optional = false;
  bool negatable = false;     // !p
  bool sink_allowed = false;  // `_`
  bool pair = false;          // first half of "p|q" in setp, shfl, match: the next spec is the optional second half
};

// What an instruction does beyond computing d from its sources.
struct Effects {
  bool loads = false;
  bool stores = false;
  bool atomic = false;
  bool barrier = false;    // waits for other threads of the CTA
  bool warp_sync = false;  // exchanges values or waits inside a warp
  bool fence = false;
  bool branch = false;
  bool call = false;
  bool ends_thread = false;  // exit, ret in an entry, trap
  bool async = false;        // completes later
  bool approximate = false;  // result only within a documented error
  bool timing = false;       // reads a clock or waits for time
};

struct Row {
  uint16_t id = 0;           // index in rows()
  std::string_view opcode;   // the name's fixed words: "add", "bar", "cp.async.bulk"
  std::string_view syntax;   // the line in the manual's notation
  std::string_view section;  // the manual's section title
  std::span<const Slot> slots;
  std::span<const OperandSpec> operands;
  Effects effects;
  Gate gate;
};

std::span<const Row> rows();
std::span<const Row* const> rows_of(std::string_view opcode);  // empty where the table lacks it
std::span<const std::string_view> opcodes();

// A row with one choice taken in each slot: what an instruction of a program is.
struct Form {
  const Row* row = nullptr;
  std::array<int8_t, kMaxSlots> taken{};  // index into the slot's choices, -1 where absent

  bool has(std::string_view token) const;            // ".ftz"
  std::string_view at(std::string_view slot) const;  // the token taken in that slot, "" where absent
  Type type(int n = 0) const;                        // the n-th taken choice that is a type; none where there is none
  Space space() const;                   // the first taken space; generic where the row has a space slot left out
  int vector_length() const;             // 1, 2, 4, 8
  Gate gate() const;                     // the strictest of the row's and its choices'
  Type operand_type(int operand) const;  // the operand's type rule applied
};

// Matches an instruction's opcode words and modifiers, in source order, against the table. `words` begins with the
// opcode's first word without dot, then each modifier with its dot. More than one form can fit (rows that differ in
// operands only): the verifier picks by operands. No fit: `problem` says why ("unknown modifier '.fzt'", "modifier
// '.sat' does not go with
// '.u32'", "a type is missing"), `word` is the index of the offending word and `suggestion` a certain or likely mend.
struct Match {
  std::vector<Form> forms;
  bool opcode_known = false;
  std::string problem;
  int word = -1;
  std::string suggestion;
};
Match match(std::span<const std::string_view> words);

// The modifiers of a form in the table's order, after the opcode: ".rn.ftz.f32".
std::string spelling(const Form& form);

}  // namespace ptxlab::isa
