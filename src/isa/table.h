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
inline constexpr int kMaxOperands = 10;

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
  bool fixed = false;            // must stand right behind the name, before every modifier that is not fixed
  bool behind_previous = false;  // must not stand before the slot before it
  std::span<const Choice> choices;
};

enum class Shape : uint8_t {
  value,      // register or immediate; where `names_symbol`, also a special register or a symbol's address: mov
  reg,        // register only
  predicate,  // predicate register, `!` allowed where negatable
  address,    // [reg], [reg+imm], [symbol], [symbol+imm], [imm]; with `coordinates` also [a, {x, y}]
  vector,  // {a, b}: `lanes` elements, or where `lanes` is 0 as many as the slot `vec` says, a single one where that is
           // absent
  label,   // branch target
  symbol,  // function name, variable name
  arguments,  // parenthesised list of call
  immediate,  // constant only
};

// Which width and type a register operand must have.
struct TypeRule {
  enum class Kind : uint8_t { none, slot, fixed, twice_slot } kind = Kind::none;  // twice: the d of mul.wide
  uint8_t slot = 0;
  Type type = Type::none;
  // ld/st/cvt: a register wider than the type is allowed (manual, "Operand Size Exceeding Instruction-Type Size").
  bool relaxed = false;
};

// Which constants an operand may be: low, low + step ... high, or low, 2 low, 4 low ... high. No limit where step is 0.
struct ConstantRange {
  int64_t low = 0;
  int64_t high = 0;
  uint32_t step = 0;
  bool doubling = false;
  constexpr bool admits(int64_t value) const {
    if (step == 0) return true;
    if (value < low || value > high) return false;
    if (!doubling) return (value - low) % step == 0;
    while (value > low && value % 2 == 0) value /= 2;
    return value == low;
  }
};

struct OperandSpec {
  std::string_view name;  // d, a, b, c, p, as in the syntax
  Shape shape = Shape::value;
  TypeRule type;
  uint8_t lanes = 0;  // vector: how many elements; 0: as many as the slot `vec` says, times `vec_times`
  uint8_t vec_times = 1;
  uint8_t n_divisor = 0;      // not 0: the N of the slot `shape` (.m64n128k16) over this many elements
  int8_t space_slot = -1;     // address: the slot that names its space; -1: `space`, or generic
  Space space = Space::none;  // address: its space where the row fixes it
  int8_t present_with =
      -1;  // the slot whose modifier brings this optional operand: a policy with .L2::cache_hint; -1: none
  std::string_view sample;  // what an enumeration writes here, where not every name is legal; may be empty
  ConstantRange constants;  // which constants are legal here
  bool destination = false;
  bool reads_too = false;  // a destination whose old value counts (the accumulator of wgmma)
  bool optional = false;
  bool negatable = false;     // !p
  bool sink_allowed = false;  // `_`
  bool sink_only = false;     // nothing but `_`: mbarrier.arrive on another CTA's barrier
  bool names_symbol = false;  // mov: special registers and addresses of symbols too
  bool coordinates = false;   // [a, {coordinates}] of tensor copies
  bool pair = false;          // first half of "p|q" in setp, shfl, match: the next spec is the second half
};

// What an instruction does beyond computing d from its sources.
struct Effects {
  bool loads = false;
  bool stores = false;
  bool atomic = false;
  bool barrier = false;    // waits for other threads of the CTA or cluster
  bool warp_sync = false;  // exchanges values or waits inside a warp
  bool fence = false;
  bool branch = false;
  bool call = false;
  bool ends_thread = false;  // exit, ret in an entry, trap
  bool async = false;        // completes later
  bool approximate = false;  // result only within a documented error
  bool timing = false;       // reads a clock or waits for time
};

// "One of these choices is taken in the slot" (bit i: choice i; kAbsent: nothing is taken).
struct Condition {
  static constexpr uint64_t kAbsent = uint64_t{1} << 63;
  uint8_t slot = 0;
  uint64_t choices = 0;
};

// What a row forbids beyond its slots. Applies where all of `when` hold.
struct Constraint {
  enum class Kind : uint8_t {
    needs,     // one of `then` holds
    excludes,  // none of `then` holds
    since,     // the combination exists under `gate` only
  } kind = Kind::needs;
  std::span<const Condition> when;
  std::span<const Condition> then;
  Gate gate;
};

struct Row {
  uint16_t id = 0;           // index in rows()
  std::string_view opcode;   // the name's fixed words: "add", "bar", "cp.async.bulk"
  std::string_view syntax;   // the line in the manual's notation, with the annotations that row_text.h explains
  std::string_view section;  // the manual's section title
  std::span<const Slot> slots;
  std::span<const OperandSpec> operands;
  std::span<const Constraint> constraints;
  Effects effects;
  Gate gate;
};

std::span<const Row> rows();
// Forms that the manual does not have and ptxas takes all the same, or takes while it ignores a word (rows/lax.inc):
// the closed list behind Match::lax. They are in neither rows() nor rows_of().
std::span<const Row> lax_rows();
std::span<const Row* const> rows_of(std::string_view opcode);  // empty where the table lacks it
std::span<const std::string_view> opcodes();                   // sorted

// A row with one choice taken in each slot: what an instruction of a program is.
struct Form {
  const Row* row = nullptr;
  std::array<int8_t, kMaxSlots> taken{};  // index into the slot's choices, -1 where absent

  bool has(std::string_view token) const;            // ".ftz"
  std::string_view at(std::string_view slot) const;  // the token taken in that slot, "" where absent
  Type type(int n = 0) const;                        // the n-th taken choice that is a type; none where there is none
  Space space() const;  // the first taken space; generic where the row has a space slot left out, none without a slot
  int vector_length() const;               // 1, 2, 4, 8
  Gate gate() const;                       // the strictest of the row's, its choices' and its constraints'
  Type operand_type(int operand) const;    // the operand's type rule applied; the type of one element for a vector
  Space operand_space(int operand) const;  // of an address operand
  bool takes_constant(int operand) const;  // an immediate may stand there: not for f16, bf16 and packed types
  int operand_lanes(int operand) const;    // how many elements a vector operand has; 1 for every other
};

// Matches an instruction's opcode words and modifiers, in source order, against the table. `words` begins with the
// opcode's first word without dot, then each modifier with its dot. Modifiers may come in any order where ptxas takes
// them so: the words of a name, several types and several spaces keep theirs. More than one form can fit (rows that
// differ in operands only): the verifier picks by operands. No fit: `problem` says why ("unknown modifier '.fzt'",
// "modifier '.sat' does not go with '.u32'", "a type is missing"), `word` is the index of the offending word and
// `suggestion` a certain or likely mend.
struct Match {
  std::vector<Form> forms;
  bool opcode_known = false;
  bool lax = false;  // no form, and yet ptxas takes it: a known laxness, not a disagreement
  std::string problem;
  int word = -1;
  std::string suggestion;
};
Match match(std::span<const std::string_view> words);

// The modifiers of a form in the table's order, after the opcode: ".rn.ftz.f32".
std::string spelling(const Form& form);

bool keeps_constraints(const Form& form);
// Why a form's choices break a constraint of its row: "'.sat' does not go with '.u32'"; empty where none is broken.
std::string broken_constraint(const Form& form);

}  // namespace ptxlab::isa
