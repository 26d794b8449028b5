// Turns functions into ops: finds each instruction's handler through the binding tables, gives every operand a slot, and
// resolves labels. What the tables lack becomes a finding; nothing is guessed.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include "base/span.h"
#include "simt/function_decoder.h"
#include "simt/special.h"

namespace ptxlab::simt {
namespace {

// Which slots instructions read; members of lists count as read, though a load's are written.
std::vector<bool> read_slots(const Code& code) {
  std::vector<bool> read(code.slots + 2);
  for (const Op& op : code.ops)
    for (uint32_t slot : {op.a, op.b, op.c, op.e, op.guard}) read[slot] = true;
  for (uint32_t slot : code.lists)
    if (slot < read.size()) read[slot] = true;
  for (const Call& call : code.calls)
    for (const auto* values : {&call.arguments, &call.results})
      for (const Call::Value& value : *values)
        if (!value.in_stack && value.slot < read.size()) read[value.slot] = true;
  for (int64_t slot : code.result_slots)
    if (slot >= 0) read[static_cast<size_t>(slot)] = true;
  return read;
}

using ptx::Operand;
using Where = ptx::SymbolRef::Where;

uint32_t slots_for(isa::Type type) { return isa::bits_of(type) <= 32 ? 1 : 2; }

constexpr uint64_t kMaxStackBytes = uint64_t{16} << 20;  // a thread and function; hardware has 512 KB

uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// A float constant in the format of the operand that it is for.
uint64_t float_bits(const Operand& operand, isa::Type type) {
  double value = std::bit_cast<double>(operand.bits);
  if (type == isa::Type::f64 || (isa::bits_of(type) == 64 && !operand.single_precision)) return operand.bits;
  if (operand.single_precision && operand.name.size() >= 10) {  // 0fXXXXXXXX: the pattern itself, NaN payloads and all
    uint32_t bits = 0;
    const char* digits = operand.name.data() + operand.name.size() - 8;
    if (std::from_chars(digits, digits + 8, bits, 16).ec == std::errc{}) return bits;
  }
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

// What set writes where the comparison holds: for pairs, into each half.
uint32_t truth_of(const Modifiers& m) {
  switch (isa::info(m.type).element) {
    case isa::Type::f32: return 0x3f800000;
    case isa::Type::f16: return 0x3c00;
    case isa::Type::bf16: return 0x3f80;
    default: return isa::info(m.second).lanes == 2 ? 0xffff : ~uint32_t{0};
  }
}

}  // namespace

void FunctionDecoder::assign_registers() {
  uint32_t next = kFirstSlot;
  carry_ = next++;
  for (const ptx::Register& reg : function_.registers) {
    register_slots_.push_back(next);
    next += (isa::bits_of(reg.type) > 64 ? 4 : slots_for(reg.type)) * static_cast<uint32_t>(reg.vector);
  }
  code_.register_end = code_.slots = next;
  code_.wide_slots.assign(next, 0);
  for (size_t i = 0; i < function_.registers.size(); ++i)
    for (uint32_t s = register_slots_[i]; wide_type(function_.registers[i].type) && s < next &&
                                          (i + 1 == register_slots_.size() || s < register_slots_[i + 1]);
         s += 2)
      code_.wide_slots[s] = 1;
  auto slots_of = [&](const std::vector<ptx::Variable>& formals) {
    std::vector<int64_t> slots;
    for (const ptx::Variable& formal : formals) {
      int64_t slot = -1;
      for (size_t i = 0; i < function_.registers.size() && formal.space == isa::Space::reg; ++i)
        if (function_.registers[i].name == formal.name) slot = register_slots_[i];
      slots.push_back(slot);
    }
    return slots;
  };
  code_.parameter_slots = slots_of(function_.parameters);
  code_.result_slots = slots_of(function_.results);
}

void FunctionDecoder::assign_stack() {
  // Counted in 64 bits: a module may declare more than the hardware's 512 KB a thread, and more than fits into memory.
  uint64_t end = 0;
  auto place = [&](const std::vector<ptx::Variable>& variables, std::vector<StackVariable>& placed) {
    for (const ptx::Variable& v : variables) {
      bool here = v.space != isa::Space::shared;
      if (here) end = align_up(end, std::max<uint32_t>(v.alignment(), 1));
      uint64_t bytes = std::min<uint64_t>(v.bytes(), kMaxStackBytes);
      placed.push_back(here ? StackVariable{static_cast<uint32_t>(end), static_cast<uint32_t>(bytes)}
                            : StackVariable{});
      if (here) end = std::min<uint64_t>(end + bytes, 2 * kMaxStackBytes);
    }
  };
  if (!function_.entry) {
    place(function_.results, code_.results);
    end = align_up(end, 16);
    place(function_.parameters, code_.parameters);
  }
  place(function_.variables, code_.variables);
  code_.stack_used = static_cast<uint32_t>(end);
  code_.stack_bytes = static_cast<uint32_t>(align_up(end, 16));
  if (end < kMaxStackBytes) return;
  base::Finding finding;
  finding.code = "RUN0020";
  finding.place = base::place_of(module_.source, function_.name_span, module_.file);
  finding.message =
      fmt::format("'{}' takes {} bytes or more of memory for each thread", function_.name, kMaxStackBytes);
  unsupported_.push_back(std::move(finding));
}

uint32_t FunctionDecoder::fixed(uint32_t count) {
  uint32_t slot = code_.slots;
  code_.slots += count;
  return slot;
}
uint32_t FunctionDecoder::constant(uint64_t bits, bool wide) {
  if (!wide) bits = static_cast<uint32_t>(bits);
  auto [it, fresh] = constants_.try_emplace({bits, wide}, 0);
  if (fresh) {
    it->second = fixed(wide ? 2 : 1);
    code_.constants.push_back({it->second, bits, wide});
  }
  return it->second;
}
uint32_t FunctionDecoder::stack_address(uint64_t offset, bool wide) {
  auto [it, fresh] = stack_slots_.try_emplace({offset, wide}, 0);
  if (fresh) {
    it->second = fixed(wide ? 2 : 1);
    code_.stack_slots.push_back({it->second, offset, wide});
  }
  return it->second;
}
std::optional<uint32_t> FunctionDecoder::special(const Operand& operand, bool wide) {
  const isa::SpecialRegister& reg = isa::special_registers()[operand.id];
  auto which = special_named(reg.name);
  if (!which || (reg.components > 1 && operand.component < 0)) {
    why_ = fmt::format("'{}' is not known here", reg.name);
    return std::nullopt;
  }
  auto [it, fresh] = specials_.try_emplace({static_cast<uint16_t>(operand.id), operand.component, wide}, 0);
  if (fresh) {
    it->second = fixed(wide ? 2 : 1);
    code_.specials.push_back({it->second, *which, operand.component, wide});
  }
  return it->second;
}

// The address of a variable in its own space; for a function's parameters and locals that is the thread's stack.
std::optional<uint32_t> FunctionDecoder::symbol_address(const Operand& operand, bool wide) {
  auto offset = static_cast<uint64_t>(operand.offset);
  auto shared = [&](std::string_view name) -> std::optional<uint32_t> {
    for (const SharedVariable& v : image_.shared)
      if (v.name == name) return constant(v.offset + offset, wide);
    return std::nullopt;
  };
  switch (operand.symbol.where) {
    case Where::module_variable: {
      const ptx::Variable& v = module_.variables[operand.symbol.index];
      if (v.space == isa::Space::shared) return shared(v.name);
      int64_t index = variables_.allocation[operand.symbol.index];
      if (index < 0) break;
      return constant(variables_.memory.allocation(static_cast<size_t>(index)).address + offset, wide);
    }
    case Where::function_variable: {
      const ptx::Variable& v = function_.variables[operand.symbol.index];
      if (v.space == isa::Space::shared) return shared(v.name);
      return stack_address(code_.variables[operand.symbol.index].offset + offset, wide);
    }
    case Where::parameter:
      if (function_.entry) return constant(image_.parameters[operand.symbol.index].offset + offset, wide);
      return stack_address(code_.parameters[operand.symbol.index].offset + offset, wide);
    case Where::return_parameter: return stack_address(code_.results[operand.symbol.index].offset + offset, wide);
    case Where::function: return constant(code_address(module_, module_.functions[operand.symbol.index].name), wide);
    case Where::unresolved: break;
  }
  why_ = fmt::format("the address of '{}' has no meaning here", operand.name);
  return std::nullopt;
}

std::optional<uint32_t> FunctionDecoder::slot_of(const Operand& operand, isa::Type type, bool& wide) {
  switch (operand.kind) {
    case Operand::Kind::reg: {
      const ptx::Register& reg = function_.registers[operand.id];
      wide = wide_type(reg.type);
      if (isa::bits_of(reg.type) > 64 || (reg.vector > 1 && operand.component < 0)) return std::nullopt;
      return register_slots_[operand.id] +
             static_cast<uint32_t>(std::max<int>(operand.component, 0)) * slots_for(reg.type);
    }
    case Operand::Kind::special: {
      wide = wide_type(type);
      return special(operand, wide);
    }
    case Operand::Kind::integer:
      wide = wide_type(type);
      if (type == isa::Type::pred) return constant(operand.bits ? kAllLanes : 0, false);
      return constant(operand.bits, wide);
    case Operand::Kind::floating: wide = wide_type(type); return constant(float_bits(operand, type), wide);
    case Operand::Kind::symbol: wide = wide_type(type); return symbol_address(operand, wide);
    case Operand::Kind::sink: wide = wide_type(type); return kSinkSlot;
    case Operand::Kind::address: {  // of wmma and such
      why_ = "this operand is not understood";
      return std::nullopt;
    }
    case Operand::Kind::label:
    case Operand::Kind::vector:
    case Operand::Kind::pair:
    case Operand::Kind::list:
    case Operand::Kind::name: break;
  }
  return std::nullopt;
}

bool FunctionDecoder::vector(const Operand& operand, isa::Type type, int lanes, Op& op) {
  // The vectors of an instruction follow one another in one list.
  if (op.count == 0) op.list = static_cast<uint32_t>(code_.lists.size());
  auto add = [&](const Operand& element) {
    bool wide = false;
    if (element.kind == Operand::Kind::reg && function_.registers[element.id].vector > 1 && element.component < 0) {
      const ptx::Register& reg = function_.registers[element.id];
      for (int i = 0; i < reg.vector; ++i)
        code_.lists.push_back(register_slots_[element.id] + static_cast<uint32_t>(i) * slots_for(reg.type));
      op.b_wide = wide_type(reg.type);
      return true;
    }
    if (element.kind == Operand::Kind::reg && isa::bits_of(function_.registers[element.id].type) > 64) {
      for (uint32_t half : {0u, 2u}) code_.lists.push_back(register_slots_[element.id] + half);
      op.b_wide = true;
      return true;
    }
    auto slot = slot_of(element, type, wide);
    if (!slot) return false;
    code_.lists.push_back(*slot);
    if (element.kind != Operand::Kind::sink) op.b_wide = wide;  // all elements are of one class
    return true;
  };
  if (operand.kind == Operand::Kind::vector) {
    for (const Operand& element : operand.elements)
      if (!add(element)) return false;
  } else if (operand.kind == Operand::Kind::sink) {
    code_.lists.insert(code_.lists.end(), static_cast<size_t>(lanes), kSinkSlot);
  } else if (!add(operand)) {
    return false;
  }
  op.count = static_cast<uint16_t>(code_.lists.size() - op.list);
  return true;
}

bool FunctionDecoder::address(const Operand& operand, Op& op, uint32_t& base, int64_t& offset, bool& wide) {
  const Operand& what = operand.kind == Operand::Kind::address ? operand.elements[0] : operand;
  offset = operand.offset;
  if (what.kind == Operand::Kind::symbol) {
    // The space of what the symbol names decides: a function's parameters lie in the thread's stack.
    if (what.symbol.where == Where::parameter || what.symbol.where == Where::return_parameter)
      op.space = function_.entry ? isa::Space::param : isa::Space::param_func;
    if (what.symbol.where == Where::function_variable &&
        function_.variables[what.symbol.index].space == isa::Space::param)
      op.space = isa::Space::param_func;
    if (op.space == isa::Space::generic) {  // [variable]: its own space
      if (what.symbol.where == Where::module_variable) op.space = module_.variables[what.symbol.index].space;
      if (what.symbol.where == Where::function_variable) op.space = function_.variables[what.symbol.index].space;
    }
  }
  if (op.space == isa::Space::param && !function_.entry) op.space = isa::Space::param_func;
  auto slot = slot_of(what, isa::Type::u64, wide);
  if (!slot) return false;
  if (operand.kind == Operand::Kind::address && operand.elements.size() > 1) return false;
  base = *slot;
  return true;
}

std::optional<uint32_t> FunctionDecoder::target(const Operand& operand) const {
  int32_t statement = function_.labels[operand.id].statement;
  if (statement < 0) return std::nullopt;
  return pc_of_statement_[static_cast<size_t>(statement)];
}

// Walks the operands beside the row's specifications; sources keep the places that the row gives them, so that an optional
// one that is left out leaves its slot at zero.
bool FunctionDecoder::operands(const ptx::Instruction& in, Op& op) {
  const auto& specs = in.form.row->operands;
  uint32_t* sources[] = {&op.a, &op.b, &op.c, &op.e};
  bool unused = false, addressed = false;
  bool* source_wide[] = {&op.a_wide, &op.b_wide, &op.c_wide, &unused};
  size_t source = 0, spec = 0;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const Operand& operand = in.operands[i];
    auto required_after = [&](size_t from) {
      size_t n = 0;
      for (size_t s = from; s < specs.size(); ++s) n += !specs[s].optional && !(s > 0 && specs[s - 1].pair);
      return n;
    };
    while (spec < specs.size() && specs[spec].optional && required_after(spec + 1) >= in.operands.size() - i) {
      ++spec;
      ++source;
    }
    if (spec >= specs.size()) return false;
    const isa::OperandSpec& s = specs[spec];
    if (s.name == "policy") {  // of a cache: it changes no value, and its width is not that of what is loaded
      ++spec;
      continue;
    }
    isa::Type type = in.form.operand_type(static_cast<int>(spec));
    if (s.shape == isa::Shape::predicate) type = isa::Type::pred;
    if (type == isa::Type::none) type = isa::Type::u32;
    bool wide = false;
    if (operand.kind == Operand::Kind::pair) {
      auto d = slot_of(operand.elements[0], type, op.d_wide), d2 = slot_of(operand.elements[1], isa::Type::pred, wide);
      if (!d || !d2) return false;
      op.d = *d;
      op.d2 = *d2;
    } else if (s.shape == isa::Shape::label) {
      auto pc = target(operand);
      if (!pc) return false;
      op.target = *pc;
    } else if (s.shape == isa::Shape::address) {
      if (source == 0 ? !address(operand, op, op.a, op.offset, op.a_wide)
                      : !address(operand, op, op.b, op.offset_b, op.b_wide))
        return false;
      ++source;
      addressed = true;
    } else if (operand.kind == Operand::Kind::vector || s.shape == isa::Shape::vector || isa::bits_of(type) > 64) {
      // 128 bits are two registers of 64.
      int lanes = in.form.operand_lanes(static_cast<int>(spec)) * (isa::bits_of(type) > 64 ? 2 : 1);
      if (!vector(operand, type, lanes, op)) return false;
      if (s.destination) op.d_wide = op.b_wide;
      if (!s.destination) ++source;
    } else if (s.shape == isa::Shape::immediate) {
      if (addressed) {
        op.list = static_cast<uint32_t>(operand.bits);  // cp.async's size: the offsets are taken
      } else {
        op.offset = static_cast<int64_t>(operand.bits);
      }
    } else if (s.destination) {
      auto slot = slot_of(operand, type, op.d_wide);
      if (!slot) return false;
      op.d = *slot;
      op.result_bits = static_cast<uint8_t>(isa::bits_of(type));
    } else {
      if (source >= 4) return false;
      auto slot = slot_of(operand, type, wide);
      if (!slot) return false;
      if (operand.negated) (source == 0 ? op.negate_a : op.negate_c) = true;
      *sources[source] = *slot;
      *source_wide[source] = wide;
      ++source;
    }
    spec += s.pair ? 2 : 1;
  }
  return true;
}

// What handlers want to know beyond slots.
void FunctionDecoder::finish(const isa::Form& form, Op& op) {
  std::string_view opcode = form.row->opcode;
  const Modifiers& m = *op.modifiers;
  if (op.kind == OpKind::step) {
    // Loads and stores without a vector slot in their row have one element all the same.
    bool plain = !form.row->effects.atomic && !form.row->effects.async;
    if ((form.row->effects.loads || form.row->effects.stores) && plain && op.count == 0) {
      op.list = static_cast<uint32_t>(code_.lists.size());
      op.count = 1;
      op.b_wide = form.row->effects.loads ? op.d_wide : op.b_wide;
      code_.lists.push_back(form.row->effects.loads ? op.d : op.b);
    }
    return;
  }
  op.flags = static_cast<uint8_t>((m.ftz ? kFlush : 0) | (m.sat ? kSaturate : 0) | (m.relu ? kRelu : 0) |
                                  (m.nan ? kNanWins : 0) | (m.oob ? kOutOfBounds : 0));
  if (opcode == "setp" || opcode == "set") {
    op.offset = m.relation;
    op.mode = static_cast<uint8_t>(m.combine);
    if (opcode == "set") op.list = truth_of(m);
  } else if (opcode == "lop3") {
    op.mode = static_cast<uint8_t>(m.combine);
  } else if (opcode == "and" || opcode == "or") {
    op.mode = static_cast<uint8_t>(opcode == "and" ? Combine::conjunction : Combine::disjunction);
  } else if (opcode == "prmt" || opcode == "testp") {
    constexpr std::string_view kModes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    constexpr std::string_view kClasses[] = {".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"};
    std::span<const std::string_view> words = kModes;
    if (opcode == "testp") words = kClasses;
    std::string_view word = form.at(opcode == "testp" ? "op" : "mode");
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] == word) op.mode = static_cast<uint8_t>(i);
  }
  if (m.carry_out) op.d2 = carry_;
  if (opcode == "addc" || opcode == "subc" || opcode == "madc") op.e = carry_;
}

