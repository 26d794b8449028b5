#include "analysis/access.h"

#include <algorithm>

#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

const ptx::Operand* address_operand(const ptx::Instruction& instruction) {
  for (const auto& operand : instruction.operands)
    if (operand.kind == ptx::Operand::Kind::address) return &operand;
  return nullptr;
}

// The address as a polynomial; nothing where the base is not a register or variable.
std::optional<Affine> address_of(uint32_t statement, const ptx::Operand& operand, const Values& values) {
  if (operand.elements.empty()) return std::nullopt;
  const auto& base = operand.elements[0];
  if (base.kind == ptx::Operand::Kind::reg) {
    auto value = values.read(statement, base.id);
    return value ? add(values.value(*value), Affine{operand.offset, {}}) : std::nullopt;
  }
  if (base.kind == ptx::Operand::Kind::integer)
    return add(Affine{static_cast<int64_t>(base.bits), {}}, Affine{operand.offset, {}});
  return std::nullopt;
}

uint32_t power_of_two_in(int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  return bits == 0 ? 1u << 20 : static_cast<uint32_t>(std::min<uint64_t>(bits & (0 - bits), 1u << 20));
}

// Does the atom depend on tid.x in a way the coefficient of tid.x does not show?
bool hides_thread(const Values& values, AtomId id, AtomId thread) {
  const auto& atom = values.atom(id);
  if (id == thread) return false;
  switch (atom.kind) {
    case Atom::Kind::special:
    case Atom::Kind::parameter:
    case Atom::Kind::symbol: return false;
    case Atom::Kind::phi:
    case Atom::Kind::operation:
    case Atom::Kind::definition:
    case Atom::Kind::undefined: return true;
  }
  return true;
}

std::optional<int64_t> thread_stride(const Values& values, const Affine& address) {
  auto thread = values.special_atom("%tid", 0);
  Affine start = values.at_loop_start(address);
  int64_t stride = 0;
  for (const auto& term : start.terms)
    for (AtomId id : term.factors) {
      if (thread && id == *thread) {
        if (term.factors.size() != 1) return std::nullopt;
        stride += term.coefficient;
      } else if (!thread || hides_thread(values, id, *thread)) {
        const auto& atom = values.atom(id);
        if (atom.kind != Atom::Kind::special && atom.kind != Atom::Kind::parameter && atom.kind != Atom::Kind::symbol)
          return std::nullopt;
      }
    }
  return stride;
}

void find_loop_step(const Cfg& cfg, const Values& values, MemoryAccess& access) {
  access.loop = cfg.loop_of(cfg.block_of(access.statement));
  if (access.loop == kNone) return;
  auto varying = values.varying(cfg, access.loop);
  Affine sum;
  for (const auto& term : access.address.terms) {
    bool changes = std::any_of(term.factors.begin(), term.factors.end(), [&](AtomId id) { return varying[id]; });
    if (!changes) continue;
    const Induction* induction = term.factors.size() == 1 ? values.induction(term.factors[0]) : nullptr;
    if (!induction || induction->loop != access.loop) return;
    auto part = scale(values.value(induction->step), term.coefficient);
    auto next = part ? add(sum, *part) : std::nullopt;
    if (!next) return;
    sum = *next;
  }
  access.loop_step = sum;
  if (sum.is_constant()) access.loop_stride = sum.constant;
}

// May the atom hold an address of its own: a pointer that was loaded, chosen, or brought around a loop?
bool may_be_pointer(const ptx::Function& function, const Atom& atom) {
  switch (atom.kind) {
    case Atom::Kind::special:
    case Atom::Kind::parameter:
    case Atom::Kind::symbol: return false;
    case Atom::Kind::phi:
    case Atom::Kind::undefined: return isa::bits_of(function.registers[atom.index].type) == 64;
    case Atom::Kind::operation: return atom.words.ends_with("64");
    case Atom::Kind::definition: {
      const auto* instruction = function.body[atom.index].instruction();
      return !instruction || isa::bits_of(type_word(*instruction)) == 64;
    }
  }
  return true;
}

void find_base(const ptx::Function& function, const Values& values, MemoryAccess& access) {
  Affine start = values.at_loop_start(access.address);
  uint32_t known = power_of_two_in(start.constant);
  uint32_t base_alignment = std::max<uint32_t>(1, access.bytes);
  std::vector<uint32_t> candidates;
  bool pointer_beside = false;
  for (const auto& term : start.terms) {
    const auto* atom = term.factors.size() == 1 && term.coefficient == 1 ? &values.atom(term.factors[0]) : nullptr;
    if (atom && atom->kind == Atom::Kind::parameter && atom->index < function.parameters.size() &&
        isa::bits_of(function.parameters[atom->index].type) == 64) {
      candidates.push_back(atom->index);
      base_alignment = std::max(base_alignment, function.parameters[atom->index].ptr_align);
    } else if (atom && atom->kind == Atom::Kind::symbol && !access.variable) {
      access.variable = atom->words;
      for (const auto& variable : function.variables)
        if (variable.name == atom->words) base_alignment = std::max(base_alignment, variable.alignment());
    } else {
      known = std::min(known, power_of_two_in(term.coefficient));
      pointer_beside = pointer_beside || (atom && may_be_pointer(function, *atom));
    }
  }
  // "x[n + i]" of bytes adds two 64-bit parameters, a loaded pointer may be moved by a parameter: nothing here says which
  // of them is the pointer.
  if (candidates.size() == 1 && !access.variable && !pointer_beside) access.parameter = candidates[0];
  if (candidates.size() > 1 || pointer_beside) known = std::min(known, std::max<uint32_t>(1, access.bytes));
  access.alignment = std::min(known, power_of_two_in(base_alignment));
}

}  // namespace

bool follow_address(const ptx::Function& function, const Cfg& cfg, const Values& values, const ptx::Operand& operand,
                    MemoryAccess& access) {
  if (auto address = address_of(access.statement, operand, values)) {
    access.address = *address;
    access.thread_stride = thread_stride(values, access.address);
    find_loop_step(cfg, values, access);
    find_base(function, values, access);
    return true;
  }
  if (operand.elements.empty() || operand.elements[0].kind != ptx::Operand::Kind::symbol) return false;
  access.variable = operand.elements[0].name;
  access.address.constant = operand.offset;
  access.thread_stride = 0;
  return true;
}

std::vector<MemoryAccess> memory_accesses(const ptx::Function& function, const Cfg& cfg, const Values& values) {
  std::vector<MemoryAccess> found;
  for (uint32_t b : cfg.order())
    for (uint32_t i = cfg.blocks()[b].begin; i < cfg.blocks()[b].end; ++i) {
      const auto* instruction = function.body[i].instruction();
      if (!instruction) continue;
      auto opcode = opcode_of(*instruction);
      MemoryAccess access;
      access.reads = opcode == "ld" || opcode == "ldu" || opcode == "atom";
      access.writes = opcode == "st" || opcode == "atom" || opcode == "red";
      access.atomic = opcode == "atom" || opcode == "red";
      access.space = space_word(*instruction);
      const auto* operand = address_operand(*instruction);
      if ((!access.reads && !access.writes) || !operand || access.space == isa::Space::param) continue;
      access.statement = i;
      access.vector = static_cast<uint32_t>(vector_word(*instruction));
      access.bytes = static_cast<uint32_t>(isa::bytes_of(type_word(*instruction))) * access.vector;
      follow_address(function, cfg, values, *operand, access);
      found.push_back(std::move(access));
    }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.statement < b.statement; });
  return found;
}

}  // namespace ptxlab::analysis
