#include "cta.h"

#include <algorithm>
#include <cstring>

namespace ptxlab::twin {

using isa::Space;
using isa::Type;
using ptx::Operand;

Cta::Cta(const ptx::Module& module, const ptx::Function& entry, const launch::ResolvedLaunch& launch,
         const Layout& layout, const std::vector<std::vector<uint8_t>>& parameters, simt::Memory& memory,
         simt::Memory& variables, launch::Dim3 id)
    : module_(module),
      entry_(entry),
      launch_(launch),
      layout_(layout),
      memory_(memory),
      variables_(variables),
      id_(id) {
  shared_.resize(layout.shared_bytes + launch.shared_bytes);
  threads_.resize(launch.block[0] * launch.block[1] * launch.block[2]);
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    threads_[i].index = i;
    threads_[i].frames.push_back(enter(threads_[i], entry));
    threads_[i].frame().parameters = parameters;
  }
}

bool Cta::advance(const Options& options, Outcome& outcome) {
  bool progress = false;
  for (Thread& thread : threads_) {
    for (uint32_t i = 0; i < options.slice && thread.state == Thread::State::running; ++i) {
      step(thread);
      progress = true;
      if (++outcome.thread_instructions > options.budget) problem(thread, "over the budget of instructions");
      if (!problem_.empty()) break;
    }
    if (!problem_.empty()) break;
  }
  if (problem_.empty()) progress |= resolve_warps();
  if (problem_.empty()) progress |= resolve_barriers();
  if (problem_.empty()) return progress;
  outcome.problem = problem_;
  outcome.line = problem_line_;
  return false;
}

void Cta::expect_ended(Outcome& outcome) const {
  for (const Thread& thread : threads_) {
    if (thread.state == Thread::State::ended) continue;
    outcome.problem = "deadlock";
    outcome.line = thread.instruction() ? thread.instruction()->line : 0;
    return;
  }
}

void Cta::problem(const Thread& thread, std::string text) {
  if (!problem_.empty()) return;
  problem_ = std::move(text);
  const ptx::Instruction* at = thread.state == Thread::State::ended ? nullptr : thread.instruction();
  problem_line_ = at ? at->line : 0;
}

void Cta::step(Thread& thread) {
  Frame& frame = thread.frame();
  if (frame.pc >= frame.function->body.size()) {
    leave(thread);
    return;
  }
  const ptx::Instruction* instruction = frame.function->body[frame.pc].instruction();
  if (!instruction) {
    ++frame.pc;
    return;
  }
  if (instruction->guard && (frame.registers[instruction->guard->reg] & 1) == instruction->guard->negated) {
    ++frame.pc;
    return;
  }
  execute(thread, *instruction, Operation(*instruction));
}

void Cta::execute(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  if (control(thread, instruction, op) || synchronisation(thread, instruction, op)) return;
  if (!memory_operation(thread, instruction, op)) {
    op.name == "mov" ? move(thread, instruction, op) : compute(thread, instruction, op);
  }
  ++thread.frame().pc;
}

bool Cta::control(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  Frame& frame = thread.frame();
  if (op.name == "bra") {
    frame.pc = static_cast<size_t>(frame.function->labels[instruction.operands[0].id].statement);
  } else if (op.name == "call") {
    call(thread, instruction);
  } else if (op.name == "ret") {
    leave(thread);
  } else if (op.name == "exit") {
    thread.state = Thread::State::ended;
  } else if (op.name == "trap") {
    problem(thread, "trap");
  } else {
    return false;
  }
  return true;
}

Frame Cta::enter(Thread& thread, const ptx::Function& function) {
  Frame frame;
  frame.function = &function;
  frame.registers.resize(function.registers.size());
  for (const ptx::Variable& v : function.parameters) frame.parameters.emplace_back(v.bytes());
  for (const ptx::Variable& v : function.results) frame.results.emplace_back(v.bytes());
  for (const ptx::Variable& v : function.variables) {
    frame.parameter_variables.emplace_back(v.space == Space::param ? v.bytes() : 0);
    uint64_t at = 0;
    if (v.space == Space::local) {
      const uint64_t alignment = std::max(1u, v.alignment());
      at = (thread.local.size() + alignment - 1) / alignment * alignment;
      thread.local.resize(at + v.bytes());
    }
    frame.local_offsets.push_back(at);
  }
  return frame;
}

