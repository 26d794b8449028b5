#include <algorithm>
#include <cstring>

#include "cta.h"

namespace ptxlab::twin {

using isa::Space;
using isa::Type;
using ptx::Operand;

namespace {

Space space_of(const Operation& op) {
  for (const std::string& m : op.modifiers) {
    if (m == "global") return Space::global;
    if (m == "const") return Space::constant;
    if (m == "local") return Space::local;
    if (m == "shared" || m == "shared::cta" || m == "shared::cluster") return Space::shared;
    if (m == "param" || m == "param::entry" || m == "param::func") return Space::param;
  }
  return Space::generic;
}

size_t vector_of(const Operation& op) { return op.has("v8") ? 8 : op.has("v4") ? 4 : op.has("v2") ? 2 : 1; }

}  // namespace

Operation::Operation(const ptx::Instruction& instruction) {
  name = instruction.words[0];
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    modifiers.push_back(instruction.words[i].substr(1));
    if (auto type = isa::type_named(modifiers.back())) types.push_back(*type);
  }
}

bool Operation::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

uint64_t Cta::address(Thread& thread, const Operand& operand) {
  const Operand& base = operand.kind == Operand::Kind::address ? operand.elements[0] : operand;
  return value(thread, base, Type::none) + static_cast<uint64_t>(operand.offset);
}

// [param+4]: a parameter or a body's .param variable.
Cta::Place Cta::parameter_place(Thread& thread, const Operand& operand, uint64_t bytes) {
  using Where = ptx::SymbolRef::Where;
  const Operand& base = operand.kind == Operand::Kind::address ? operand.elements[0] : operand;
  if (base.kind != Operand::Kind::symbol) return {};
  Frame& frame = thread.frame();
  std::vector<uint8_t>* from = nullptr;
  if (base.symbol.where == Where::parameter) from = &frame.parameters[base.symbol.index];
  if (base.symbol.where == Where::return_parameter) from = &frame.results[base.symbol.index];
  if (base.symbol.where == Where::function_variable) from = &frame.parameter_variables[base.symbol.index];
  const uint64_t offset = static_cast<uint64_t>(operand.offset + (&base == &operand ? 0 : base.offset));
  if (!from || offset + bytes > from->size()) return {};
  return {from->data() + offset, nullptr};
}

Cta::Place Cta::place_at(Thread& thread, Space space, uint64_t address, uint64_t bytes, bool writes) {
  if (address % bytes != 0) {
    problem(thread, "misaligned address");
    return {};
  }
  if (space == Space::generic) {
    if (address >= kSharedBase && address < kSharedBase + kWindow)
      space = Space::shared, address -= kSharedBase;
    else if (address >= kLocalBase && address < kLocalBase + kWindow)
      space = Space::local, address -= kLocalBase;
  }
  if (space == Space::shared || space == Space::local) {
    std::vector<uint8_t>& window = space == Space::shared ? shared_ : thread.local;
    if (address + bytes <= window.size() && address < window.size()) return {window.data() + address, nullptr};
    problem(thread, "address outside the window");
    return {};
  }
  simt::Memory& memory = address >= simt::kVariableBase ? variables_ : memory_;
  if (auto index = memory.find(address)) {
    simt::Allocation& a = memory.allocation(*index);
    const uint64_t offset = address - a.address;
    if (offset + bytes <= a.bytes && (!writes || a.writable))
      return {a.data.data() + offset, a.defined.empty() ? nullptr : a.defined.data() + offset};
  }
  problem(thread, "illegal address");
  return {};
}

Cta::Place Cta::place(Thread& thread, const Operand& operand, const Operation& op, uint64_t bytes, bool writes) {
  const Space space = space_of(op);
  if (space == Space::param) {
    Place out = parameter_place(thread, operand, bytes);
    if (!out.data) problem(thread, "parameter address");
    return out;
  }
  return place_at(thread, space, address(thread, operand), bytes, writes);
}

bool Cta::memory_operation(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const std::string& n = op.name;
  if (n == "ld" || n == "ldu")
    load(thread, instruction, op);
  else if (n == "st")
    store(thread, instruction, op);
  else if (n == "atom" || n == "red")
    atomic(thread, instruction, op);
  else if (n == "cp" && op.has("async"))
    copy_async(thread, instruction, op);
  else if (n == "cvta")
    convert_address(thread, instruction, op);
  else if (n == "isspacep") {
    const uint64_t a = value(thread, instruction.operands[1], Type::b64);
    const bool shared = a >= kSharedBase && a < kSharedBase + kWindow,
               local = a >= kLocalBase && a < kLocalBase + kWindow;
    assign(thread, instruction.operands[0], op.has("local") ? local : op.has("global") ? !shared && !local : shared);
  } else if (n == "alloca") {
    const uint64_t alignment =
        instruction.operands.size() > 2 ? std::max<uint64_t>(instruction.operands[2].bits, 8) : 8;
    const uint64_t start = (thread.local.size() + alignment - 1) / alignment * alignment;
    thread.local.resize(start + value(thread, instruction.operands[1], op.type()));
    assign(thread, instruction.operands[0], start);
  } else if (n == "stacksave") {
    assign(thread, instruction.operands[0], thread.local.size());
  } else if (n == "stackrestore") {
    thread.local.resize(value(thread, instruction.operands[0], op.type()));
  } else
    return n == "prefetch" || n == "prefetchu" || n == "membar" || n == "fence" || n == "nanosleep" ||
           n == "griddepcontrol" || n == "discard" || n == "applypriority" || n == "pmevent";
  return true;
}

