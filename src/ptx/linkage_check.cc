#include "ptx/linkage_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace ptxlab::ptx {
namespace {

// What the driver provides to every kernel (CUDA C++ programming guide: formatted output, assertion, dynamic memory).
constexpr std::string_view kProvided[] = {"vprintf", "__assertfail", "malloc", "free"};

bool is_provided(std::string_view name) {
  return std::find(std::begin(kProvided), std::end(kProvided), name) != std::end(kProvided);
}

const Directive* prototype_of(const Function& function, const Operand& label) {
  if (label.kind != Operand::Kind::label || label.id >= function.labels.size()) return nullptr;
  int32_t at = function.labels[label.id].statement;
  if (at < 0 || static_cast<size_t>(at) + 1 >= function.body.size()) return nullptr;
  return std::get_if<Directive>(&function.body[static_cast<size_t>(at) + 1].what);
}

void check_counts(std::string_view what, const Operand* list, const std::vector<Variable>& declared, Span call,
                  std::string_view callee, Report& report) {
  size_t given = list ? list->elements.size() : 0;
  bool open = !declared.empty() && !declared.back().dims.empty() && declared.back().dims[0] == 0;  // variadic
  if (given == declared.size() || (open && given + 1 >= declared.size())) return;
  report.error(Code::argument_count, list ? list->span : call,
               fmt::format("{} has {} {}{}, this call gives {}", callee, declared.size(), what,
                           declared.size() == 1 ? "" : "s", given));
}

}  // namespace

void check_call(const Module& module, const Function& function, const Instruction& instruction, Report& report) {
  if (!instruction.form.row->effects.call) return;
  const Operand *results = nullptr, *target = nullptr, *arguments = nullptr, *prototype = nullptr;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::list)
      (target ? arguments : results) = &operand;
    else if (!target)
      target = &operand;
    else
      prototype = &operand;
  }
  if (!target || target->kind == Operand::Kind::name) return;
  if (target->kind == Operand::Kind::symbol) {
    const Function& callee = module.functions[target->symbol.index];
    check_counts("result", results, callee.results, target->span, quoted(callee.name), report);
    check_counts("parameter", arguments, callee.parameters, target->span, quoted(callee.name), report);
    if (!callee.has_body && callee.linkage == Linkage::external && !is_provided(callee.name))
      report.error(Code::unresolved_extern, target->span, fmt::format("nothing defines {}", quoted(callee.name)),
                   "put its body into this module: there is no linking");
    return;
  }
  if (!prototype) {
    report.error(Code::missing_prototype, target->span, "a call through a register needs a prototype",
                 "name a .callprototype or .calltargets as the last operand");
    return;
  }
  if (const Directive* declared = prototype_of(function, *prototype);
      declared && declared->text.starts_with(".callprototype")) {
    check_counts("result", results, declared->results, target->span, quoted(prototype->name), report);
    check_counts("parameter", arguments, declared->parameters, target->span, quoted(prototype->name), report);
  }
}

void check_linkage(const Module& module, Report& report) {
  std::unordered_map<std::string_view, bool> defined;
  for (const auto& function : module.functions) defined[function.name] |= function.has_body;
  for (const auto& directive : module.directives)  // .alias name, target;
    if (directive.starts_with(".alias")) {
      size_t begin = directive.find_first_not_of(" \t\r\n", 6);
      if (begin == std::string::npos) continue;
      defined[std::string_view(directive).substr(begin, directive.find_first_of(" \t\r\n,;", begin) - begin)] = true;
    }
  for (const auto& function : module.functions) {
    if (function.entry || function.linkage == Linkage::external || defined[function.name] || is_provided(function.name))
      continue;
    report.error(Code::undefined_function, function.name_span, fmt::format("nothing defines {}", quoted(function.name)),
                 "give it a body, or remove the declaration");
    defined[function.name] = true;  // once is enough
  }
  std::unordered_map<std::string_view, bool> variables;
  for (const auto& variable : module.variables) variables[variable.name] |= variable.linkage != Linkage::external;
  for (const auto& variable : module.variables) {
    if (variable.linkage != Linkage::external || variable.space == isa::Space::shared || variables[variable.name])
      continue;
    report.warning(Code::unresolved_extern, variable.span, fmt::format("nothing defines {}", quoted(variable.name)),
                   "ptxas ignores .extern here and makes a variable of zeros");
    variables[variable.name] = true;
  }
}

}  // namespace ptxlab::ptx
