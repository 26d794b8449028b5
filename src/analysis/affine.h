// What a register holds, as an integer polynomial over things that do not change while a thread looks at them: special
// registers, parameters, loads, loop variables. "4*(ctaid.x*ntid.x + tid.x) + parameter 0" is how a memory access
// becomes a base pointer and strides. Equal values get equal ids, so this is value numbering as well.
//
// The polynomials are over the integers: that a 32-bit index does not wrap before it is widened is assumed, as
// compilers and kernels do. Coefficients are checked 64-bit numbers; what would overflow becomes an opaque atom.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "ptx/module.h"

namespace ptxlab::analysis {

using AtomId = uint32_t;
using ValueId = uint32_t;

struct Term {
  std::vector<AtomId> factors;  // sorted; a product
  int64_t coefficient = 0;      // never 0
  friend auto operator<=>(const Term&, const Term&) = default;
};

struct Affine {
  int64_t constant = 0;
  std::vector<Term> terms;  // sorted by factors
  bool is_constant() const { return terms.empty(); }
  // The coefficient of the term that is `atom` alone.
  int64_t coefficient(AtomId atom) const;
  bool mentions(AtomId atom) const;
  friend auto operator<=>(const Affine&, const Affine&) = default;
};

std::optional<Affine> add(const Affine& a, const Affine& b);
std::optional<Affine> scale(const Affine& a, int64_t factor);
std::optional<Affine> multiply(const Affine& a, const Affine& b);

struct Atom {
  enum class Kind : uint8_t {
    special,     // index: of isa::special_registers(), component
    parameter,   // index: of Function::parameters; component: byte offset into it
    symbol,      // the address of a variable, by name
    phi,         // register `index` at the start of block `block`, where different values meet
    operation,   // a pure instruction: words, operands
    definition,  // what statement `index` wrote (a load, an atomic, a guarded write) into its result `component`
    undefined,   // register `index` before any write
  };
  Kind kind = Kind::undefined;
  uint32_t index = 0;
  int32_t component = -1;
  uint32_t block = kNone;
  std::string words;              // operation: opcode and modifiers; symbol: its name
  std::vector<ValueId> operands;  // operation
  friend auto operator<=>(const Atom&, const Atom&) = default;
};

// A loop variable: register `reg` starts at `initial` and grows by `step` each time around.
struct Induction {
  uint32_t loop = kNone;  // index into Cfg::loops()
  uint32_t reg = 0;
  AtomId atom = 0;  // its value at the start of the header
  ValueId initial = 0, step = 0;
};

class Values {
 public:
  Values(const ptx::Function& function, const Cfg& cfg, const Liveness& liveness);

  const Affine& value(ValueId id) const { return *values_[id]; }
  const Atom& atom(AtomId id) const { return *atoms_[id]; }
  size_t atom_count() const { return atoms_.size(); }
  // The value that `statement` reads from `reg`; nothing where it does not read it or is unreachable.
  std::optional<ValueId> read(uint32_t statement, uint32_t reg) const;
  // The value that `statement` writes into `reg`.
  std::optional<ValueId> written(uint32_t statement, uint32_t reg) const;
  // The value of a register at the start or end of a block, where it is live there.
  std::optional<ValueId> at_start(uint32_t block, uint32_t reg) const;
  std::optional<ValueId> at_end(uint32_t block, uint32_t reg) const;
  // The value of an operand that `statement` reads: register, number, special register, symbol or address with its
  // offset.
  std::optional<ValueId> operand(uint32_t statement, const ptx::Operand& operand) const;

  const std::vector<Induction>& inductions() const { return inductions_; }
  // The induction whose value in the loop is this atom, or null.
  const Induction* induction(AtomId atom) const;
  // For each atom, whether its value can change from one iteration of the loop to the next.
  std::vector<bool> varying(const Cfg& cfg, uint32_t loop) const;
  bool mentions_any(const Affine& value, const std::vector<bool>& atoms) const;
  // Replaces every loop variable by its value at the loop's start, outermost last, so that what is left depends on the
  // thread alone.
  Affine at_loop_start(const Affine& value) const;
  // "4*tid.x + 4*ctaid.x*ntid.x + x_param_0"
  std::string describe(const Affine& value, const ptx::Function& function) const;
  // Ids for looking things up; nothing where the function never mentions it.
  std::optional<AtomId> special_atom(std::string_view name, int component) const;
  std::optional<ValueId> find(const Affine& value) const;
  bool computed() const { return computed_; }

 private:
  friend class ValueBuilder;
  ValueId intern(Affine value);
  AtomId intern(Atom atom);
  ValueId of_atom(Atom atom);

  std::map<Affine, ValueId> value_ids_;
  std::vector<const Affine*> values_;
  std::map<Atom, AtomId> atom_ids_;
  std::vector<const Atom*> atoms_;
  using Bindings = std::vector<std::pair<uint32_t, ValueId>>;
  std::vector<Bindings> reads_, writes_;  // by statement
  std::vector<Bindings> start_, end_;     // by block, sorted by register
  std::vector<Induction> inductions_;
  std::map<AtomId, size_t> induction_of_;
  bool computed_ = false;
};

}  // namespace ptxlab::analysis
