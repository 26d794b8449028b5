// Operands: registers, constants, addresses, vectors, lists, names.
#include <utility>

#include "ptx/parse_state.h"

namespace ptxlab::ptx {
namespace {

constexpr int kDeepest = 8;  // { { [ ... ] } }: PTX itself never goes beyond three

int8_t component_named(std::string_view word) {
  constexpr std::string_view kNames[] = {".x",  ".y",  ".z",  ".w", ".b0", ".b1", ".b2",
                                         ".b3", ".h0", ".h1", ".r", ".g",  ".b",  ".a"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == word) return static_cast<int8_t>(i < 10 ? i : i - 10);
  return -1;
}

}  // namespace

// What a word is: register, special register, variable, parameter, function; or a name that may turn out to be a label.
void BodyParser::bind(Operand& operand, std::string_view name) {
  using Kind = Operand::Kind;
  using Where = SymbolRef::Where;
  operand.kind = Kind::name;
  if (auto binding = scope_.lookup(name)) {
    operand.id = binding->index;
    switch (binding->kind) {
      case Binding::Kind::reg: operand.kind = Kind::reg; return;
      case Binding::Kind::variable: operand.symbol = {Where::function_variable, binding->index}; break;
      case Binding::Kind::parameter: operand.symbol = {Where::parameter, binding->index}; break;
      case Binding::Kind::result: operand.symbol = {Where::return_parameter, binding->index}; break;
    }
    operand.id = 0;
    operand.kind = Kind::symbol;
    operand.name = name;
    return;
  }
  if (name[0] == '%') {
    if (auto special = isa::special_register_named(name)) {
      operand.kind = Kind::special;
      operand.id = *special;
      return;
    }
    if (!branch_) {
      scope_.report_unknown(name, operand.span);
      operand.name = name;
      return;
    }
  }
  operand.name = name;
  if (auto found = parser_.names_.find(name); found != parser_.names_.end() && !branch_) {
    operand.kind = Kind::symbol;
    operand.symbol = found->second;
    unsettled_ |= found->second.where == Where::function;
    return;
  }
  if (branch_) operand.kind = Kind::label;
  unsettled_ = true;
}

bool BodyParser::read_word(Operand& operand) {
  std::string_view name = reader_.text();
  if (name == "_") {
    operand.kind = Operand::Kind::sink;
    reader_.advance();
    return true;
  }
  bind(operand, name);
  reader_.advance();
  if (reader_.at(Token::Kind::dotted) && !reader_.token().new_line) {  // on a new line it is a directive
    operand.component = component_named(reader_.text());
    if (operand.component < 0) {
      report_.error(Code::component, reader_.token().span, "there is no component " + quoted(reader_.text()),
                    "components are .x .y .z .w");
      operand.kind = Operand::Kind::name;
      operand.name = name;
    }
    reader_.advance();
    operand.span.end = reader_.previous_end();
  }
  return true;
}

bool BodyParser::read_number(Operand& operand) {
  uint32_t begin = reader_.token().span.begin;
  auto value = read_constant(reader_);
  if (!value) return false;
  operand.kind = value->floating ? Operand::Kind::floating : Operand::Kind::integer;
  operand.bits = value->bits;
  operand.single_precision = value->single_precision;
  operand.span = {begin, reader_.previous_end()};
  operand.name = reader_.text(operand.span);
  return true;
}

// + constant, behind a register or symbol.
bool BodyParser::read_offset(Operand& operand) {
  if (reader_.at('-')) {
    Span span = reader_.token().span;
    report_.add(Code::unexpected_token, base::Severity::error, span, "an offset is added: '-' cannot stand here",
                "write +-4 for minus four", {{{span.begin, span.end}, "+-"}});
    return false;
  }
  if (reader_.at(Token::Kind::number) && !reader_.token().new_line) {
    uint32_t end = reader_.previous_end();
    report_.add(Code::unexpected_token, base::Severity::error, reader_.token().span,
                "'+' is missing before the offset " + quoted(reader_.text()), "write [%rd1+16]",
                {{{end, reader_.token().span.begin}, "+"}});
  } else if (!reader_.accept('+')) {
    return true;
  }
  if (reader_.at(Token::Kind::word) && !at_constant(reader_)) {
    report_.error(Code::unexpected_token, reader_.token().span,
                  "unexpected " + quoted(reader_.text()) + ": an offset is a constant",
                  "an address is a register or variable and a constant: add registers first");
    return false;
  }
  auto value = read_constant(reader_);
  if (!value) return false;
  if (value->floating) {
    report_.error(Code::bad_address, reader_.token().span, "an offset is an integer");
    return false;
  }
  operand.offset = static_cast<int64_t>(value->bits);
  operand.adds_zero = operand.offset == 0;
  return true;
}

// a[%r1], a[%r1+2]: scaled by the element's size. The module has no place for it.
bool BodyParser::skip_register_index(Operand& operand) {
  Operand index;
  index.span = reader_.token().span;
  if (!read_word(index) || !read_offset(index) || !reader_.expect(']', "after the index")) return false;
  report_.error(Code::register_index, {operand.span.begin, reader_.previous_end()},
                quoted(operand.name) + " is indexed by a register: that is not read here",
                "compute the address: mov, mad.lo with the element's size, and the register in brackets");
  operand.kind = Operand::Kind::name;
  operand.name.clear();
  return true;
}

// a[2]: the third element of an array, as an address in memory instructions, as a symbol plus bytes elsewhere.
bool BodyParser::read_index(Operand& operand) {
  if (!reader_.at('[') || operand.kind != Operand::Kind::symbol) return true;
  const Variable* variable = nullptr;
  switch (operand.symbol.where) {
    case SymbolRef::Where::module_variable: variable = &module_.variables[operand.symbol.index]; break;
    case SymbolRef::Where::function_variable: variable = &function_.variables[operand.symbol.index]; break;
    case SymbolRef::Where::parameter: variable = &function_.parameters[operand.symbol.index]; break;
    case SymbolRef::Where::return_parameter: variable = &function_.results[operand.symbol.index]; break;
    case SymbolRef::Where::unresolved:
    case SymbolRef::Where::function: return true;
  }
  reader_.advance();
  if (reader_.at(Token::Kind::word) && !at_constant(reader_)) return skip_register_index(operand);
  auto value = read_constant(reader_);
  if (!value || !reader_.expect(']', "after the index")) return false;
  operand.offset +=
      static_cast<int64_t>(value->bits * static_cast<uint64_t>(isa::bytes_of(variable->type) * variable->vector));
  if (memory_) {
    Operand address;
    address.kind = Operand::Kind::address;
    address.offset = std::exchange(operand.offset, 0);
    address.span = {operand.span.begin, reader_.previous_end()};
    address.elements.push_back(std::move(operand));
    operand = std::move(address);
  }
  return true;
}

bool BodyParser::read_list(Operand& operand, char open, char close, int depth) {
  reader_.advance();
  if (reader_.accept(close)) return true;
  do {
    Operand element;
    if (!read_operand(element, depth + 1)) return false;
    operand.elements.push_back(std::move(element));
  } while (accept_comma());
  return reader_.expect(close, open == '{' ? "after the vector's last element" : "after the last argument");
}

bool BodyParser::read_address(Operand& operand, int depth) {
  operand.kind = Operand::Kind::address;
  reader_.advance();
  Operand base;
  base.span = reader_.token().span;
  if (reader_.at(Token::Kind::word) && !at_constant(reader_)) {
    if (!read_word(base)) return false;
  } else if (!read_number(base)) {
    return false;
  }
  if (base.kind != Operand::Kind::integer && !read_offset(operand)) return false;
  operand.elements.push_back(std::move(base));
  while (reader_.accept(',')) {
    Operand element;
    if (!read_operand(element, depth + 1)) return false;
    operand.elements.push_back(std::move(element));
  }
  return reader_.expect(']', "to close the address");
}

bool BodyParser::read_operand(Operand& operand, int depth) {
  using Kind = Operand::Kind;
  if (depth > kDeepest) {
    report_.error(Code::too_deep, reader_.token().span, "operands are nested too deeply");
    return false;
  }
  uint32_t begin = reader_.token().span.begin;
  operand.span = reader_.token().span;
  bool constant = at_constant(reader_);
  if (reader_.at('!') && (reader_.following() == '(' || (reader_.following() >= '0' && reader_.following() <= '9'))) {
    constant = true;  // !1 is a constant expression
  } else if (reader_.at('!')) {
    reader_.advance();
    operand.negated = true;
    if (!reader_.at(Token::Kind::word)) {
      reader_.unexpected("a predicate after '!'");
      return false;
    }
  }
  bool ok;
  if (reader_.at('{')) {
    operand.kind = Kind::vector;
    ok = read_list(operand, '{', '}', depth);
  } else if (reader_.at('[')) {
    ok = read_address(operand, depth);
  } else if (constant && !(call_ && reader_.at('('))) {
    ok = read_number(operand);
  } else if (reader_.at('(')) {
    operand.kind = Kind::list;
    ok = read_list(operand, '(', ')', depth);
  } else if (reader_.at(Token::Kind::word)) {
    ok = read_word(operand);
    if (ok && operand.kind == Kind::symbol)
      ok = read_index(operand) && (operand.kind == Kind::address || read_offset(operand));
  } else {
    reader_.unexpected("an operand");
    return false;
  }
  if (!ok) return false;
  operand.span = {begin, reader_.previous_end()};
  if (reader_.at('|')) {
    reader_.advance();
    Operand pair;
    pair.kind = Kind::pair;
    pair.elements.resize(2);
    pair.elements[0] = std::move(operand);
    if (!read_operand(pair.elements[1], depth + 1)) return false;
    pair.span = {begin, reader_.previous_end()};
    operand = std::move(pair);
  }
  return true;
}

}  // namespace ptxlab::ptx
