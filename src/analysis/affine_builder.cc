// Fills a Values: one pass over the blocks in reverse post-order, in which a register that a loop changes becomes an
// atom of its own at the loop's header; afterwards those that grow by the same amount each time are named inductions.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "analysis/affine.h"
#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

// Blocks x live registers beyond this are not looked at.
constexpr uint64_t kMostBindings = uint64_t{1} << 26;

bool plain_integer(isa::Type type) {
  return isa::is_integer(type) || type == isa::Type::b16 || type == isa::Type::b32 || type == isa::Type::b64;
}

// No effect but the result, which depends on the operands alone.
bool pure(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row || instruction.guard) return false;
  const auto& e = row->effects;
  return !(e.loads || e.stores || e.atomic || e.barrier || e.warp_sync || e.fence || e.branch || e.call ||
           e.ends_thread || e.async || e.timing) &&
         !has_word(instruction, ".cc") && opcode_of(instruction) != "addc" && opcode_of(instruction) != "subc" &&
         opcode_of(instruction) != "madc" && opcode_of(instruction) != "activemask";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word;
  return text;
}

}  // namespace

class ValueBuilder {
 public:
  ValueBuilder(Values& values, const ptx::Function& function, const Cfg& cfg, const Liveness& liveness)
      : v_(values), function_(function), cfg_(cfg), liveness_(liveness), now_(function.registers.size(), kNone) {}

  void build() {
    v_.reads_.resize(function_.body.size());
    v_.writes_.resize(function_.body.size());
    v_.start_.resize(cfg_.blocks().size());
    v_.end_.resize(cfg_.blocks().size());
    if (!liveness_.computed() || too_large()) return;
    done_.assign(cfg_.blocks().size(), false);
    collect_loop_writes();
    for (uint32_t b : cfg_.order()) {
      enter(b);
      for (uint32_t i = cfg_.blocks()[b].begin; i < cfg_.blocks()[b].end; ++i)
        if (const auto* instruction = function_.body[i].instruction()) step(i, *instruction);
      for (uint32_t reg : liveness_.live_out(b)) v_.end_[b].emplace_back(reg, current(reg));
      done_[b] = true;
    }
    v_.computed_ = true;
    find_inductions();
  }

  // The value of an operand; registers as they stand now.
  ValueId operand(const ptx::Operand& operand, int bits, uint32_t statement) {
    using Kind = ptx::Operand::Kind;
    switch (operand.kind) {
      case Kind::reg: return current(operand.id);
      case Kind::integer: return v_.intern(Affine{narrowed(operand.bits, bits), {}});
      case Kind::special: return special(operand, statement);
      case Kind::symbol: return of_symbol(operand.name);
      case Kind::address: {
        if (operand.elements.empty()) return v_.intern(Affine{operand.offset, {}});
        ValueId base = this->operand(operand.elements[0], 64, statement);
        auto sum = add(v_.value(base), Affine{operand.offset, {}});
        return sum ? v_.intern(*sum) : of_definition(statement, -2);
      }
      case Kind::floating: return of_operation({"float ", operand.name}, {});
      case Kind::label:
      case Kind::name: return of_operation({"name ", operand.name}, {});
      case Kind::sink:
      case Kind::vector:
      case Kind::pair:
      case Kind::list: break;
    }
    std::vector<ValueId> parts;
    for (const auto& element : operand.elements)
      parts.push_back(element.elements.empty() ? this->operand(element, bits, statement)
                                               : of_definition(statement, -3));
    return of_operation({"list"}, std::move(parts));
  }

 private:
  bool too_large() const { return uint64_t{cfg_.blocks().size()} * function_.registers.size() > kMostBindings; }

  static int64_t narrowed(uint64_t bits, int width) {
    if (width == 32) return static_cast<int32_t>(bits);
    if (width == 16) return static_cast<int16_t>(bits);
    return static_cast<int64_t>(bits);
  }

  ValueId current(uint32_t reg) {
    if (now_[reg] == kNone) {
      Atom atom;
      atom.kind = Atom::Kind::undefined;
      atom.index = reg;
      now_[reg] = v_.of_atom(std::move(atom));
    }
    return now_[reg];
  }