bool FunctionDecoder::instruction(const ptx::Instruction& in, Op& op) {
  if (!in.form.row) return false;
  const isa::Row& row = *in.form.row;
  Modifiers m = modifiers_of(in.form);
  // What the registers' widths decide: the first destination and the first source.
  auto register_wide = [&](const Operand& operand, bool otherwise) {
    const Operand& o = operand.kind == Operand::Kind::pair ? operand.elements[0] : operand;
    return o.kind == Operand::Kind::reg ? wide_type(function_.registers[o.id].type) : otherwise;
  };
  if (!in.operands.empty()) m.d_wide = register_wide(in.operands[0], wide_type(m.type));
  if (in.operands.size() > 1) m.a_wide = register_wide(in.operands[1], wide_type(m.second));
  bool moves_pair = row.opcode == "mov" && m.type == isa::Type::b128;
  bool unpacks = row.opcode == "mov" && !moves_pair && !in.operands.empty() &&
                 (in.operands[0].kind == Operand::Kind::vector || in.operands.back().kind == Operand::Kind::vector);
  bool clock = row.opcode == "mov" && in.operands.size() == 2 && in.operands[1].kind == Operand::Kind::special &&
               isa::special_registers()[in.operands[1].id].timing;
  code_.modifiers.push_back(m);
  op.modifiers = &code_.modifiers.back();
  op.bits = static_cast<uint8_t>(std::min(isa::bits_of(m.type), 64));
  op.result_bits = op.bits;
  op.is_signed = isa::is_signed(m.type);
  op.space = m.space == isa::Space::shared_cluster ? isa::Space::shared : m.space;  // clusters have one CTA
  if (unpacks || clock || moves_pair) {
    op.kind = OpKind::step;
    op.step = find(control_bindings(), unpacks ? "mov{}" : moves_pair ? "mov128" : "mov%clock")->select(in.form, m, op);
  } else if (row.opcode == "bra") {
    op.kind = OpKind::branch;
  } else if (!bind(in.form, m, op)) {
    return false;
  }
  if (row.effects.call) return call(in, op);
  if (row.opcode == "brx.idx") return branch_table(in, op);
  if (clock) op.mode = static_cast<uint8_t>(in.operands[1].id);
  if (!operands(in, op)) return false;
  if (clock) op.mode = static_cast<uint8_t>(in.operands[1].id);
  finish(in.form, op);
  return true;
}

