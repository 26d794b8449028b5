#include "estimate/lowering.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>

#include "analysis/registers.h"
#include "estimate/schedule.h"

namespace ptxlab::estimate {
namespace {

using analysis::has_word;
using analysis::opcode_of;
using isa::Type;

constexpr double kAluLatency = 4.5;     // fp32 and integer
constexpr double kDoubleLatency = 8;    // where an SM has more than a token fp64 unit
constexpr double kTokenLatency = 40;    // where it has two lanes
constexpr double kSpecialLatency = 20;  // mufu and the conversions beside it
constexpr double kShuffleLatency = 23;
constexpr double kSpecialRegister = 20;  // S2R
constexpr double kTensorLatency = 33;

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

int lanes_of(Pipe pipe, const Hardware& h) {
  switch (pipe) {
    case Pipe::fp32: return h.fp32;
    case Pipe::integer: return h.integer;
    case Pipe::special: return h.special;
    case Pipe::convert: return h.convert;
    case Pipe::half2: return h.half2;
    case Pipe::fp64: return h.fp64;
    case Pipe::none:
    case Pipe::tensor:
    case Pipe::memory:
    case Pipe::control: break;
  }
  return 128;
}

struct Made {
  Pipe pipe = Pipe::integer;
  double slots = 1;
  double latency = kAluLatency;
  double on_pipe = -1;  // instructions that run on `pipe`, where not all of them do
};

// Divisions and roots are sequences around one mufu.
Made division(const ptx::Instruction& i, Type type, const Hardware& h) {
  bool approx = has_word(i, ".approx") || has_word(i, ".full");
  if (type == Type::f64) return {Pipe::fp64, 16, h.fp64 < 16 ? 500. : 120.};
  if (isa::is_float(type)) return approx ? Made{Pipe::fp32, 4, 36} : Made{Pipe::fp32, 10, 60};
  bool constant = i.operands.size() > 2 && i.operands[2].kind == ptx::Operand::Kind::integer;
  bool wide = isa::bits_of(type) == 64;
  if (constant) return {Pipe::integer, wide ? 12. : 4., wide ? 40. : 18.};
  return wide ? Made{Pipe::integer, 70, 350} : Made{Pipe::integer, 20, 110};
}

Made root(const ptx::Instruction& i, Type type, const Hardware& h) {
  if (type == Type::f64) return {Pipe::fp64, 16, h.fp64 < 16 ? 500. : 120.};
  // Without .ftz the argument is scaled out of the denormal range and the result back.
  bool flush = has_word(i, ".ftz") || isa::bits_of(type) == 16;
  if (has_word(i, ".approx") || opcode_of(i) == "tanh")
    return {Pipe::special, flush ? 1. : 4., flush ? kSpecialLatency : 33, 1};
  return {Pipe::special, 8, 60, 1};
}

Made conversion(const ptx::Instruction& i, Type to, const Hardware& h) {
  Type from = analysis::type_word(i, 1);
  if (from == Type::none) from = to;
  bool float_to = isa::is_float(to), float_from = isa::is_float(from);
  if (to == Type::f64 || from == Type::f64) return {Pipe::convert, 1, kSpecialLatency, h.fp64 < 16 ? 8. : 4.};
  if (!float_to && !float_from) {
    // Widening to 64 bits writes a zero or a sign; what is narrower is a mask, often folded.
    if (isa::bits_of(to) == 64) return {Pipe::integer, isa::is_signed(from) ? 1. : 0.5};
    return {Pipe::integer, 0.5};
  }
  if (float_to && float_from)
    return {isa::bits_of(from) == 16 && isa::bits_of(to) == 32 ? Pipe::fp32 : Pipe::integer, 1, 5};
  if (isa::bits_of(to) == 64 || isa::bits_of(from) == 64) return {Pipe::convert, 1, kSpecialLatency, 4};
  return {Pipe::convert, 1, 14};
}

// M x N x K of ".m16n8k16", as multiply-adds of 16-bit inputs: narrower ones are as much faster.
double matrix_work(const ptx::Instruction& i) {
  double m = 16, n = 8, k = 16;
  for (const auto& word : i.words) {
    int a = 0, b = 0, c = 0;
    if (std::sscanf(word.c_str(), ".m%dn%dk%d", &a, &b, &c) == 3) m = a, n = b, k = c;
  }
  int narrowest = 64;
  for (int t = 0; t < 4; ++t)
    if (auto type = analysis::type_word(i, t); type != Type::none) narrowest = std::min(narrowest, isa::bits_of(type));
  if (has_word(i, ".tf32")) narrowest = 32;
  if (has_word(i, ".f64")) narrowest = 128;
  return m * n * k * std::max(1, narrowest) / 16;
}

Made floating(const ptx::Instruction& i, std::string_view opcode, Type type, const Hardware& h) {
  if (type == Type::f64) return {Pipe::fp64, 1, h.fp64 < 16 ? kTokenLatency : kDoubleLatency};
  if (one_of(opcode, {"neg", "abs"})) return {Pipe::fp32, 0.25};  // modifiers of the user's operand
  if (one_of(opcode, {"min", "max", "setp", "set", "selp", "slct", "testp", "copysign"})) return {Pipe::integer, 1};
  if (isa::bits_of(type) <= 16 || isa::info(type).lanes == 2) return {Pipe::half2, 1, 5};
  (void)i;
  return {Pipe::fp32, 1};
}

Made integers(const ptx::Instruction& i, std::string_view opcode, Type type) {
  bool wide = isa::bits_of(type) == 64;
  if (one_of(opcode, {"popc", "clz", "brev", "bfind"})) return {Pipe::special, wide ? 2. : 1., kSpecialLatency};
  if (one_of(opcode, {"mul", "mad"})) {
    // Integer multiply-adds run on half of the fp32 pipe; 64 bits of result take it twice.
    if (has_word(i, ".wide")) return {Pipe::fp32, 1, 5, 2};
    if (wide) return {Pipe::fp32, has_word(i, ".hi") ? 12. : 4., 14};
    return {Pipe::fp32, 1, kAluLatency, has_word(i, ".hi") ? 2. : 1.};
  }
  if (one_of(opcode, {"bfe", "bfi", "sad", "fns"})) return {Pipe::integer, 2, 2 * kAluLatency};
  if (opcode == "fns") return {Pipe::integer, 40, 150};
  return {Pipe::integer, wide ? 2. : 1., wide ? 6. : kAluLatency};
}

bool reads_special(const ptx::Instruction& i) {
  return i.operands.size() > 1 && i.operands[1].kind == ptx::Operand::Kind::special;
}

Made move(const ptx::Instruction& i) {
  if (reads_special(i)) return {Pipe::special, 1, kSpecialRegister, 0};
  for (const auto& operand : i.operands)  // packing and unpacking
    if (operand.kind == ptx::Operand::Kind::vector)
      return {Pipe::integer, 0.5 * static_cast<double>(operand.elements.size())};
  return {Pipe::integer, 0.1, 0};
}

Role role_of(const ptx::Instruction& i, std::string_view opcode) {
  if (opcode == "cp") {
    if (has_word(i, ".wait_group") || has_word(i, ".wait_all")) return Role::wait;
    return has_word(i, ".commit_group") ? Role::compute : Role::load;
  }
  if (one_of(opcode, {"ld", "ldu", "ldmatrix", "tex", "tld4", "suld"})) return Role::load;
  if (one_of(opcode, {"st", "stmatrix", "sust"})) return Role::store;
  if (one_of(opcode, {"atom", "red"})) return Role::atomic;
  if (one_of(opcode, {"shfl", "vote", "match", "redux", "elect", "activemask"})) return Role::shuffle;
  if (one_of(opcode, {"bar", "barrier"})) return Role::barrier;
  if (one_of(opcode, {"bra", "brx", "ret", "exit", "trap", "call"})) return Role::branch;
  if (one_of(opcode, {"membar", "fence"})) return Role::fence;
  return Role::compute;
}

Made make(const ptx::Instruction& i, std::string_view opcode, Role role, const Hardware& h) {
  Type type = analysis::type_word(i);
  auto space = analysis::space_word(i);
  switch (role) {
    case Role::load:
    case Role::store:
      if (space == isa::Space::param || space == isa::Space::constant) return {Pipe::integer, 0.25, 0};
      return {Pipe::memory, 1, h.shared_latency};
    case Role::atomic: return {Pipe::memory, 1, 2 * h.shared_latency};
    case Role::shuffle:
      if (opcode == "shfl" || opcode == "redux") return {Pipe::memory, opcode == "redux" ? 2. : 1., kShuffleLatency};
      return {Pipe::integer, opcode == "match" ? 20. : 1., opcode == "match" ? 60. : 12.};
    case Role::barrier: return {Pipe::control, 1, 0};
    case Role::wait: return {Pipe::control, 1, 0};
    case Role::branch: return {Pipe::control, opcode == "call" ? 2. : 1., 0};
    case Role::fence: return {Pipe::memory, 1, h.l2_latency};
    case Role::compute: break;
  }
  if (one_of(opcode, {"mma", "wmma"})) return {Pipe::tensor, 1, kTensorLatency};
  if (opcode == "cvta") return {Pipe::integer, 0, 0};
  if (opcode == "mov") return move(i);
  if (one_of(opcode, {"div", "rem"})) return division(i, type, h);
  if (one_of(opcode, {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "rcp", "sqrt"})) return root(i, type, h);
  if (opcode == "cvt") return conversion(i, type, h);
  if (isa::is_float(type)) return floating(i, opcode, type, h);
  return integers(i, opcode, type);
}

// --- what neighbours fold away ---

struct Uses {
  std::vector<uint32_t> definitions, uses, user, definer;  // by register; user, definer: the last one seen
};

Uses count_uses(const LoweredFunction& made) {
  Uses u;
  for (auto* list : {&u.definitions, &u.uses, &u.user, &u.definer}) list->resize(made.registers);
  for (uint32_t s = 0; s < made.code.size(); ++s) {
    for (uint32_t r : made.code[s].reads) {
      ++u.uses[r];
      u.user[r] = s;
    }
    for (uint32_t r : made.code[s].writes) {
      ++u.definitions[r];
      u.definer[r] = s;
    }
  }
  return u;
}

const ptx::Instruction* instruction_at(const ptx::Function& f, uint32_t statement) {
  return f.body[statement].instruction();
}

void set_slots(MachineCode& code, double slots) {
  if (code.slots > 0) code.pipe_cycles *= slots / code.slots;
  code.slots = slots;
}

// mul.wide + add.s64: one multiply-add with a 64-bit sum. add.s64 of a constant into an address: its offset. Results
// that nobody reads: nothing.
void fold(LoweredFunction& made) {
  Uses u = count_uses(made);
  const auto& f = *made.function;
  auto single = [&](uint32_t r) { return u.definitions[r] == 1; };
  for (uint32_t s = 0; s < made.code.size(); ++s) {
    const auto* i = instruction_at(f, s);
    auto& code = made.code[s];
    if (!i || code.slots == 0 || code.role != Role::compute || code.writes.empty()) continue;
    if (std::all_of(code.writes.begin(), code.writes.end(), [&](uint32_t r) { return u.uses[r] == 0; })) {
      set_slots(code, 0);
      continue;
    }
    if (opcode_of(*i) != "add" || isa::bits_of(analysis::type_word(*i)) != 64) continue;
    bool constant = i->operands.size() == 3 && i->operands[2].kind == ptx::Operand::Kind::integer;
    uint32_t sum = code.writes[0];
    if (constant && single(sum) && u.uses[sum] == 1 && made.code[u.user[sum]].pipe == Pipe::memory) {
      set_slots(code, 0);
      code.latency = 0;
      continue;
    }
    for (uint32_t r : code.reads) {
      if (!single(r) || u.uses[r] != 1) continue;
      const auto* from = instruction_at(f, u.definer[r]);
      if (!from || made.block_of[u.definer[r]] != made.block_of[s]) continue;
      if (opcode_of(*from) == "mul" && has_word(*from, ".wide")) {
        set_slots(code, 0);
        code.latency = 0;
        break;
      }
      if (opcode_of(*from) == "shl") {  // LEA, LEA.HI.X
        set_slots(made.code[u.definer[r]], 0);
        made.code[u.definer[r]].latency = 0;
        break;
      }
    }
  }
}

void measure_loops(LoweredFunction& made, const analysis::Cfg& cfg) {
  made.loop_slots.assign(cfg.blocks().size(), 0);
  for (const auto& loop : cfg.loops()) {
    // Code is fetched again as often as the innermost loop goes around, so that loop is a block's working set.
    double slots = 0;
    for (uint32_t block : loop.blocks)
      for (uint32_t s = cfg.blocks()[block].begin; s < cfg.blocks()[block].end; ++s) slots += made.code[s].slots;
    for (uint32_t block : loop.blocks) made.loop_slots[block] = slots;  // inner loops come later and overwrite
  }
}

}  // namespace

std::string_view name_of(Pipe pipe) {
  switch (pipe) {
    case Pipe::none: return "none";
    case Pipe::fp32: return "fp32";
    case Pipe::integer: return "integer";
    case Pipe::special: return "special functions";
    case Pipe::convert: return "conversions";
    case Pipe::half2: return "16-bit floats";
    case Pipe::fp64: return "fp64";
    case Pipe::tensor: return "tensor";
    case Pipe::memory: return "load/store";
    case Pipe::control: return "control";
  }
  return "";
}

MachineCode lower(const ptx::Instruction& instruction, const Hardware& h) {
  MachineCode code;
  auto opcode = opcode_of(instruction);
  code.role = role_of(instruction, opcode);
  if (code.role == Role::load || code.role == Role::store || code.role == Role::atomic)
    code.space = analysis::space_word(instruction);
  if (opcode == "cp") code.space = isa::Space::global;
  code.ordered = code.role == Role::load && !has_word(instruction, ".nc");
  Made made = make(instruction, opcode, code.role, h);
  code.pipe = made.pipe;
  code.slots = made.slots;
  code.latency = made.latency;
  double on_pipe = made.on_pipe < 0 ? made.slots : made.on_pipe;
  // A scheduler owns a quarter of each pipe.
  code.pipe_cycles = on_pipe * 32 / (lanes_of(made.pipe, h) / 4.);
  // Integer multiply-adds have the rate of the integer pipe.
  if (made.pipe == Pipe::fp32 && one_of(opcode, {"mul", "mad"}) && isa::is_integer(analysis::type_word(instruction)))
    code.pipe_cycles = on_pipe * 32 / (h.integer / 4.);
  code.either = made.pipe == Pipe::integer && one_of(opcode, {"add", "sub", "mov", "shl"});
  if (made.pipe == Pipe::tensor) code.pipe_cycles = matrix_work(instruction) / (h.tensor / 4.);
  if (made.pipe == Pipe::memory) code.pipe_cycles = 0;  // the SM's, and by what is accessed
  if (code.role == Role::load && code.pipe != Pipe::memory) code.role = Role::compute;
  if (code.role == Role::store && code.pipe != Pipe::memory) code.role = Role::compute;
  auto use = analysis::register_use(instruction);
  code.reads = std::move(use.reads);
  code.writes = std::move(use.writes);
  if (use.partial) code.reads.insert(code.reads.end(), code.writes.begin(), code.writes.end());
  return code;
}

LoweredFunction lower(const ptx::Function& function, const Hardware& h) {
  LoweredFunction made;
  made.function = &function;
  made.registers = function.registers.size();
  made.code.resize(function.body.size());
  for (size_t s = 0; s < function.body.size(); ++s)
    if (const auto* i = function.body[s].instruction()) made.code[s] = lower(*i, h);
  analysis::Cfg cfg(function);
  made.block_of.resize(function.body.size());
  for (uint32_t b = 0; b < cfg.blocks().size(); ++b) {
    made.blocks.emplace_back(cfg.blocks()[b].begin, cfg.blocks()[b].end);
    for (uint32_t s = cfg.blocks()[b].begin; s < cfg.blocks()[b].end; ++s) made.block_of[s] = b;
  }
  fold(made);
  for (const auto& code : made.code) made.slots += code.slots;
  measure_loops(made, cfg);
  for (const auto& [begin, end] : made.blocks) made.order.push_back(schedule(function, made.code, begin, end));
  return made;
}

}  // namespace ptxlab::estimate