// call (results), function, (arguments); a function without a body (vprintf, __assertfail) does nothing.
void Cta::call(Thread& thread, const ptx::Instruction& instruction) {
  const ptx::Function* callee = nullptr;
  const Operand* arguments = nullptr;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::symbol && operand.symbol.where == ptx::SymbolRef::Where::function)
      callee = &module_.functions[operand.symbol.index];
    else if (operand.kind == Operand::Kind::reg)
      callee = function_at(module_, value(thread, operand, Type::b64));
    else if (operand.kind == Operand::Kind::list && callee)
      arguments = &operand;
  }
  if (callee && !callee->has_body) callee = module_.function(callee->name);
  if (!callee) return problem(thread, "call of something unknown");
  if (!callee->has_body) {
    ++thread.frame().pc;
    return;
  }
  Frame next = enter(thread, *callee);
  for (size_t i = 0; arguments && i < arguments->elements.size() && i < next.parameters.size(); ++i) {
    const Operand& from = arguments->elements[i];
    const uint64_t bytes = next.parameters[i].size();
    if (from.kind == Operand::Kind::symbol) {
      Place source = parameter_place(thread, from, bytes);
      if (!source.data) return problem(thread, "an argument that is no parameter");
      std::memcpy(next.parameters[i].data(), source.data, bytes);
    } else {
      const uint64_t raw = value(thread, from, callee->parameters[i].type);
      std::memcpy(next.parameters[i].data(), &raw, std::min<uint64_t>(bytes, 8));
    }
  }
  thread.frames.push_back(std::move(next));
}

void Cta::leave(Thread& thread) {
  if (thread.frames.size() == 1) {
    thread.state = Thread::State::ended;
    return;
  }
  std::vector<std::vector<uint8_t>> results = std::move(thread.frame().results);
  thread.frames.pop_back();
  const ptx::Instruction& at = *thread.instruction();
  if (!at.operands.empty() && at.operands[0].kind == Operand::Kind::list) {
    for (size_t i = 0; i < at.operands[0].elements.size() && i < results.size(); ++i) {
      const Operand& to = at.operands[0].elements[i];
      if (to.kind == Operand::Kind::reg) {
        uint64_t raw = 0;
        std::memcpy(&raw, results[i].data(), std::min<size_t>(8, results[i].size()));
        assign(thread, to, raw);
      } else if (Place target = parameter_place(thread, to, results[i].size()); target.data) {
        std::memcpy(target.data, results[i].data(), results[i].size());
      }
    }
  }
  ++thread.frame().pc;
}

uint64_t Cta::special(const Thread& thread, const Operand& operand) {
  const std::string_view name = isa::special_registers()[operand.id].name;
  const size_t c = operand.component < 0 ? 0 : static_cast<size_t>(operand.component);
  const uint32_t lane = thread.index % 32;
  auto of = [&](const launch::Dim3& d) -> uint64_t { return c < 3 ? d[c] : 0; };
  if (name == "%tid") {
    const launch::Dim3& b = launch_.block;
    return of({thread.index % b[0], thread.index / b[0] % b[1], thread.index / b[0] / b[1]});
  }
  if (name == "%ntid") return of(launch_.block);
  if (name == "%ctaid") return of(id_);
  if (name == "%nctaid") return of(launch_.grid);
  if (name == "%laneid") return lane;
  if (name == "%warpid") return thread.index / 32;
  if (name == "%nwarpid") return (threads_.size() + 31) / 32;
  if (name == "%lanemask_eq") return uint64_t{1} << lane;
  if (name == "%lanemask_lt") return mask(static_cast<int>(lane));
  if (name == "%lanemask_le") return mask(static_cast<int>(lane) + 1);
  if (name == "%lanemask_gt") return mask(32) & ~mask(static_cast<int>(lane) + 1);
  if (name == "%lanemask_ge") return mask(32) & ~mask(static_cast<int>(lane));
  if (name == "%dynamic_smem_size") return launch_.shared_bytes;
  if (name == "%total_smem_size") return shared_.size();
  problem(thread, "special register " + std::string(name));
  return 0;
}

uint64_t function_address(const ptx::Module& module, std::string_view name) {
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].name == name && module.functions[i].has_body) return kCodeBase + 16 * (i + 1);
  return 0;
}
const ptx::Function* function_at(const ptx::Module& module, uint64_t address) {
  for (const ptx::Function& function : module.functions)
    if (function.has_body && function_address(module, function.name) == address) return &function;
  return nullptr;
}

uint64_t Cta::symbol_address(Thread& thread, const Operand& operand) {
  using Where = ptx::SymbolRef::Where;
  const uint32_t index = operand.symbol.index;
  if (operand.symbol.where == Where::function) return function_address(module_, module_.functions[index].name);
  if (operand.symbol.where == Where::module_variable) {
    const ptx::Variable& v = module_.variables[index];
    if (v.space != Space::shared) return layout_.module_address[index];
    auto at = layout_.shared.find({nullptr, index});
    return at == layout_.shared.end() ? layout_.shared_bytes : at->second;
  }
  if (operand.symbol.where == Where::function_variable) {
    const Frame& frame = thread.frame();
    if (frame.function->variables[index].space == Space::local) return frame.local_offsets[index];
    auto at = layout_.shared.find({frame.function, index});
    if (at != layout_.shared.end()) return at->second;
    if (frame.function->variables[index].space == Space::shared) return layout_.shared_bytes;
  }
  problem(thread, "address of '" + operand.name + "'");
  return 0;
}

