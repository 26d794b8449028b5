#include "analysis/memory_facts.h"

#include <algorithm>
#include <map>

#include "analysis/access.h"
#include "analysis/expression_text.h"
#include "analysis/registers.h"
#include "ptx/printer.h"

namespace ptxlab::analysis {
namespace {

// One address operand of an instruction, and what goes through it.
struct Touch {
  const ptx::Operand* address = nullptr;
  isa::Space space = isa::Space::generic;
  bool reads = false, writes = false, atomic = false, async = false, one_thread = false;
  uint32_t bytes = 0, vector = 1;
};

const ptx::Operand* nth_address(const ptx::Instruction& instruction, int n) {
  for (const auto& operand : instruction.operands)
    if (operand.kind == ptx::Operand::Kind::address && n-- == 0) return &operand;
  return nullptr;
}

uint32_t number_in(const ptx::Instruction& instruction) {
  for (const auto& operand : instruction.operands)
    if (operand.kind == ptx::Operand::Kind::integer) return static_cast<uint32_t>(operand.bits);
  return 0;
}

// The spaces that an instruction's words name, in order: ".shared::cta.global".
std::vector<isa::Space> spaces_of(const ptx::Instruction& instruction) {
  std::vector<isa::Space> spaces;
  for (const auto& word : instruction.words)
    if (auto space = isa::space_named(word); space && word.starts_with('.')) spaces.push_back(*space);
  return spaces;
}

// cp.async copies a few bytes of each thread's own; bulk and tensor copies are one thread's word for many.
std::vector<Touch> copies_of(const ptx::Instruction& instruction) {
  if (!has_word(instruction, ".async") || !nth_address(instruction, 0)) return {};
  const bool bulk = has_word(instruction, ".bulk");
  const auto spaces = spaces_of(instruction);
  std::vector<Touch> touches;
  for (int n = 0; n < 2; ++n) {
    Touch touch;
    touch.address = nth_address(instruction, n);
    if (!touch.address) break;
    touch.space = static_cast<size_t>(n) < spaces.size() ? spaces[static_cast<size_t>(n)] : isa::Space::generic;
    touch.writes = n == 0;
    touch.reads = n == 1;
    touch.async = true;
    touch.one_thread = bulk;
    touch.bytes = bulk && has_word(instruction, ".tensor") ? 0 : number_in(instruction);
    touches.push_back(touch);
  }
  return touches;
}

std::vector<Touch> touches_of(const ptx::Instruction& instruction) {
  const auto opcode = opcode_of(instruction);
  if (opcode == "cp") return copies_of(instruction);
  Touch touch;
  touch.address = nth_address(instruction, 0);
  if (!touch.address) return {};
  touch.space = space_word(instruction);
  if (touch.space == isa::Space::param || touch.space == isa::Space::param_func) return {};
  if (opcode == "ldmatrix" || opcode == "stmatrix") {
    // Each lane names a row of 16 bytes, and gets its share of all of them.
    touch.reads = opcode == "ldmatrix";
    touch.writes = !touch.reads;
    touch.space = isa::Space::shared;
    touch.bytes = 16;
    return {touch};
  }
  touch.reads = opcode == "ld" || opcode == "ldu" || opcode == "atom";
  touch.writes = opcode == "st" || opcode == "atom" || opcode == "red";
  touch.atomic = opcode == "atom" || opcode == "red";
  if (!touch.reads && !touch.writes) return {};
  touch.vector = static_cast<uint32_t>(vector_word(instruction));
  touch.bytes = static_cast<uint32_t>(isa::bytes_of(type_word(instruction))) * touch.vector;
  return {touch};
}

int64_t lowest_bit(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return bits == 0 ? int64_t{1} << 20 : static_cast<int64_t>(std::min<uint64_t>(bits & (0 - bits), 1u << 20));
}

// What certainly divides an address, as a power of two.
class Alignment {
 public:
  Alignment(const ptx::Function& function, const Values& values, const Known& known)
      : function_(function), values_(values), known_(known) {}

  int64_t of(const Affine& value, int depth = 0) const {
    int64_t least = lowest_bit(value.constant);
    for (const auto& term : value.terms) {
      int64_t product = lowest_bit(term.coefficient);
      for (AtomId id : term.factors)
        product = std::min<int64_t>(1 << 20, product * of_atom(values_.atom(id), id, term, depth));
      least = std::min(least, product);
    }
    return least;
  }

 private:
  // A parameter counts by how it stands in the address; all else is worked out once.
  int64_t of_atom(const Atom& atom, AtomId id, const Term& term, int depth) const {
    if (atom.kind == Atom::Kind::parameter) return of_parameter(atom, term);
    auto [known, fresh] = atoms_.try_emplace(id, 1);
    if (!fresh || depth > kDeepest) return known->second;
    const int64_t found = worked_out(atom, id, depth);
    return atoms_[id] = found;
  }

  int64_t worked_out(const Atom& atom, AtomId id, int depth) const {
    switch (atom.kind) {
      case Atom::Kind::special:
        if (isa::special_registers()[atom.index].name == "%ntid" && known_.block[0] && atom.component >= 0 &&
            atom.component < 3)
          return lowest_bit(known_.block[static_cast<size_t>(atom.component)]);
        return 1;
      case Atom::Kind::symbol: return of_symbol(atom.words);
      case Atom::Kind::phi:
        if (const auto* induction = values_.induction(id))
          return std::min(of(values_.value(induction->initial), depth + 1),
                          of(values_.value(induction->step), depth + 1));
        return 1;
      case Atom::Kind::operation: return of_operation(atom, depth);
      case Atom::Kind::parameter:
      case Atom::Kind::definition:
      case Atom::Kind::undefined: return 1;
    }
    return 1;
  }

