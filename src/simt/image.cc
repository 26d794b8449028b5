// An entry's image: the functions that it reaches, its shared memory, and which rows of the table have a handler at all.
#include <algorithm>
#include <functional>
#include <set>

#include "simt/decode.h"

namespace ptxlab::simt {
namespace {

using Where = ptx::SymbolRef::Where;

uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// Calls `visit` for each symbol operand, however deep.
void for_each_symbol(const ptx::Operand& operand, const std::function<void(const ptx::Operand&)>& visit) {
  if (operand.kind == ptx::Operand::Kind::symbol) visit(operand);
  for (const ptx::Operand& element : operand.elements) for_each_symbol(element, visit);
}

bool calls_through_register(const ptx::Instruction& in) {
  if (!in.form.row || !in.form.row->effects.call) return false;
  return std::any_of(in.operands.begin(), in.operands.end(),
                     [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::reg; });
}

// The functions whose address the module takes anywhere: in code other than a call's target, or in a variable.
std::vector<const ptx::Function*> addressed_functions(const ptx::Module& module) {
  std::vector<const ptx::Function*> found;
  auto add = [&](std::string_view name) {
    const ptx::Function* function = module.function(name);
    if (function && function->has_body && std::find(found.begin(), found.end(), function) == found.end())
      found.push_back(function);
  };
  for (const ptx::Variable& v : module.variables)
    if (v.init)
      for (const auto& element : v.init->elements)
        if (!element.symbol.empty()) add(element.symbol);
  for (const ptx::Function& function : module.functions)
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* in = statement.instruction();
      if (!in || !in->form.row || in->form.row->effects.call) continue;
      for (const ptx::Operand& operand : in->operands)
        for_each_symbol(operand, [&](const ptx::Operand& symbol) {
          if (symbol.symbol.where == Where::function) add(module.functions[symbol.symbol.index].name);
        });
    }
  return found;
}

// The functions that `entry` reaches, itself first, and the shared variables that they use.
std::vector<const ptx::Function*> reachable(const ptx::Module& module, const ptx::Function& entry,
                                            std::vector<const ptx::Variable*>& shared) {
  std::vector<const ptx::Function*> found = {&entry};
  std::set<uint32_t> used;
  for (size_t i = 0; i < found.size(); ++i) {
    const ptx::Function& function = *found[i];
    for (const ptx::Variable& v : function.variables)
      if (v.space == isa::Space::shared) shared.push_back(&v);
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* in = statement.instruction();
      if (!in) continue;
      if (calls_through_register(*in))
        for (const ptx::Function* callee : addressed_functions(module))
          if (std::find(found.begin(), found.end(), callee) == found.end()) found.push_back(callee);
      for (const ptx::Operand& operand : in->operands) {
        for_each_symbol(operand, [&](const ptx::Operand& symbol) {
          if (symbol.symbol.where == Where::module_variable &&
              module.variables[symbol.symbol.index].space == isa::Space::shared)
            used.insert(symbol.symbol.index);
          if (symbol.symbol.where != Where::function) return;
          const ptx::Function* callee = module.function(module.functions[symbol.symbol.index].name);
          if (callee && callee->has_body && std::find(found.begin(), found.end(), callee) == found.end())
            found.push_back(callee);
        });
      }
    }
  }
  for (uint32_t index : used) shared.push_back(&module.variables[index]);
  return found;
}

void lay_out_shared(const std::vector<const ptx::Variable*>& variables, Image& image) {
  uint64_t end = 0;
  uint32_t dynamic_alignment = 16;
  for (const ptx::Variable* v : variables) {
    if (v->bytes() == 0) {
      dynamic_alignment = std::max(dynamic_alignment, v->alignment());
      continue;
    }
    end = align_up(end, std::max<uint32_t>(v->alignment(), 1));
    image.shared.push_back({v->name, static_cast<uint32_t>(end), static_cast<uint32_t>(v->bytes())});
    end += v->bytes();
  }
  for (const ptx::Variable* v : variables)
    if (v->bytes() == 0) {
      end = align_up(end, dynamic_alignment);
      image.shared.push_back({v->name, static_cast<uint32_t>(end), 0});
    }
  image.static_shared = static_cast<uint32_t>(std::min<uint64_t>(end, uint64_t{1} << 31));
}

}  // namespace

uint64_t code_address(const ptx::Module& module, std::string_view name) {
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].name == name) return kCodeWindow + 64 * (i + 1);
  return 0;
}

std::vector<StackVariable> layout(const std::vector<ptx::Variable>& variables, uint32_t& end) {
  std::vector<StackVariable> out;
  uint64_t at = 0;
  for (const ptx::Variable& v : variables) {
    at = align_up(at, std::max<uint32_t>(v.alignment(), 1));
    out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(v.bytes())});
    at += v.bytes();
  }
  end = static_cast<uint32_t>(at);
  return out;
}

std::unique_ptr<Image> decode(const ptx::Module& module, const ptx::Function& entry, const Variables& variables,
                              base::Findings& unsupported) {
  auto image = std::make_unique<Image>();
  image->module = &module;
  image->parameters = layout(entry.parameters, image->parameter_bytes);
  std::vector<const ptx::Variable*> shared;
  std::vector<const ptx::Function*> functions = reachable(module, entry, shared);
  lay_out_shared(shared, *image);
  std::map<const ptx::Function*, Code*> codes;
  for (const ptx::Function* function : functions) {
    image->codes.push_back(std::make_unique<Code>());
    image->codes.back()->function = function;
    codes[function] = image->codes.back().get();
    if (!function->entry) image->by_address[code_address(module, function->name)] = image->codes.back().get();
  }
  for (auto& code : image->codes) decode_function(module, *image, *code, variables, codes, unsupported);
  return image;
}

std::vector<bool> executed_rows() {
  std::vector<bool> executed(isa::rows().size());
  for (const isa::Row& row : isa::rows()) {
    if (row.opcode == "bra") executed[row.id] = true;
    // The forms of a row, by counting through its slots' choices; a row counts once any form has a handler.
    isa::Form form;
    form.row = &row;
    for (size_t i = 0; i < row.slots.size(); ++i) form.taken[i] = row.slots[i].optional ? -1 : 0;
    for (int tries = 0; tries < 4096 && !executed[row.id]; ++tries) {
      Op op;
      Modifiers m = modifiers_of(form);
      m.d_wide = isa::bits_of(m.type) > 32;
      m.a_wide = isa::bits_of(m.second) > 32;
      executed[row.id] = isa::broken_constraint(form).empty() && bind(form, m, op);
      size_t slot = 0;
      for (; slot < row.slots.size(); ++slot) {
        if (++form.taken[slot] < static_cast<int>(row.slots[slot].choices.size())) break;
        form.taken[slot] = row.slots[slot].optional ? -1 : 0;
      }
      if (slot == row.slots.size()) break;
    }
  }
  return executed;
}

}  // namespace ptxlab::simt
