#include "analysis/instruction_mix.h"

#include <algorithm>
#include <numeric>

#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool half(isa::Type type) {
  return type == isa::Type::f16 || type == isa::Type::f16x2 || type == isa::Type::bf16 || type == isa::Type::bf16x2;
}

MixClass arithmetic_of(isa::Type type) {
  if (type == isa::Type::f64) return MixClass::fp64;
  if (half(type)) return MixClass::fp16;
  return isa::is_float(type) ? MixClass::fp32 : MixClass::integer;
}

MixClass memory_of(const ptx::Instruction& instruction) {
  switch (space_word(instruction)) {
    case isa::Space::shared:
    case isa::Space::shared_cluster: return MixClass::shared;
    case isa::Space::local: return MixClass::local;
    case isa::Space::constant: return MixClass::constant;
    case isa::Space::param:
    case isa::Space::param_func: return MixClass::parameter;
    case isa::Space::none:
    case isa::Space::generic:
    case isa::Space::reg:
    case isa::Space::global:
    case isa::Space::tex: return MixClass::global;
  }
  return MixClass::global;
}

bool is_async(const ptx::Instruction& instruction) {
  if (opcode_of(instruction) == "cp") return true;
  return opcode_of(instruction) == "st" && has_word(instruction, ".async");
}

bool is_tensor(std::string_view opcode, const ptx::Instruction& instruction) {
  if (opcode == "mma" || opcode == "tcgen05") return true;
  return (opcode == "wmma" || opcode == "wgmma") &&
         (has_word(instruction, ".mma") || has_word(instruction, ".mma_async"));
}

}  // namespace

std::string_view name_of(MixClass part) {
  switch (part) {
    case MixClass::fp32: return "fp32";
    case MixClass::fp16: return "fp16";
    case MixClass::fp64: return "fp64";
    case MixClass::tensor: return "tensor";
    case MixClass::special: return "special functions";
    case MixClass::integer: return "integer";
    case MixClass::compare: return "comparisons";
    case MixClass::conversion: return "conversions";
    case MixClass::move: return "moves";
    case MixClass::exchange: return "warp exchanges";
    case MixClass::parameter: return "parameters";
    case MixClass::global: return "global memory";
    case MixClass::shared: return "shared memory";
    case MixClass::local: return "local memory";
    case MixClass::constant: return "constant memory";
    case MixClass::atomic: return "atomics";
    case MixClass::async_copy: return "asynchronous copies";
    case MixClass::barrier: return "barriers";
    case MixClass::fence: return "fences";
    case MixClass::control: return "control";
    case MixClass::other:
    case MixClass::kEnd: break;
  }
  return "other";
}

MixClass class_of(const ptx::Instruction& instruction) {
  auto opcode = opcode_of(instruction);
  auto type = type_word(instruction);
  if (is_async(instruction)) return MixClass::async_copy;
  if (is_tensor(opcode, instruction)) return MixClass::tensor;
  if (one_of(opcode,
             {"ld", "ldu", "st", "prefetch", "prefetchu", "discard", "applypriority", "tex", "tld4", "suld", "sust"}))
    return memory_of(instruction);
  if (one_of(opcode, {"ldmatrix", "stmatrix"})) return MixClass::shared;
  if (opcode == "wmma") return memory_of(instruction);
  if (one_of(opcode, {"atom", "red", "sured", "multimem"})) return MixClass::atomic;
  if (one_of(opcode, {"bar", "barrier", "mbarrier", "griddepcontrol"})) return MixClass::barrier;
  if (one_of(opcode, {"membar", "fence", "wgmma"})) return MixClass::fence;
  if (one_of(opcode, {"shfl", "vote", "match", "redux", "activemask", "elect", "movmatrix"})) return MixClass::exchange;
  if (one_of(opcode, {"bra", "brx", "ret", "exit", "call", "trap", "brkpt", "nanosleep"})) return MixClass::control;
  if (one_of(opcode, {"setp", "set", "testp"})) return MixClass::compare;
  if (one_of(opcode, {"cvt"})) return MixClass::conversion;
  if (one_of(opcode, {"mov", "selp", "slct", "cvta", "prmt", "isspacep", "mapa", "getctarank"})) return MixClass::move;
  if (one_of(opcode, {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"})) return MixClass::special;
  if (opcode == "div" && isa::is_float(type)) return MixClass::special;
  return instruction.words.empty() ? MixClass::other : arithmetic_of(type);
}

void InstructionMix::add(const InstructionMix& more) {
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += more.counts[i];
}

uint32_t InstructionMix::total() const { return std::accumulate(counts.begin(), counts.end(), 0u); }

}  // namespace ptxlab::analysis