  int64_t of_parameter(const Atom& atom, const Term& term) const {
    auto known = known_.parameters.find(atom.index);
    if (known != known_.parameters.end() && atom.component == 0) return lowest_bit(known->second);
    if (atom.index >= function_.parameters.size()) return 1;
    const auto& parameter = function_.parameters[atom.index];
    if (parameter.ptr_align) return parameter.ptr_align;
    // A pointer is 64 bits wide and stands in the address as it is; a struct's may be one.
    const bool alone = term.factors.size() == 1 && term.coefficient == 1;
    const bool wide = isa::bits_of(parameter.type) == 64 || !parameter.dims.empty();
    return alone && wide ? Known::kBuffer : 1;
  }

  int64_t of_symbol(const std::string& name) const {
    for (const auto& variable : function_.variables)
      if (variable.name == name) return std::max<uint32_t>(1, variable.alignment());
    return 16;  // of the module: the engine and the driver give at least this
  }

  int64_t of_operation(const Atom& atom, int depth) const {
    auto at = [&](size_t i) { return of(values_.value(atom.operands[i]), depth + 1); };
    const auto opcode = std::string_view(atom.words).substr(0, atom.words.find('.'));
    if (atom.operands.size() == 2 && opcode == "and") return std::max(at(0), at(1));
    if (atom.operands.size() == 2 && (opcode == "or" || opcode == "xor" || opcode == "min" || opcode == "max"))
      return std::min(at(0), at(1));
    if (atom.operands.size() == 3 && opcode == "selp") return std::min(at(0), at(1));
    if (atom.operands.size() == 1 && opcode == "cvt") return at(0);
    return 1;
  }

  static constexpr int kDeepest = 64;
  const ptx::Function& function_;
  const Values& values_;
  const Known& known_;
  mutable std::map<AtomId, int64_t> atoms_;
};

// The factor of tid.x in an address, as a polynomial over what is the same for all lanes.
std::string symbolic_stride(const Affine& address, const Values& values, const ptx::Function& function,
                            const Known& known) {
  auto thread = values.special_atom("%tid", 0);
  if (!thread) return "";
  Affine stride;
  for (const auto& term : values.at_loop_start(address).terms) {
    auto at = std::find(term.factors.begin(), term.factors.end(), *thread);
    if (at == term.factors.end()) continue;
    Term rest{{}, term.coefficient};
    for (auto it = term.factors.begin(); it != term.factors.end(); ++it)
      if (it != at) rest.factors.push_back(*it);
    Affine part = rest.factors.empty() ? Affine{rest.coefficient, {}} : Affine{0, {rest}};
    auto sum = add(stride, part);
    if (!sum) return "";
    stride = *sum;
  }
  return stride == Affine{} ? "" : expression_text(stride, values, function, known);
}

AccessFacts facts_of(const ptx::Function& function, const Cfg& cfg, const Values& values,
                     const LaneEvaluator& evaluator, const Known& known, const Alignment& alignment, uint32_t statement,
                     const Touch& touch) {
  const auto& instruction = *function.body[statement].instruction();
  AccessFacts facts;
  facts.line = instruction.line;
  facts.block = cfg.block_of(statement);
  facts.instruction = ptx::print(instruction, function);
  facts.space = touch.space;
  facts.reads = touch.reads;
  facts.writes = touch.writes;
  facts.atomic = touch.atomic;
  facts.async = touch.async;
  facts.one_thread = touch.one_thread;
  facts.bytes = touch.bytes;
  facts.vector = touch.vector;
  facts.required = touch.one_thread ? 16 : std::max<uint32_t>(1, touch.bytes);
  MemoryAccess access;
  access.statement = statement;
  access.bytes = touch.bytes;
  if (!follow_address(function, cfg, values, *touch.address, access)) return facts;
  if (access.parameter) facts.base = parameter_name(function, *access.parameter, known);
  if (access.variable) facts.base = *access.variable;
  if (access.loop != kNone) facts.loop_step = expression_text(access.loop_step, values, function, known);
  facts.alignment = static_cast<uint32_t>(alignment.of(access.address));
  if (touch.one_thread) return facts;
  facts.lanes = lane_pattern(evaluator, access.address, touch.bytes);
  if (facts.lanes.stride == StrideClass::affine && !facts.lanes.lane_stride)
    facts.stride_text = symbolic_stride(access.address, values, function, known);
  if (facts.lanes.stride == StrideClass::irregular || touch.bytes == 0) return facts;
  if (touch.space == isa::Space::shared || touch.space == isa::Space::shared_cluster)
    facts.wavefronts = facts.lanes.wavefronts;
  if (touch.space == isa::Space::global || touch.space == isa::Space::generic) facts.sectors = facts.lanes.sectors;
  return facts;
}

}  // namespace

std::vector<AccessFacts> memory_facts(const ptx::Function& function, const Cfg& cfg, const Values& values,
                                      const LaneEvaluator& evaluator, const Known& known) {
  const Alignment alignment(function, values, known);
  std::vector<AccessFacts> all;
  for (uint32_t s = 0; s < function.body.size(); ++s) {
    const auto* instruction = function.body[s].instruction();
    if (!instruction || !cfg.reachable(cfg.block_of(s))) continue;
    for (const auto& touch : touches_of(*instruction))
      all.push_back(facts_of(function, cfg, values, evaluator, known, alignment, s, touch));
  }
  return all;
}

}  // namespace ptxlab::analysis
