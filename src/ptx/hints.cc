#include "ptx/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>

namespace ptxlab::ptx {
namespace {

using Kind = Operand::Kind;
constexpr int32_t kNothing = -1;

bool is_register(const Operand& operand) { return operand.kind == Kind::reg; }

template <class Visit>
void each_operand(const std::vector<Operand>& operands, const Visit& visit) {
  for (const Operand& operand : operands) {
    visit(operand);
    each_operand(operand.elements, visit);
  }
}

struct Use {
  bool read_first = false;  // some function reads it before it writes it, as the text goes: another launch has to
  bool written = false;
};

// One pass over a function in the order of the text, with what each register last got.
class FunctionHints {
 public:
  FunctionHints(const Function& function, std::vector<Use>& variables, Report& report)
      : function_(function),
        variables_(variables),
        report_(report),
        facts_(function.registers.size()),
        touched_(variables.size()) {}

  void run() {
    for (const Statement& statement : function_.body) {
      const Instruction* instruction = statement.instruction();
      if (instruction && instruction->form.row) look_at(*instruction);
    }
  }

 private:
  struct Fact {
    bool special = false;         // copied from a special register
    int32_t product = kNothing;   // the result of this multiplication in 32 bits
    int32_t widened = kNothing;   // ... widened to 64 bits, perhaps shifted or added to something
    int32_t variable = kNothing;  // the address of this variable of the module
  };

  const Fact* fact(const Operand& operand) const { return is_register(operand) ? &facts_[operand.id] : nullptr; }

  void look_at(const Instruction& instruction) {
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Kind::address && !operand.elements.empty()) address(instruction, operand.elements[0]);
    const auto& operands = instruction.operands;
    if (operands.empty() || !is_register(operands[0])) return;
    const isa::Form& form = instruction.form;
    std::string_view opcode = form.row->opcode;
    if (form.row->operands.empty() || !form.row->operands[0].destination) return;
    Fact made;
    auto sources = std::span(operands).subspan(1);
    if (opcode == "mov" && sources.size() == 1) {
      if (const Fact* copied = fact(sources[0])) made = *copied;
      made.special |= sources[0].kind == Kind::special;
      if (sources[0].kind == Kind::symbol && sources[0].symbol.where == SymbolRef::Where::module_variable)
        made.variable = static_cast<int32_t>(sources[0].symbol.index);
    } else if ((opcode == "mul" || opcode == "mad") && form.has(".lo") && isa::bits_of(form.type()) == 32) {
      bool both = is_register(sources[0]) && is_register(sources[1]);
      // The grid's own coordinates stay small.
      if (both && !facts_[sources[0].id].special && !facts_[sources[1].id].special) {
        made.product = static_cast<int32_t>(products_.size());
        products_.push_back(&instruction);
      }
    } else if (opcode == "cvt" && isa::bits_of(form.type(0)) == 64 && sources.size() == 1) {
      if (const Fact* source = fact(sources[0])) made.widened = source->product;
    } else if ((opcode == "add" || opcode == "shl") && isa::bits_of(form.type()) == 64) {
      for (const Operand& source : sources) {
        const Fact* from = fact(source);
        if (from && from->widened != kNothing) made.widened = from->widened;
        if (from && opcode == "add" && from->variable != kNothing) made.variable = from->variable;
      }
    } else if (opcode == "mad" && form.has(".wide") && sources.size() == 3) {
      if (const Fact* from = fact(sources[2])) made.variable = from->variable;
    } else if (opcode == "cvta" && sources.size() == 1) {
      if (const Fact* source = fact(sources[0])) made = *source;
    }
    facts_[operands[0].id] = made;
  }

  void address(const Instruction& instruction, const Operand& base) {
    int32_t variable = kNothing;
    if (base.kind == Kind::symbol && base.symbol.where == SymbolRef::Where::module_variable)
      variable = static_cast<int32_t>(base.symbol.index);
    if (const Fact* from = fact(base)) {
      variable = from->variable;
      if (from->widened != kNothing) narrow(*products_[static_cast<size_t>(from->widened)]);
    }
    if (variable == kNothing) return;
    const isa::Effects& effects = instruction.form.row->effects;
    auto index = static_cast<size_t>(variable);
    // red gives nothing back: a count that nobody reads decides nothing.
    bool reads = effects.loads || (effects.atomic && instruction.words[0] != "red");
    bool writes = effects.stores || effects.atomic;
    variables_[index].read_first |= reads && !touched_[index];
    variables_[index].written |= writes;
    touched_[index] = true;
  }

