// One layout for every module: a parameter and a statement a line, statements behind a tab, labels at the margin.
#include "ptx/printer.h"

#include <fmt/format.h>

#include <iterator>

namespace ptxlab::ptx {
namespace {

constexpr std::string_view kComponents[] = {".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};

std::string_view linkage_prefix(Linkage linkage) {
  switch (linkage) {
    case Linkage::internal: return "";
    case Linkage::visible: return ".visible ";
    case Linkage::external: return ".extern ";
    case Linkage::weak: return ".weak ";
    case Linkage::common: return ".common ";
  }
  return "";
}

void append_offset(std::string& out, const Operand& operand) {
  if (operand.offset != 0 || operand.adds_zero) fmt::format_to(std::back_inserter(out), "+{}", operand.offset);
}

void append(std::string& out, const Operand& operand, const Function& function);

void append_elements(std::string& out, const std::vector<Operand>& elements, const Function& function) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i) out += ", ";
    append(out, elements[i], function);
  }
}

void append(std::string& out, const Operand& operand, const Function& function) {
  using Kind = Operand::Kind;
  if (operand.negated) out += '!';
  switch (operand.kind) {
    case Kind::reg: out += function.registers[operand.id].name; break;
    case Kind::special: out += isa::special_registers()[operand.id].name; break;
    case Kind::integer:
    case Kind::floating:
    case Kind::name: out += operand.name; break;
    case Kind::label:
      out += operand.id < function.labels.size() ? function.labels[operand.id].name : operand.name;
      break;
    case Kind::symbol:
      out += operand.name;
      append_offset(out, operand);
      break;
    case Kind::address:
      out += '[';
      if (!operand.elements.empty()) append(out, operand.elements[0], function);
      append_offset(out, operand);
      for (size_t i = 1; i < operand.elements.size(); ++i) {
        out += ", ";
        append(out, operand.elements[i], function);
      }
      out += ']';
      break;
    case Kind::vector:
      out += '{';
      append_elements(out, operand.elements, function);
      out += '}';
      break;
    case Kind::sink: out += '_'; break;
    case Kind::pair:
      append(out, operand.elements[0], function);
      out += '|';
      append(out, operand.elements[1], function);
      break;
    case Kind::list:
      out += '(';
      append_elements(out, operand.elements, function);
      out += ')';
      break;
  }
  if (operand.component >= 0 && operand.component < static_cast<int>(std::size(kComponents)))
    out += kComponents[operand.component];
}

void append(std::string& out, const Instruction& instruction, const Function& function) {
  if (instruction.guard) {
    out += instruction.guard->negated ? "@!" : "@";
    out += function.registers[instruction.guard->reg].name;
    out += ' ';
  }
  for (const auto& word : instruction.words) out += word;
  if (!instruction.operands.empty()) {
    out += ' ';
    append_elements(out, instruction.operands, function);
  }
  out += ';';
}

// .param .align 8 .b8 name[16], .global .v4 .f32 table[2] = {...}
void append(std::string& out, const Variable& variable) {
  out += variable.space == isa::Space::reg ? ".reg" : "." + std::string(isa::name_of(variable.space));
  for (const auto& attribute : variable.attributes) out += " " + attribute;
  if (variable.align) fmt::format_to(std::back_inserter(out), " .align {}", variable.align);
  if (variable.vector > 1) fmt::format_to(std::back_inserter(out), " .v{}", variable.vector);
  if (!variable.opaque.empty())
    out += " " + variable.opaque;
  else
    fmt::format_to(std::back_inserter(out), " .{}", isa::name_of(variable.type));
  if (variable.ptr_space) {
    out += " .ptr";
    if (*variable.ptr_space != isa::Space::generic)
      fmt::format_to(std::back_inserter(out), " .{}", isa::name_of(*variable.ptr_space));
    if (variable.ptr_align) fmt::format_to(std::back_inserter(out), " .align {}", variable.ptr_align);
  }
  out += " " + variable.name;
  for (uint64_t dim : variable.dims) out += dim ? fmt::format("[{}]", dim) : "[]";
  if (variable.init) out += " = " + variable.init->text;
}

void append_parameters(std::string& out, const std::vector<Variable>& parameters) {
  out += '(';
  for (size_t i = 0; i < parameters.size(); ++i) {
    out += i ? ",\n\t" : "\n\t";
    append(out, parameters[i]);
  }
  out += parameters.empty() ? ")" : "\n)";
}

void append_before(std::string& out, const Trivia& trivia, std::string_view indent) {
  for (const auto& line : trivia.before) {
    if (!line.empty()) out.append(indent).append(line);
    out += '\n';
  }
}