  ValueId of_definition(uint32_t statement, int component) {
    Atom atom;
    atom.kind = Atom::Kind::definition;
    atom.index = statement;
    atom.component = component;
    atom.block = cfg_.block_of(statement);
    return v_.of_atom(std::move(atom));
  }

  ValueId of_symbol(const std::string& name) {
    Atom atom;
    atom.kind = Atom::Kind::symbol;
    atom.words = name;
    return v_.of_atom(std::move(atom));
  }

  ValueId of_operation(const std::vector<std::string>& words, std::vector<ValueId> operands) {
    Atom atom;
    atom.kind = Atom::Kind::operation;
    atom.words = joined(words);
    atom.operands = std::move(operands);
    return v_.of_atom(std::move(atom));
  }

  ValueId special(const ptx::Operand& operand, uint32_t statement) {
    const auto all = isa::special_registers();
    if (operand.id >= all.size() || all[operand.id].timing) return of_definition(statement, -4);
    Atom atom;
    atom.kind = Atom::Kind::special;
    atom.index = operand.id;
    atom.component = operand.component;
    return v_.of_atom(std::move(atom));
  }

  void collect_loop_writes() {
    loop_writes_.resize(cfg_.loops().size());
    for (size_t l = 0; l < cfg_.loops().size(); ++l) {
      auto& writes = loop_writes_[l];
      writes.assign(function_.registers.size(), false);
      for (uint32_t b : cfg_.loops()[l].blocks)
        for (uint32_t i = cfg_.blocks()[b].begin; i < cfg_.blocks()[b].end; ++i)
          if (const auto* instruction = function_.body[i].instruction())
            for (uint32_t reg : register_use(*instruction).writes) writes[reg] = true;
    }
  }

  // Does any loop that begins at this block write the register?
  bool changed_around(uint32_t block, uint32_t reg) const {
    uint32_t loop = cfg_.loop_of(block);
    if (loop != kNone && cfg_.loops()[loop].header == block) return loop_writes_[loop][reg];
    return true;  // a back edge of no natural loop
  }

  void enter(uint32_t b) {
    std::fill(now_.begin(), now_.end(), kNone);
    for (uint32_t reg : liveness_.live_in(b)) {
      ValueId met = kNone;
      bool differs = false, open = false;
      for (uint32_t from : cfg_.blocks()[b].predecessors) {
        if (!cfg_.reachable(from)) continue;
        if (!done_[from]) {
          open = true;
          continue;
        }
        auto value = v_.at_end(from, reg);
        if (!value || (met != kNone && met != *value))
          differs = true;
        else
          met = *value;
      }
      if (b == 0 && !cfg_.blocks()[b].predecessors.empty()) differs = true;
      if (differs || (open && changed_around(b, reg))) {
        Atom atom;
        atom.kind = Atom::Kind::phi;
        atom.index = reg;
        atom.block = b;
        met = v_.of_atom(std::move(atom));
      }
      now_[reg] = met;
      v_.start_[b].emplace_back(reg, current(reg));
    }
  }

  void step(uint32_t statement, const ptx::Instruction& instruction) {
    auto use = register_use(instruction);
    for (uint32_t reg : use.reads)
      if (!v_.read(statement, reg)) v_.reads_[statement].emplace_back(reg, current(reg));
    if (use.writes.empty()) return;
    std::vector<ValueId> results;
    if (!use.partial && use.writes.size() == 1 && !vector_result(instruction))
      results.push_back(evaluate(statement, instruction));
    else
      for (size_t i = 0; i < use.writes.size(); ++i)
        results.push_back(opaque(statement, instruction, static_cast<int>(i)));
    for (size_t i = 0; i < use.writes.size(); ++i) {
      now_[use.writes[i]] = results[i];
      v_.writes_[statement].emplace_back(use.writes[i], results[i]);
    }
  }

  static bool vector_result(const ptx::Instruction& instruction) {
    return !instruction.operands.empty() && instruction.operands[0].kind != ptx::Operand::Kind::reg;
  }