void Cta::load(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const Type type = op.type();
  const uint64_t bytes = static_cast<uint64_t>(isa::bytes_of(type)), lanes = vector_of(op);
  Place from = place(thread, instruction.operands[1], op, bytes * lanes, false);
  if (!from.data) return;
  for (size_t i = 0; i < lanes; ++i) {
    uint64_t raw = 0;
    std::memcpy(&raw, from.data + i * bytes, bytes);
    if (isa::is_signed(type)) raw = static_cast<uint64_t>(sign_extended(raw, static_cast<int>(8 * bytes)));
    const Operand& to = instruction.operands[0];
    assign(thread, to.kind == Operand::Kind::vector ? to.elements[i] : to, raw);
  }
}

void Cta::store(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const Type type = op.type();
  const uint64_t bytes = static_cast<uint64_t>(isa::bytes_of(type)), lanes = vector_of(op);
  Place to = place(thread, instruction.operands[0], op, bytes * lanes, true);
  if (!to.data) return;
  for (size_t i = 0; i < lanes; ++i) {
    const Operand& from = instruction.operands[1];
    const uint64_t raw = value(thread, from.kind == Operand::Kind::vector ? from.elements[i] : from, type);
    std::memcpy(to.data + i * bytes, &raw, bytes);
  }
  if (to.defined) std::memset(to.defined, 0xff, bytes * lanes);
}

uint64_t Cta::updated(Thread& thread, const Operation& op, uint64_t old, uint64_t b, uint64_t c) {
  if (op.has("exch")) return b;
  if (op.has("cas")) return old == b ? c : old;
  if (op.has("inc")) return old >= b ? 0 : old + 1;
  if (op.has("dec")) return old == 0 || old > b ? b : old - 1;
  Operation plain = op;
  plain.modifiers.clear();
  for (const char* name : {"add", "min", "max", "and", "or", "xor"})
    if (op.has(name)) plain.name = name;
  Values v;
  v.in = {old, b};
  v.sources = 2;
  if (!float_operation(plain, v) && !integer_operation(plain, v)) problem(thread, "atomic operation");
  return v.out & mask(isa::bits_of(op.type()));
}

// Element by element, where the operand is a vector.
void Cta::atomic(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const Type type = op.type();
  const uint64_t bytes = static_cast<uint64_t>(isa::bits_of(type) / 8), lanes = vector_of(op);
  const size_t at = op.name == "atom" ? 1 : 0;
  Place place_ = place(thread, instruction.operands[at], op, bytes * lanes, true);
  if (!place_.data) return;
  auto element = [&](size_t n, size_t i) -> const Operand& {
    const Operand& operand = instruction.operands[n];
    return operand.kind == Operand::Kind::vector ? operand.elements[i] : operand;
  };
  std::vector<uint64_t> before(lanes), after(lanes);
  for (size_t i = 0; i < lanes; ++i) {
    std::memcpy(&before[i], place_.data + i * bytes, bytes);
    const uint64_t b = value(thread, element(at + 1, i), type);
    after[i] = updated(thread, op, before[i], b, op.has("cas") ? value(thread, element(at + 2, i), type) : 0);
    std::memcpy(place_.data + i * bytes, &after[i], bytes);
  }
  if (place_.defined) std::memset(place_.defined, 0xff, bytes * lanes);
  for (size_t i = 0; op.name == "atom" && i < lanes; ++i) assign(thread, element(0, i), before[i]);
}

// cp.async copies at once: the twin's threads never look before they have waited.
void Cta::copy_async(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  if (op.has("commit_group") || op.has("wait_group") || op.has("wait_all")) return;
  if (op.has("bulk") || op.has("mbarrier")) return problem(thread, "instruction 'cp.async'");
  const uint64_t bytes = instruction.operands[2].bits;
  const uint64_t taken =
      instruction.operands.size() > 3 ? std::min(bytes, value(thread, instruction.operands[3], Type::b32)) : bytes;
  Place to = place_at(thread, Space::shared, address(thread, instruction.operands[0]), bytes, true);
  if (!to.data) return;
  std::memset(to.data, 0, bytes);
  if (taken == 0) return;
  Place from = place_at(thread, Space::global, address(thread, instruction.operands[1]), bytes, false);
  if (from.data) std::memcpy(to.data, from.data, taken);
}

void Cta::convert_address(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const Space space = space_of(op);
  uint64_t a = value(thread, instruction.operands[1], Type::b64);
  const uint64_t base = space == Space::shared ? kSharedBase : space == Space::local ? kLocalBase : 0;
  assign(thread, instruction.operands[0], op.has("to") ? a - base : a + base);
}

}  // namespace ptxlab::twin