void append_line_end(std::string& out, const Trivia& trivia) {
  if (!trivia.after.empty()) out += " " + trivia.after;
  out += '\n';
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) { out_.reserve(module.source.size() + 256); }

  std::string run() {
    append_before(out_, module_.header, "");
    fmt::format_to(std::back_inserter(out_), ".version {}.{}\n.target {}", module_.version / 10, module_.version % 10,
                   module_.target.name());
    for (const auto& option : module_.target_options) out_ += ", " + option;
    fmt::format_to(std::back_inserter(out_), "\n.address_size {}\n", module_.address_size);
    for (const auto& item : module_.items) print(item);
    append_before(out_, module_.end_trivia, "");
    return std::move(out_);
  }

 private:
  void print(const Item& item) {
    append_before(out_, item.trivia, "");
    switch (item.kind) {
      case Item::Kind::variable: {
        const Variable& variable = module_.variables[item.index];
        out_ += linkage_prefix(variable.linkage);
        append(out_, variable);
        out_ += ';';
        break;
      }
      case Item::Kind::function: print(module_.functions[item.index]); break;
      case Item::Kind::directive: out_ += module_.directives[item.index]; break;
    }
    append_line_end(out_, item.trivia);
  }

  void print(const Function& function) {
    out_ += linkage_prefix(function.linkage);
    out_ += function.entry ? ".entry " : ".func ";
    for (const auto& word : function.leading) out_ += word + " ";
    if (!function.results.empty()) {
      out_ += '(';
      for (size_t i = 0; i < function.results.size(); ++i) {
        if (i) out_ += ", ";
        append(out_, function.results[i]);
      }
      out_ += ") ";
    }
    out_ += function.name;
    if (!function.parameters.empty() || !function.entry) append_parameters(out_, function.parameters);
    for (const auto& directive : function.directives) out_ += "\n" + directive;
    if (function.directives.empty() && !function.has_body && function.trivia.before.empty()) {
      out_ += ';';
      return;
    }
    out_ += '\n';
    append_before(out_, function.trivia, "");
    if (!function.has_body) {
      out_ += ';';
      return;
    }
    out_ += '{';
    append_line_end(out_, function.trivia);
    for (const auto& statement : function.body) print(statement, function);
    append_before(out_, function.end_trivia, "\t");
    out_ += '}';
  }

  void print(const Statement& statement, const Function& function) {
    append_before(out_, statement.trivia, "\t");
    bool label = std::holds_alternative<Label>(statement.what);
    if (!label) out_ += '\t';
    std::visit([&](const auto& what) { print_what(what, function); }, statement.what);
    append_line_end(out_, statement.trivia);
  }

  void print_what(const Instruction& what, const Function& function) { append(out_, what, function); }
  void print_what(const Label& what, const Function& function) { out_ += function.labels[what.id].name + ":"; }
  void print_what(const RegisterDeclaration& what, const Function&) {
    out_ += ".reg ";
    if (what.vector > 1) fmt::format_to(std::back_inserter(out_), ".v{} ", what.vector);
    fmt::format_to(std::back_inserter(out_), ".{} ", isa::name_of(what.type));
    for (size_t i = 0; i < what.items.size(); ++i) {
      if (i) out_ += ", ";
      out_ += what.items[i].name;
      if (what.items[i].bank) fmt::format_to(std::back_inserter(out_), "<{}>", what.items[i].count);
    }
    out_ += ';';
  }
  void print_what(const VariableDeclaration& what, const Function& function) {
    out_ += linkage_prefix(function.variables[what.index].linkage);
    append(out_, function.variables[what.index]);
    out_ += ';';
  }
  void print_what(const Loc& what, const Function&) {
    fmt::format_to(std::back_inserter(out_), ".loc {} {} {}", what.file, what.line, what.column);
    if (!what.rest.empty()) out_ += ", " + what.rest;
  }
  void print_what(const Directive& what, const Function&) { out_ += what.text + ";"; }
  void print_what(const BlockBegin&, const Function&) { out_ += '{'; }
  void print_what(const BlockEnd&, const Function&) { out_ += '}'; }

  const Module& module_;
  std::string out_;
};

}  // namespace

std::string print(const Module& module) { return Printer(module).run(); }

std::string print(const Operand& operand, const Function& function) {
  std::string out;
  append(out, operand, function);
  return out;
}

std::string print(const Instruction& instruction, const Function& function) {
  std::string out;
  append(out, instruction, function);
  return out;
}

}  // namespace ptxlab::ptx
