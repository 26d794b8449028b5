// Calls and jumps through tables: what they need beyond operands.
#include <fmt/format.h>

#include "simt/function_decoder.h"

namespace ptxlab::simt {

using ptx::Operand;
using Where = ptx::SymbolRef::Where;

bool FunctionDecoder::branch_table(const ptx::Instruction& in, Op& op) {
  bool wide = false;
  if (in.operands.size() != 2 || in.operands[1].kind != Operand::Kind::label) return false;
  auto index = slot_of(in.operands[0], isa::Type::u32, wide);
  const ptx::Directive* directive = directive_at(in.operands[1]);
  if (!index || !directive) return false;
  std::vector<uint32_t> targets;
  for (const Operand& label : directive->targets) {
    auto pc = target(label);
    if (!pc) return false;
    targets.push_back(*pc);
  }
  op.a = *index;
  op.list = static_cast<uint32_t>(code_.branches.size());
  code_.branches.push_back(std::move(targets));
  return true;
}

// What stands behind a label that names a list or a prototype.
const ptx::Directive* FunctionDecoder::directive_at(const Operand& label) const {
  int32_t at = function_.labels[label.id].statement;
  if (at < 0) return nullptr;
  for (size_t s = static_cast<size_t>(at) + 1; s < function_.body.size(); ++s) {
    if (std::holds_alternative<ptx::Label>(function_.body[s].what)) continue;
    return std::get_if<ptx::Directive>(&function_.body[s].what);
  }
  return nullptr;
}

// The parameters or results that a prototype declares, or that the first of the listed functions has.
const std::vector<ptx::Variable>& FunctionDecoder::formals_of(const ptx::Directive& declared, bool parameters) const {
  static const std::vector<ptx::Variable> kNone;
  if (declared.targets.empty()) return parameters ? declared.parameters : declared.results;
  const Operand& first = declared.targets[0];
  if (first.kind != Operand::Kind::symbol || first.symbol.where != Where::function) return kNone;
  const ptx::Function& function = module_.functions[first.symbol.index];
  return parameters ? function.parameters : function.results;
}

bool FunctionDecoder::call(const ptx::Instruction& in, Op& op) {
  Call call;
  const ptx::Function* callee = nullptr;
  const ptx::Directive* declared = nullptr;      // of a call through a register
  const Operand* lists[2] = {nullptr, nullptr};  // results, arguments
  for (const Operand& operand : in.operands) {
    if (operand.kind == Operand::Kind::list) {
      lists[callee || call.indirect ? 1 : 0] = &operand;
    } else if (operand.kind == Operand::Kind::symbol && operand.symbol.where == Where::function) {
      callee = &module_.functions[operand.symbol.index];
      if (const ptx::Function* body = module_.function(callee->name)) callee = body;
    } else if (operand.kind == Operand::Kind::reg) {
      call.indirect = true;
      op.a = *slot_of(operand, isa::Type::u64, op.a_wide);
    } else if (operand.kind == Operand::Kind::label && call.indirect) {
      declared = directive_at(operand);
    }
  }
  if (call.indirect && !declared) return false;
  if (!call.indirect && !callee) return false;
  if (call.indirect) {
    // Who may be called is known when it is.
  } else if (callee->has_body) {
    auto it = codes_.find(callee);
    if (it == codes_.end()) return false;
    call.callee = it->second;
  } else if (callee->name == "vprintf") {
    call.builtin = Call::Builtin::vprintf;
  } else if (callee->name == "__assertfail") {
    call.builtin = Call::Builtin::assertfail;
  } else {
    why_ = fmt::format("'{}' has no body", callee->name);
    return false;
  }
  for (int which = 0; which < 2; ++which) {
    if (!lists[which]) continue;
    auto& values = which ? call.arguments : call.results;
    const auto& formal = call.indirect ? formals_of(*declared, which != 0)
                         : which       ? callee->parameters
                                       : callee->results;
    for (size_t i = 0; i < lists[which]->elements.size(); ++i) {
      const Operand& operand = lists[which]->elements[i];
      Call::Value value;
      if (operand.kind == Operand::Kind::symbol) {
        switch (operand.symbol.where) {
          case Where::function_variable: value.variable = code_.variables[operand.symbol.index]; break;
          case Where::parameter: value.variable = code_.parameters[operand.symbol.index]; break;
          case Where::return_parameter: value.variable = code_.results[operand.symbol.index]; break;
          default: return false;
        }
        if (operand.symbol.where == Where::parameter && function_.entry) return false;
      } else {
        auto slot = slot_of(operand, i < formal.size() ? formal[i].type : isa::Type::u32, value.wide);
        if (!slot) return false;
        value.in_stack = false;
        value.slot = *slot;
      }
      values.push_back(value);
    }
    if (call.callee && values.size() != formal.size()) return false;
  }
  op.list = static_cast<uint32_t>(code_.calls.size());
  code_.calls.push_back(std::move(call));
  return true;
}

}  // namespace ptxlab::simt
