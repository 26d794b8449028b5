// Which registers an instruction reads and writes: what every data-flow analysis starts from.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::analysis {

struct RegisterUse {
  std::vector<uint32_t> reads;   // in operand order, the guard last; a register may stand here twice
  std::vector<uint32_t> writes;  // in operand order
  bool partial = false;          // guarded: where the guard is false the registers written keep their old values
};

RegisterUse register_use(const ptx::Instruction& instruction);

// True for operand `index` of an instruction that the instruction writes ("d", "d|p", "{d0, d1}").
bool is_destination(const ptx::Instruction& instruction, size_t index);

// The instruction's first word without modifiers: "ld", "setp", "bra".
inline std::string_view opcode_of(const ptx::Instruction& instruction) {
  return instruction.words.empty() ? std::string_view{} : std::string_view{instruction.words[0]};
}
bool has_word(const ptx::Instruction& instruction, std::string_view word);
// The n-th modifier that names a type, in written order; none where there is none.
isa::Type type_word(const ptx::Instruction& instruction, int n = 0);
// The state space a memory instruction names; generic where it names none.
isa::Space space_word(const ptx::Instruction& instruction);
// 1, 2, 4 or 8: the .vN modifier of a memory instruction.
int vector_word(const ptx::Instruction& instruction);

// Registers as the hardware counts them: 0 for a predicate, 1 up to 32 bits, 2 for 64, 4 for 128.
int units_of(const ptx::Register& reg);

}  // namespace ptxlab::analysis