  void narrow(const Instruction& product) {
    if (!reported_.insert(&product).second) return;
    report_.warning(Code::narrow_product, {product.word_spans.front().begin, product.word_spans.back().end},
                    "this product is taken in 32 bits, widened and then used as an address",
                    "beyond 2^31 it wraps: mul.wide.s32 keeps all 64 bits");
  }

  const Function& function_;
  std::vector<Use>& variables_;
  Report& report_;
  std::vector<Fact> facts_;
  std::vector<bool> touched_;  // variables of the module that this function has accessed so far
  std::vector<const Instruction*> products_;
  std::unordered_set<const Instruction*> reported_;
};

std::string_view type_after(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (isa::type_named(word)) return word;
  }
  return "";
}

// ".v4" belongs before the type. ptxas takes it elsewhere and says that it is not specified properly.
void vector_places(const Function& function, Report& report) {
  for (const Statement& statement : function.body) {
    const Instruction* instruction = statement.instruction();
    if (!instruction || !instruction->form.row) continue;
    const auto& words = instruction->words;
    std::string_view opcode = words[0];
    bool memory = opcode == "ld" || opcode == "ldu" || opcode == "st" || opcode == "atom" || opcode == "red";
    for (size_t i = 1; memory && i < words.size(); ++i) {
      bool length = words[i] == ".v2" || words[i] == ".v4" || words[i] == ".v8";
      bool before_type = i + 1 < words.size() && isa::type_named(words[i + 1]);
      if (!length || before_type) continue;
      report.warning(Code::vector_place, instruction->word_spans[i],
                     fmt::format("{} does not stand before the type", quoted(words[i])),
                     fmt::format("write {}{}; ptxas takes it and warns", words[i], type_after(words)));
    }
  }
}

std::vector<bool> used_parameters(const Function& function) {
  std::vector<bool> used(function.parameters.size());
  for (const Statement& statement : function.body) {
    const Instruction* instruction = statement.instruction();
    if (!instruction) continue;
    each_operand(instruction->operands, [&](const Operand& operand) {
      if (operand.kind == Kind::symbol && operand.symbol.where == SymbolRef::Where::parameter)
        used[operand.symbol.index] = true;
    });
  }
  return used;
}

void unused_parameters(const Function& function, Report& report) {
  const std::vector<bool> used = used_parameters(function);
  const size_t own = used.size() - hidden_parameters(function);
  for (size_t i = 0; i < own; ++i) {
    if (used[i]) continue;
    report.warning(Code::unused_parameter, function.parameters[i].span,
                   fmt::format("nothing reads the parameter {}", quoted(function.parameters[i].name)),
                   "does the kernel ignore an input?");
  }
}

}  // namespace

// Its names are numbers, the element's alignment is unknown, and at most two follow each other at the end (Triton 3.6: global
// scratch and the profiler's), behind at least one that is read.
size_t hidden_parameters(const Function& entry) {
  constexpr size_t kMost = 2;
  const std::vector<bool> used = used_parameters(entry);
  size_t count = 0;
  while (count < std::min(kMost, used.size())) {
    const size_t at = used.size() - 1 - count;
    const Variable& last = entry.parameters[at];
    const bool scratch = last.ptr_space == isa::Space::global && last.ptr_align <= 1 && isa::bits_of(last.type) == 64 &&
                         last.name == fmt::format("{}_param_{}", entry.name, at);
    if (!scratch || used[at]) break;
    ++count;
  }
  return std::find(used.begin(), used.end(), true) == used.end() ? 0 : count;
}

void add_hints(const Module& module, Report& report) {
  std::vector<Use> variables(module.variables.size());
  for (const Function& function : module.functions) {
    if (!function.has_body) continue;
    FunctionHints(function, variables, report).run();
    vector_places(function, report);
    if (function.entry) unused_parameters(function, report);
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = module.variables[i];
    if (!variables[i].read_first || !variables[i].written || variable.space != isa::Space::global) continue;
    report.warning(Code::kept_state, variable.span,
                   fmt::format("{} is read before it is written: it keeps state from one launch to the next",
                               quoted(variable.name)),
                   "a launch must not depend on the launches before it");
  }
}

}  // namespace ptxlab::ptx
