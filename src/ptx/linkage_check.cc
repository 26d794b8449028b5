#include "ptx/linkage_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "ptx/operand_check.h"

namespace ptxlab::ptx {
namespace {

// What the driver provides to every kernel (CUDA C++ programming guide: formatted output, assertion, dynamic memory).
constexpr std::string_view kProvided[] = {"vprintf", "__assertfail", "malloc", "free"};

bool is_provided(std::string_view name) {
  return std::find(std::begin(kProvided), std::end(kProvided), name) != std::end(kProvided);
}

// The directive behind a label that stands before `statement`.
const Directive* directive_at(const Function& function, const Operand& label, size_t statement) {
  if (label.kind != Operand::Kind::label || label.id >= function.labels.size()) return nullptr;
  int32_t at = function.labels[label.id].statement;
  if (at < 0 || static_cast<size_t>(at) + 1 >= statement) return nullptr;
  return std::get_if<Directive>(&function.body[static_cast<size_t>(at) + 1].what);
}

// Arguments (or results) of a call against the declared ones: their number, then the size of each.
class ListCheck {
 public:
  ListCheck(const Module& module, const Function& function, std::string_view callee, Report& report)
      : module_(module), function_(function), callee_(callee), report_(report) {}

  bool run(std::string_view what, const Operand* list, const std::vector<Variable>& declared, Span call) {
    size_t given = list ? list->elements.size() : 0;
    bool open = !declared.empty() && !declared.back().dims.empty() && declared.back().dims[0] == 0;  // variadic
    if (given != declared.size() && !(open && given + 1 >= declared.size())) {
      report_.error(Code::argument_count, list ? list->span : call,
                    fmt::format("{} has {} {}{}, this call gives {}", callee_, declared.size(), what,
                                declared.size() == 1 ? "" : "s", given));
      return false;
    }
    for (size_t i = 0; i < std::min(given, declared.size() - open); ++i)
      if (!fits(list->elements[i], declared[i])) return false;
    return true;
  }

 private:
  bool fits(const Operand& argument, const Variable& declared) {
    uint64_t bytes = declared.bytes();
    bool aligned = true;
    if (argument.kind == Operand::Kind::reg) {
      bytes = static_cast<uint64_t>(isa::bytes_of(function_.registers[argument.id].type));
    } else if (argument.kind == Operand::Kind::symbol) {
      const Variable* variable = OperandCheck(module_, function_).variable(argument.symbol);
      if (!variable || (variable->space != isa::Space::param && variable->space != isa::Space::reg)) {
        report_.error(Code::operand_kind, argument.span,
                      fmt::format("an argument is a register, a constant or a .param, not {}", describe(argument)),
                      "store it into a .param variable first");
        return false;
      }
      bytes = variable->bytes();
      aligned = variable->alignment() >= declared.alignment();
    }
    if (bytes == declared.bytes() && aligned) return true;
    std::string message = bytes != declared.bytes() ? fmt::format("{} wants {} bytes for {}, this has {}", callee_,
                                                                  declared.bytes(), quoted(declared.name), bytes)
                                                    : fmt::format("{} wants {} aligned to {} bytes", callee_,
                                                                  quoted(declared.name), declared.alignment());
    report_.error(Code::argument_size, argument.span, std::move(message), "declare the argument like the parameter");
    return false;
  }

  const Module& module_;
  const Function& function_;
  std::string_view callee_;
  Report& report_;
};

}  // namespace

void check_call(const Module& module, const Function& function, size_t statement, Report& report) {
  const Instruction& instruction = *function.body[statement].instruction();
  if (instruction.form.row->opcode == "brx.idx") {
    const Operand& table = instruction.operands.back();
    const Directive* targets = directive_at(function, table, statement);
    if (table.kind == Operand::Kind::label && !(targets && targets->text.starts_with(".branchtargets"))) {
      report.error(Code::operand_kind, table.span,
                   fmt::format("{} is no list of branch targets above this", quoted(table.name)),
                   "write before it: " + table.name + ": .branchtargets L0, L1;");
    }
  }
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
    if (callee.entry) {
      report.error(Code::operand_kind, target->span,
                   fmt::format("{} is a kernel, a call needs a .func", quoted(callee.name)));
      return;
    }
    std::string name = quoted(callee.name);
    ListCheck lists(module, function, name, report);
    if (!lists.run("result", results, callee.results, target->span)) return;
    if (!lists.run("parameter", arguments, callee.parameters, target->span)) return;
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
  const Directive* declared = directive_at(function, *prototype, statement);
  if (!declared) {
    report.error(Code::missing_prototype, prototype->span,
                 fmt::format("{} is no prototype above this call", quoted(prototype->name)),
                 "write before it: " + prototype->name + ": .callprototype ...;");
    return;
  }
  if (declared->text.starts_with(".callprototype")) {
    std::string name = quoted(prototype->name);
    ListCheck lists(module, function, name, report);
    if (lists.run("result", results, declared->results, target->span))
      lists.run("parameter", arguments, declared->parameters, target->span);
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
    bool constant = variable.space == isa::Space::constant;
    report.add(Code::unresolved_extern, constant ? base::Severity::error : base::Severity::warning, variable.span,
               fmt::format("nothing defines {}", quoted(variable.name)),
               constant ? "define it in this module: there is no linking"
                        : "ptxas ignores .extern here and makes a variable of zeros");
    variables[variable.name] = true;
  }
}

}  // namespace ptxlab::ptx
