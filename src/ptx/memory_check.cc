#include "ptx/memory_check.h"

#include <fmt/format.h>

namespace ptxlab::ptx {
namespace {

// The bytes that an access moves; 0 where the form does not say.
uint64_t access_bytes(const isa::Form& form) {
  std::string_view opcode = form.row->opcode;
  bool plain = opcode == "ld" || opcode == "st" || opcode == "ldu" || opcode == "atom" || opcode == "red" ||
               opcode.starts_with("ld.") || opcode.starts_with("st.");
  if (!plain || form.type() == isa::Type::none) return 0;
  return static_cast<uint64_t>(isa::bytes_of(form.type()) * form.vector_length());
}

}  // namespace

void check_memory(const OperandCheck& operands, const Instruction& instruction, const Arguments& arguments,
                  Report& report) {
  const isa::Form& form = instruction.form;
  if (!form.row->effects.loads && !form.row->effects.stores && !form.row->effects.atomic) return;
  uint64_t bytes = access_bytes(form);
  if (bytes == 0) return;
  for (size_t i = 0; i < form.row->operands.size(); ++i) {
    const Operand* operand = arguments.at[i];
    if (!operand || operand->kind != Operand::Kind::address || form.row->operands[i].shape != isa::Shape::address)
      continue;
    const Operand& base = operand->elements[0];
    if (base.kind != Operand::Kind::symbol) continue;
    const Variable* variable = operands.variable(base.symbol);
    if (!variable) continue;
    uint64_t size = variable->bytes();
    int64_t offset = operand->offset;
    bool open = variable->linkage == Linkage::external || size == 0 || size > INT64_MAX;
    bool outside = offset < 0 || (!open && (bytes > size || static_cast<uint64_t>(offset) > size - bytes));
    if (outside) {
      report.warning(Code::out_of_bounds, operand->span,
                     open ? fmt::format("byte {} lies before {}", offset, quoted(base.name))
                          : fmt::format("bytes {} to {} lie outside of {}, which has {}", offset,
                                        offset + static_cast<int64_t>(bytes) - 1, quoted(base.name), size),
                     "ptxas does not check this");
    } else if (static_cast<uint64_t>(offset) % bytes != 0 && variable->alignment() % bytes == 0) {
      report.warning(
          Code::misaligned, operand->span,
          fmt::format("an access of {} bytes at offset {} of {} is not aligned", bytes, offset, quoted(base.name)),
          "it faults at run time: offsets are multiples of the access's size");
    }
  }
}

}  // namespace ptxlab::ptx