void FunctionDecoder::refuse(const ptx::Statement& statement, const std::string& why) {
  const ptx::Instruction& in = *statement.instruction();
  std::string words;
  for (const std::string& word : in.words) words += word;
  base::Finding finding;
  finding.code = "RUN0001";
  finding.place = base::place_of(module_.source, statement.span, module_.file);
  finding.message = fmt::format("'{}' is not executed by this engine{}{}", words, why.empty() ? "" : ": ", why);
  finding.hint = "judge on a GPU, or write it with instructions that `ptxlab doctor --isa` lists as executed";
  unsupported_.push_back(std::move(finding));
}

void FunctionDecoder::decode() {
  assign_registers();
  assign_stack();
  uint32_t pc = 0;
  for (const ptx::Statement& statement : function_.body) {
    pc_of_statement_.push_back(pc);
    pc += statement.instruction() != nullptr;
  }
  for (size_t i = 0; i < function_.body.size(); ++i) {
    const ptx::Instruction* in = function_.body[i].instruction();
    if (!in) continue;
    Op op;
    why_.clear();
    op.statement = static_cast<uint32_t>(i);
    op.id = static_cast<uint32_t>(image_.places.size());
    if (in->guard) {
      op.guarded = true;
      op.guard = register_slots_[in->guard->reg];
      op.guard_negated = in->guard->negated;
    }
    if (!instruction(*in, op)) refuse(function_.body[i], why_);
    image_.places.push_back({&code_, static_cast<uint32_t>(code_.ops.size())});
    code_.ops.push_back(op);
  }
  Op end;  // running off the end of a body returns
  end.kind = OpKind::step;
  isa::Form none;
  end.step = find(control_bindings(), "ret")->select(none, {}, end);
  end.id = static_cast<uint32_t>(image_.places.size());
  end.statement = static_cast<uint32_t>(function_.body.empty() ? 0 : function_.body.size() - 1);
  image_.places.push_back({&code_, static_cast<uint32_t>(code_.ops.size())});
  code_.ops.push_back(end);
  code_.read_slots = read_slots(code_);
  code_.entry = function_.entry;
}

void decode_function(const ptx::Module& module, Image& image, Code& code, const Variables& variables,
                     const std::map<const ptx::Function*, Code*>& codes, base::Findings& unsupported) {
  FunctionDecoder(module, image, code, variables, codes, unsupported).decode();
}

}  // namespace ptxlab::simt