  // What the polynomials cannot say: a pure instruction of known operands, or whatever the statement writes.
  ValueId opaque(uint32_t statement, const ptx::Instruction& instruction, int component) {
    if (!pure(instruction)) return of_definition(statement, component);
    std::vector<ValueId> operands;
    int bits = isa::bits_of(type_word(instruction));
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      if (!is_destination(instruction, i)) operands.push_back(operand(instruction.operands[i], bits, statement));
    auto words = instruction.words;
    if (component > 0) words.push_back(fmt::format("#{}", component));
    return of_operation(words, std::move(operands));
  }

  std::optional<ValueId> parameter(const ptx::Instruction& instruction) {
    if (opcode_of(instruction) != "ld" || space_word(instruction) != isa::Space::param) return std::nullopt;
    if (instruction.operands.size() < 2 || instruction.operands[1].elements.empty()) return std::nullopt;
    const auto& base = instruction.operands[1].elements[0];
    if (base.kind != ptx::Operand::Kind::symbol || base.symbol.where != ptx::SymbolRef::Where::parameter)
      return std::nullopt;
    Atom atom;
    atom.kind = Atom::Kind::parameter;
    atom.index = base.symbol.index;
    atom.component = static_cast<int32_t>(instruction.operands[1].offset);
    return v_.of_atom(std::move(atom));
  }

  ValueId evaluate(uint32_t statement, const ptx::Instruction& instruction) {
    if (auto value = parameter(instruction)) return *value;
    if (auto value = polynomial(statement, instruction)) return v_.intern(*std::move(value));
    return opaque(statement, instruction, 0);
  }

  std::optional<Affine> polynomial(uint32_t statement, const ptx::Instruction& instruction) {
    auto opcode = opcode_of(instruction);
    auto type = type_word(instruction);
    const auto& operands = instruction.operands;
    if (opcode == "mov" && operands.size() == 2) {
      if (operands[1].kind == ptx::Operand::Kind::vector || operands[1].kind == ptx::Operand::Kind::floating)
        return std::nullopt;
      return v_.value(operand(operands[1], isa::bits_of(type), statement));
    }
    if (!plain_integer(type) || has_word(instruction, ".sat") || has_word(instruction, ".cc")) return std::nullopt;
    auto get = [&](size_t i) -> const Affine& { return v_.value(operand(operands[i], isa::bits_of(type), statement)); };
    bool whole = has_word(instruction, ".lo") || has_word(instruction, ".wide");
    if (operands.size() == 2) {
      if (opcode == "neg") return scale(get(1), -1);
      if (opcode == "not") {
        auto minus = scale(get(1), -1);
        return minus ? add(*minus, Affine{-1, {}}) : std::nullopt;
      }
      if (opcode == "cvta") return get(1);
      if (opcode == "cvt" && keeps_value(instruction)) return get(1);
    }
    if (operands.size() == 3) {
      if (opcode == "add") return add(get(1), get(2));
      if (opcode == "sub") {
        auto minus = scale(get(2), -1);
        return minus ? add(get(1), *minus) : std::nullopt;
      }
      if (opcode == "mul" && whole) return multiply(get(1), get(2));
      if (opcode == "shl" && get(2).is_constant() && get(2).constant >= 0 && get(2).constant < 62)
        return scale(get(1), int64_t{1} << get(2).constant);
    }
    if (operands.size() == 4 && opcode == "mad" && whole) {
      auto product = multiply(get(1), get(2));
      return product ? add(*product, get(3)) : std::nullopt;
    }
    return std::nullopt;
  }

  // Integer conversions that keep an index that does not wrap: widening, and 64 to 32 bits.
  static bool keeps_value(const ptx::Instruction& instruction) {
    auto to = type_word(instruction, 0), from = type_word(instruction, 1);
    if (!isa::is_integer(to) || !isa::is_integer(from)) return false;
    return isa::bits_of(to) >= isa::bits_of(from) || (isa::bits_of(from) == 64 && isa::bits_of(to) == 32);
  }

