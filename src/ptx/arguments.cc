#include "ptx/arguments.h"

namespace ptxlab::ptx {
namespace {

// Whether an operand has to be written, and whether it may be.
enum class Presence { always, may, never };

Presence presence(const isa::Form& form, const isa::OperandSpec& spec) {
  if (spec.present_with >= 0)
    return form.taken[static_cast<size_t>(spec.present_with)] >= 0 ? Presence::always : Presence::never;
  return spec.optional ? Presence::may : Presence::always;
}

// The second half of a pair is written with the first: p|q.
bool second_half(std::span<const isa::OperandSpec> specs, size_t i) { return i > 0 && specs[i - 1].pair; }

}  // namespace

OperandCount operand_count(const isa::Form& form) {
  OperandCount count;
  auto specs = form.row->operands;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (second_half(specs, i)) continue;
    Presence part = presence(form, specs[i]);
    count.least += part == Presence::always;
    count.most += part != Presence::never;
  }
  return count;
}

Arguments arguments_of(const Instruction& instruction, const isa::Form& form) {
  Arguments arguments;
  arguments.position.fill(-1);
  const auto& written = instruction.operands;
  OperandCount count = operand_count(form);
  int spare = static_cast<int>(written.size()) - count.least;
  arguments.fits = spare >= 0 && static_cast<int>(written.size()) <= count.most;
  if (!arguments.fits) return arguments;
  auto specs = form.row->operands;
  size_t next = 0;
  for (size_t i = 0; i < specs.size() && next < written.size(); ++i) {
    if (second_half(specs, i)) continue;
    Presence part = presence(form, specs[i]);
    if (part == Presence::never || (part == Presence::may && spare-- <= 0)) continue;
    const Operand& operand = written[next];
    auto position = static_cast<int8_t>(next++);
    bool halves = specs[i].pair && operand.kind == Operand::Kind::pair;
    arguments.at[i] = halves ? &operand.elements[0] : &operand;
    arguments.position[i] = position;
    if (halves && i + 1 < specs.size()) {
      arguments.at[i + 1] = &operand.elements[1];
      arguments.position[i + 1] = position;
    }
  }
  return arguments;
}

}  // namespace ptxlab::ptx