// A source's bits, masked to its type.
uint64_t Cta::value(Thread& thread, const Operand& operand, Type type) {
  const int bits = type == Type::pred ? 1 : type == Type::none ? 64 : isa::bits_of(type);
  uint64_t raw = 0;
  switch (operand.kind) {
    case Operand::Kind::reg: raw = thread.frame().registers[operand.id]; break;
    case Operand::Kind::special: raw = special(thread, operand); break;
    case Operand::Kind::integer: raw = operand.bits; break;
    case Operand::Kind::floating:
      if (operand.single_precision && bits == 32)
        raw = std::stoull(operand.name.substr(2), nullptr, 16);
      else
        raw = type == Type::f64 || bits == 64 ? operand.bits : convert(operand.bits, kF64, format_of(type), {});
      break;
    case Operand::Kind::symbol: raw = symbol_address(thread, operand) + static_cast<uint64_t>(operand.offset); break;
    case Operand::Kind::vector: {  // packed, the first element lowest
      const int each = bits / static_cast<int>(operand.elements.size());
      for (size_t i = operand.elements.size(); i-- > 0;)
        raw = raw << each | (value(thread, operand.elements[i], Type::none) & mask(each));
      break;
    }
    case Operand::Kind::label:
    case Operand::Kind::address:
    case Operand::Kind::sink:
    case Operand::Kind::pair:
    case Operand::Kind::list:
    case Operand::Kind::name: problem(thread, "operand '" + operand.name + "'"); break;
  }
  if (operand.negated) raw = !(raw & 1);
  return raw & mask(bits);
}

void Cta::assign(Thread& thread, const Operand& operand, uint64_t v) {
  Frame& frame = thread.frame();
  switch (operand.kind) {
    case Operand::Kind::reg: {
      const Type type = frame.function->registers[operand.id].type;
      frame.registers[operand.id] = v & mask(type == Type::pred ? 1 : isa::bits_of(type));
      break;
    }
    case Operand::Kind::sink: break;
    case Operand::Kind::vector: {  // unpacked, the lowest part first
      for (const Operand& element : operand.elements) {
        if (element.kind == Operand::Kind::sink) return problem(thread, "a sink in a vector");
        assign(thread, element, v);
        v >>= isa::bits_of(frame.function->registers[element.id].type);
      }
      break;
    }
    case Operand::Kind::special:
    case Operand::Kind::integer:
    case Operand::Kind::floating:
    case Operand::Kind::symbol:
    case Operand::Kind::label:
    case Operand::Kind::address:
    case Operand::Kind::pair:
    case Operand::Kind::list:
    case Operand::Kind::name: problem(thread, "destination '" + operand.name + "'"); break;
  }
}

void Cta::move(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  assign(thread, instruction.operands[0], value(thread, instruction.operands[1], op.type()));
}

// The type that source number n of an operation is read with.
static Type source_type(const Operation& op, size_t n) {
  const Type type = op.type();
  const std::string& name = op.name;
  if (name == "cvt") return op.has("pack") && n == 2 ? Type::b32 : op.type(op.types.size() >= 2 ? 1 : 0);
  if ((name == "add" || name == "sub" || name == "fma") && op.types.size() == 2 && isa::is_float(type))
    return n == (name == "fma" ? 2u : 1u) ? type : op.type(1);
  if (name == "dp4a" || name == "dp2a") return Type::b32;
  if (name == "fns") return Type::b32;
  if (name == "lop3" && n == 4) return Type::pred;
  if (name == "setp") return n == 2 ? Type::pred : type;
  if (name == "set") return n == 2 ? Type::pred : op.type(1);
  if (name == "selp") return n == 2 ? Type::pred : type;
  if (name == "slct") return n == 2 ? op.type(1) : type;
  if (name == "testp") return type;
  if (name == "shl" || name == "shr") return n == 1 ? Type::b32 : type;
  if (name == "bfe") return n == 0 ? type : Type::b32;
  if (name == "bfi") return n < 2 ? type : Type::b32;
  if ((name == "mad" || name == "fma") && n == 2 && op.has("wide"))
    return isa::bits_of(type) == 16 ? Type::b32 : Type::b64;
  if (name == "lop3" && n == 3) return Type::b32;
  return type;
}

void Cta::compute(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  const Operand& destination = instruction.operands[0];
  Values v;
  v.carry_in = thread.carry;
  for (size_t i = 1; i < instruction.operands.size() && i <= v.in.size(); ++i) {
    v.in[i - 1] = value(thread, instruction.operands[i], source_type(op, i - 1));
    ++v.sources;
  }
  if (!problem_.empty()) return;
  if (!comparison(op, v) && !conversion(op, v) && !float_operation(op, v) && !integer_operation(op, v))
    return problem(thread, "instruction '" + op.name + "'");
  if (!v.problem.empty()) return problem(thread, v.problem);
  if (op.has("cc")) thread.carry = v.carry_out;
  if (destination.kind == Operand::Kind::pair) {
    assign(thread, destination.elements[0], v.out);
    assign(thread, destination.elements[1], v.second);
  } else {
    assign(thread, destination, v.out);
  }
}

}  // namespace ptxlab::twin