  void find_inductions() {
    for (uint32_t l = 0; l < cfg_.loops().size(); ++l) {
      const auto& loop = cfg_.loops()[l];
      auto varying = v_.varying(cfg_, l);
      for (const auto& [reg, value] : v_.start_[loop.header]) {
        const auto& affine = v_.value(value);
        if (affine.terms.size() != 1 || affine.constant != 0 || affine.terms[0].factors.size() != 1) continue;
        AtomId id = affine.terms[0].factors[0];
        const auto& atom = v_.atom(id);
        if (affine.terms[0].coefficient != 1 || atom.kind != Atom::Kind::phi || atom.block != loop.header ||
            atom.index != reg)
          continue;
        if (auto found = induction_at(l, reg, id, varying)) {
          v_.induction_of_[id] = v_.inductions_.size();
          v_.inductions_.push_back(*found);
        }
      }
    }
  }

  std::optional<Induction> induction_at(uint32_t l, uint32_t reg, AtomId id, const std::vector<bool>& varying) {
    const auto& loop = cfg_.loops()[l];
    Induction found{l, reg, id, kNone, kNone};
    for (uint32_t from : cfg_.blocks()[loop.header].predecessors) {
      if (!cfg_.reachable(from)) continue;
      auto value = v_.at_end(from, reg);
      if (!value) return std::nullopt;
      if (!loop.contains(from)) {
        if (found.initial != kNone && found.initial != *value) return std::nullopt;
        found.initial = *value;
        continue;
      }
      auto minus = scale(Affine{0, {{{id}, 1}}}, -1);
      auto step = add(v_.value(*value), *minus);
      if (!step || v_.mentions_any(*step, varying)) return std::nullopt;
      ValueId step_id = v_.intern(*step);
      if (found.step != kNone && found.step != step_id) return std::nullopt;
      found.step = step_id;
    }
    if (found.initial == kNone || found.step == kNone) return std::nullopt;
    return found;
  }

  Values& v_;
  const ptx::Function& function_;
  const Cfg& cfg_;
  const Liveness& liveness_;
  std::vector<ValueId> now_;
  std::vector<bool> done_;
  std::vector<std::vector<bool>> loop_writes_;
};

Values::Values(const ptx::Function& function, const Cfg& cfg, const Liveness& liveness) {
  ValueBuilder(*this, function, cfg, liveness).build();
}

std::vector<bool> Values::varying(const Cfg& cfg, uint32_t loop) const {
  // Operands are interned before the operations that use them, so one pass in order of ids is enough.
  std::vector<bool> result(atoms_.size(), false);
  const auto& inside = cfg.loops()[loop];
  for (AtomId id = 0; id < atoms_.size(); ++id) {
    const auto& a = *atoms_[id];
    switch (a.kind) {
      case Atom::Kind::phi:
      case Atom::Kind::definition: result[id] = a.block != kNone && inside.contains(a.block); break;
      case Atom::Kind::operation:
        for (ValueId operand : a.operands) result[id] = result[id] || mentions_any(value(operand), result);
        break;
      case Atom::Kind::special:
      case Atom::Kind::parameter:
      case Atom::Kind::symbol:
      case Atom::Kind::undefined: break;
    }
  }
  return result;
}

bool Values::mentions_any(const Affine& value, const std::vector<bool>& atoms) const {
  for (const auto& term : value.terms)
    for (AtomId id : term.factors)
      if (id < atoms.size() && atoms[id]) return true;
  return false;
}

std::optional<ValueId> Values::operand(uint32_t statement, const ptx::Operand& operand) const {
  using Kind = ptx::Operand::Kind;
  if (operand.kind == Kind::reg) return read(statement, operand.id);
  if (operand.kind == Kind::integer) return find(Affine{static_cast<int64_t>(operand.bits), {}});
  if (operand.kind == Kind::special && operand.id < isa::special_registers().size()) {
    auto id = special_atom(isa::special_registers()[operand.id].name, operand.component);
    return id ? find(Affine{0, {{{*id}, 1}}}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ptxlab::analysis
