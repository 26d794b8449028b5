// From a form to what executes it, through the binding tables.
#include "isa/table.h"
#include "simt/decode.h"

namespace ptxlab::simt {
namespace {

const LaneBinding* find(const LaneBinding* table, std::string_view opcode) {
  while (table->opcode && opcode != table->opcode) ++table;
  return table->opcode ? table : nullptr;
}
}  // namespace

const StepBinding* find(const StepBinding* table, std::string_view opcode) {
  while (table->opcode && opcode != table->opcode) ++table;
  return table->opcode ? table : nullptr;
}

// Looks the handler up: lane handlers of this processor, scalar ones, then the step tables.
bool bind(const isa::Form& form, const Modifiers& m, Op& op) {
  std::string_view opcode = form.row->opcode;
  for (const LaneBinding* table : {lane_bindings(), scalar_bindings()}) {
    const LaneBinding* binding = find(table, opcode);
    if (!binding) continue;
    if ((op.lanewise = binding->select(m))) {
      op.kind = OpKind::lanewise;
      op.rule = rule_for(binding->travel, m);
      return true;
    }
  }
  for (const StepBinding* table : {memory_bindings(), atomic_bindings(), async_bindings(), exchange_bindings(),
                                   matrix_bindings(), mma_bindings(), wmma_bindings(), control_bindings()}) {
    const StepBinding* binding = find(table, opcode);
    if (!binding) continue;
    if ((op.step = binding->select(form, m, op))) {
      op.kind = OpKind::step;
      return true;
    }
  }
  return false;
}

}  // namespace ptxlab::simt
