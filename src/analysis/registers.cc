#include "analysis/registers.h"

#include <algorithm>
#include <array>

namespace ptxlab::analysis {
namespace {

// Instructions whose first operand is not a result, for those the verifier found no form for.
constexpr std::array kNoResult{"st",    "red",       "bra",     "brx",     "bar",      "barrier",      "ret",
                               "exit",  "trap",      "membar",  "fence",   "prefetch", "prefetchu",    "cp",
                               "brkpt", "nanosleep", "pmevent", "discard", "sust",     "applypriority"};

bool by_opcode(const ptx::Instruction& instruction, size_t index) {
  if (index != 0) return false;
  auto opcode = opcode_of(instruction);
  return std::none_of(kNoResult.begin(), kNoResult.end(), [&](auto name) { return opcode == name; });
}

bool call_result(const ptx::Instruction& instruction, size_t index) {
  using Kind = ptx::Operand::Kind;
  const auto& operands = instruction.operands;
  return index == 0 && operands.size() > 1 && operands[0].kind == Kind::list && operands[1].kind != Kind::list;
}

// Optional operands may be left out, so the written ones are matched to the row's from the left, skipping optional ones
// while more are specified than written.
bool by_form(const ptx::Instruction& instruction, size_t index) {
  const auto specs = instruction.form.row->operands;
  size_t spec = 0;
  for (size_t i = 0; i < instruction.operands.size() && spec < specs.size(); ++i) {
    size_t left_written = instruction.operands.size() - i;
    while (spec < specs.size() && specs[spec].optional && specs.size() - spec > left_written &&
           specs[spec].destination && i == 0 && instruction.operands[i].kind == ptx::Operand::Kind::address)
      ++spec;
    if (spec >= specs.size()) break;
    if (i == index) return specs[spec].destination;
    // The second half of "p|q" is a spec of its own but stands in the same written operand.
    spec += specs[spec].pair ? 2 : 1;
  }
  return false;
}

void collect(const ptx::Operand& operand, std::vector<uint32_t>& into) {
  using Kind = ptx::Operand::Kind;
  // Operands nest at most two deep ({ } inside [ ] or ( )), so a small explicit stack replaces recursion.
  std::vector<const ptx::Operand*> open{&operand};
  while (!open.empty()) {
    const auto* next = open.back();
    open.pop_back();
    if (next->kind == Kind::reg) into.push_back(next->id);
    for (auto it = next->elements.rbegin(); it != next->elements.rend(); ++it) open.push_back(&*it);
  }
}

}  // namespace

bool is_destination(const ptx::Instruction& instruction, size_t index) {
  if (opcode_of(instruction) == "call") return call_result(instruction, index);
  if (index >= instruction.operands.size()) return false;
  if (instruction.operands[index].kind == ptx::Operand::Kind::address) return false;
  return instruction.form.row ? by_form(instruction, index) : by_opcode(instruction, index);
}

RegisterUse register_use(const ptx::Instruction& instruction) {
  RegisterUse use;
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    collect(instruction.operands[i], is_destination(instruction, i) ? use.writes : use.reads);
  if (instruction.guard) {
    use.reads.push_back(instruction.guard->reg);
    use.partial = true;
  }
  return use;
}

bool has_word(const ptx::Instruction& instruction, std::string_view word) {
  return std::find(instruction.words.begin(), instruction.words.end(), word) != instruction.words.end();
}

isa::Type type_word(const ptx::Instruction& instruction, int n) {
  for (size_t i = 1; i < instruction.words.size(); ++i)
    if (auto type = isa::type_named(instruction.words[i]); type && n-- == 0) return *type;
  return isa::Type::none;
}

isa::Space space_word(const ptx::Instruction& instruction) {
  for (size_t i = 1; i < instruction.words.size(); ++i)
    if (auto space = isa::space_named(instruction.words[i])) return *space;
  return isa::Space::generic;
}

int vector_word(const ptx::Instruction& instruction) {
  if (has_word(instruction, ".v2")) return 2;
  if (has_word(instruction, ".v4")) return 4;
  if (has_word(instruction, ".v8")) return 8;
  return 1;
}

int units_of(const ptx::Register& reg) {
  int bits = isa::bits_of(reg.type);
  if (reg.type == isa::Type::pred || bits == 0) return 0;
  return std::max(1, bits / 32) * std::max(1, reg.vector);
}

}  // namespace ptxlab::analysis
