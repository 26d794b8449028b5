// Every computing instruction that the twin and the engine both know, as patterns, and modules made of them: each
// instruction reads inputs that the threads load and leaves its result in memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "isa/table.h"

namespace ptxlab::twin {

// A pattern is an instruction whose modifiers may be alternatives, "add{.rn,.rz}{,.ftz}.f32 f, f, f", and whose
// operands are letters that say which register and which values:
//   h 16-bit integer, r 32-bit integer, q 64-bit integer, s 32-bit shift amount or position, b 32-bit small number,
//   o 8-bit integer, x y z integers of 16, 32, 64 bits that are not 0, e f16, k bf16 (16-bit registers), E f16x2,
//   K bf16x2 (32-bit registers), F f32x2 (64-bit registers), f f32, d f64, p predicate, c 8-bit table or selector as an
//   immediate; as results only: R any 32 bits, Q a pair of predicates, L a pair of a 32-bit integer and a predicate.
// A leading ~ says that the result is compared within one unit in the last place.
std::vector<std::string_view> patterns();
// The alternatives written out.
std::vector<std::string> expand(std::string_view pattern);

struct Instruction {
  std::string text;   // "add.rn.f32 f, f, f"
  char result = 'r';  // letter of the first operand
  bool near = false;  // within one unit
};
// The patterns', then every computing form of the table that no pattern writes.
std::vector<Instruction> all_instructions();
// A row that reads registers and constants and writes registers, and nothing else; without those that only look so: what
// depends on an address or on the stack, what has no result, and approximations that the twin does not make.
bool computes(const isa::Row& row);

inline constexpr uint32_t kThreads = 128;
inline constexpr uint32_t kSlots = 4;  // input registers of each letter
inline constexpr std::string_view kLetters = "hrqsbekEKfdpoxyzF";
inline constexpr uint32_t kInputBytes = 8;  // each input value has eight bytes in the buffer, each result too

struct Generated {
  std::string text;                  // a module with one entry (.u64 in, .u64 out)
  std::vector<std::string> written;  // each instruction with its registers
};
// Operands are drawn from the input registers. With `chained`, also from earlier results of the same letter, where
// those are integers: NaN and approximate results stay out of chains.
Generated generate(const std::vector<Instruction>& instructions, base::Random& random, bool chained);

// Inputs for kThreads threads: kLetters x kSlots x kThreads values.
std::vector<uint64_t> inputs(base::Random& random);
size_t input_index(char letter, uint32_t slot, uint32_t thread);

}  // namespace ptxlab::twin
