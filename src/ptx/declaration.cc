// Declarations: .reg, variables and parameters with their alignment, vectors, dimensions and initialisers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/nearest.h"
#include "ptx/parse_state.h"

namespace ptxlab::ptx {
namespace {

constexpr size_t kDeepestInitializer = 16;
constexpr uint64_t kMostPadding = uint64_t{1} << 20;

bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// The elements below one brace of each level: for a[2][3] of v4: {24, 12, 4}.
std::vector<uint64_t> extents_of(const Variable& variable) {
  std::vector<uint64_t> extents;
  uint64_t below = 1;
  if (variable.vector > 1) {
    below = static_cast<uint64_t>(variable.vector);
    extents.push_back(below);
  }
  for (size_t i = variable.dims.size(); i-- > 0;) {
    below = saturating_product(below, variable.dims[i]);
    extents.push_back(below);
  }
  std::reverse(extents.begin(), extents.end());
  return extents;
}

}  // namespace

// A plain number without sign that fits in 32 bits.
std::optional<uint32_t> Parser::read_count(std::string_view what) {
  if (!reader_.at(Token::Kind::number)) {
    reader_.unexpected(what);
    return std::nullopt;
  }
  auto value = number_from(reader_.text());
  if (!value || value->floating || value->truncated || value->bits > UINT32_MAX) {
    report_.error(Code::bad_number, reader_.token().span, quoted(reader_.text()) + " is not " + std::string(what));
    reader_.advance();
    return std::nullopt;
  }
  reader_.advance();
  return static_cast<uint32_t>(value->bits);
}

bool Parser::read_alignment(Prefix& prefix, Span span) {
  bool typed = prefix.type != isa::Type::none || !prefix.opaque.empty();
  if (typed && !prefix.ptr_space) {
    report_.error(Code::misplaced_directive, span, ".align stands before the type", "write .align N .b32 name");
    return false;
  }
  auto value = read_count("an alignment in bytes");
  if (!value) return false;
  if (!is_power_of_two(*value)) {
    report_.error(Code::bad_declaration, span, fmt::format("an alignment is a power of two, {} is not", *value));
    return false;
  }
  (prefix.ptr_space ? prefix.ptr_align : prefix.align) = *value;
  return true;
}

bool Parser::read_type(Prefix& prefix, std::string_view word, Span span) {
  bool typed = prefix.type != isa::Type::none || !prefix.opaque.empty();
  auto type = isa::type_named(word);
  if (!type || typed) {
    report_.error(typed ? Code::unexpected_token : Code::bad_declaration, span,
                  typed ? "unexpected " + quoted(word) + ", expected a name" : "there is no type " + quoted(word),
                  typed ? "" : "types are .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f32, .f64, .pred ...");
    return false;
  }
  // What a register or variable can be; the other types belong to instructions.
  isa::Kind kind = isa::info(*type).kind;
  bool storable = kind == isa::Kind::predicate || kind == isa::Kind::bits ||
                  (kind == isa::Kind::floating ? *type == isa::Type::f16 || *type == isa::Type::f16x2 ||
                                                     *type == isa::Type::f32 || *type == isa::Type::f64
                                               : isa::info(*type).lanes == 1);
  if (!storable || (isa::bits_of(*type) < 8 && *type != isa::Type::pred)) {
    report_.error(Code::bad_declaration, span,
                  quoted(word) + " is a type of instructions, not of registers and variables",
                  fmt::format("declare it .b{}", std::max(8, isa::bits_of(*type))));
    return false;
  }
  if (*type == isa::Type::b128 && module_.version != 0 && module_.version < 83)
    report_.error(Code::gate, span, ".b128 needs PTX ISA 8.3 or later", "write .version 8.3");
  prefix.type = *type;
  return true;
}

// One dotted word of a declaration behind its state space. False with a finding where it cannot stand there.
bool Parser::read_prefix_word(Prefix& prefix, std::string_view word, Span span) {
  reader_.advance();
  if (word == ".align") return read_alignment(prefix, span);
  if (word == ".ptr") {
    prefix.ptr_space = isa::Space::generic;
    return true;
  }
  if (word == ".attribute") {
    if (!reader_.expect('(', "after .attribute")) return false;
    int depth = 1;
    while (depth > 0 && !reader_.at_end() && !reader_.at(';')) {
      depth += reader_.at('(') - reader_.at(')');
      reader_.advance();
    }
    prefix.attributes.push_back(reader_.slice(span.begin));
    return true;
  }
  if (word == ".v2" || word == ".v4") {
    prefix.vector = word[2] - '0';
    return true;
  }
  if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
    prefix.opaque = word;
    return true;
  }
  if (auto space = isa::space_named(word); space && prefix.ptr_space) {
    prefix.ptr_space = *space;
    return true;
  }
  return read_type(prefix, word, span);
}

bool Parser::read_prefix(Prefix& prefix) {
  auto space = isa::space_named(reader_.text());
  if (!reader_.at(Token::Kind::dotted) || !(space || reader_.text() == ".reg")) {
    reader_.unexpected("a state space such as .global");
    return false;
  }
  prefix.space = space.value_or(isa::Space::reg);
  reader_.advance();
  while (reader_.at(Token::Kind::dotted))
    if (!read_prefix_word(prefix, reader_.text(), reader_.token().span)) return false;
  if (prefix.type == isa::Type::none && prefix.opaque.empty()) {
    reader_.unexpected("a type such as .b32");
    return false;
  }
  return true;
}

Variable Parser::variable_from(const Prefix& prefix) const {
  Variable variable;
  variable.space = prefix.space;
  variable.type = prefix.type;
  variable.vector = prefix.vector;
  variable.align = prefix.align;
  variable.ptr_space = prefix.ptr_space;
  variable.ptr_align = prefix.ptr_align;
  variable.attributes = prefix.attributes;
  variable.opaque = prefix.opaque;
  return variable;
}

bool Parser::read_declarator(Variable& variable) {
  if (!reader_.at(Token::Kind::word)) {
    reader_.unexpected("a name");
    return false;
  }
  variable.name = reader_.text();
  variable.span = reader_.token().span;
  reader_.advance();
  while (reader_.accept('[')) {
    if (reader_.accept(']')) {
      if (!variable.dims.empty()) {
        report_.error(Code::bad_declaration, variable.span, "only the first dimension may be left empty");
        return false;
      }
      variable.dims.push_back(0);
      continue;
    }
    auto size = read_constant(reader_);
    if (!size || !reader_.expect(']', "after the dimension")) return false;
    if (size->floating || static_cast<int64_t>(size->bits) < 0) {
      report_.error(Code::bad_declaration, variable.span, "a dimension is a positive integer");
      return false;
    }
    variable.dims.push_back(size->bits);
  }
  if (reader_.accept('=')) return read_initializer(variable);
  return true;
}

void Parser::convert(const Variable& variable, const Constant& value, Initializer::Element& element, Span span) {
  bool floating_type = isa::is_float(variable.type);
  if (floating_type && variable.type != isa::Type::f32 && variable.type != isa::Type::f64) {
    report_.error(Code::bad_declaration, span,
                  fmt::format(".{} variables take no initial value", isa::name_of(variable.type)),
                  "declare it as .b16 or .b32 and give the bit pattern");
    return;
  }
  if (value.floating && (variable.type == isa::Type::b8 || variable.type == isa::Type::b16)) {
    report_.error(Code::lax_form, span,
                  fmt::format("a .{} variable takes no floating value: ptxas stores 0", isa::name_of(variable.type)),
                  "write the bit pattern in hexadecimal: 1.5 in half precision is 0x3e00");
    return;
  }
  // Bits take either: 1.5 is a single in .b32 and a double in .b64.
  bool bits = variable.type == isa::Type::b32 || variable.type == isa::Type::b64;
  if (floating_type != value.floating && !(bits && value.floating)) {
    report_.error(Code::immediate_kind, span,
                  fmt::format("the initial value of a .{} variable is {}", isa::name_of(variable.type),
                              floating_type ? "a floating constant" : "an integer"),
                  floating_type ? "write 1.0 or 0f3f800000" : "write the bit pattern in hexadecimal");
    return;
  }
  element.bits = value.bits;
  if (value.floating && isa::bits_of(variable.type) == 32)
    element.bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
}

// A number, symbol, symbol+4, generic(symbol)+4, 0xff00(symbol).
bool Parser::read_initializer_element(const Variable& variable, Initializer& initializer) {
  Initializer::Element element;
  Span span = reader_.token().span;
  bool symbol = reader_.at(Token::Kind::word) && !at_constant(reader_);
  bool closed = false;
  if (!symbol) {
    auto value = read_constant(reader_);
    if (!value) return false;
    span.end = reader_.previous_end();
    if (reader_.at('(')) {
      element.mask = value->bits;
      reader_.advance();
      symbol = closed = true;
    } else {
      convert(variable, *value, element, span);
    }
  } else if (reader_.text() == "generic" && reader_.following() == '(') {
    reader_.advance();
    reader_.advance();
    element.generic = closed = true;
  }
  if (symbol) {
    if (!reader_.at(Token::Kind::word)) {
      reader_.unexpected("a variable or function");
      return false;
    }
    std::string_view name = reader_.text();
    if (!names_.contains(name)) {
      report_.error(Code::undeclared_name, reader_.token().span, quoted(name) + " is not declared before its use here",
                    "declare the variable or function above");
    }
    if (element.mask == 0 && isa::bits_of(variable.type) < 64) {
      report_.error(
          Code::bad_declaration, reader_.token().span,
          fmt::format("an address has 64 bits, {} is .{}", quoted(variable.name), isa::name_of(variable.type)),
          "declare it .u64");
    }
    element.symbol = name;
    reader_.advance();
    if (closed && !reader_.expect(')', "after the name")) return false;
    if (reader_.accept('+')) {
      auto offset = read_constant(reader_);
      if (!offset) return false;
      element.offset = static_cast<int64_t>(offset->bits);
    }
  }
  initializer.elements.push_back(std::move(element));
  return true;
}

// `outermost`: how many values and braces stand directly inside the first brace.
void Parser::check_initializer_size(const Variable& variable, const Initializer& initializer, uint64_t outermost,
                                    bool braces, Span place) {
  auto extents = extents_of(variable);
  if (!braces && !extents.empty()) {
    report_.error(Code::bad_declaration, place, "the initial values of an array or vector stand in braces");
  } else if (!extents.empty() && !(variable.dims.size() && variable.dims[0] == 0)) {
    uint64_t room = variable.dims.empty() ? static_cast<uint64_t>(variable.vector) : variable.dims[0];
    if (outermost > room || initializer.elements.size() > extents[0]) {
      report_.error(
          Code::bad_declaration, place,
          fmt::format("{} initial values for {} elements", std::max<uint64_t>(outermost, initializer.elements.size()),
                      outermost > room ? room : extents[0]),
          variable.dims.size() > 1 ? "each row has braces of its own" : "");
    }
  }
}

bool Parser::read_initializer(Variable& variable) {
  uint32_t begin = reader_.token().span.begin;
  Span place = reader_.token().span;
  if (!variable.opaque.empty()) {  // .texref t = {width = 4, ...}: kept as text
    while (!reader_.at_end() && !reader_.at(';') && !reader_.at('}')) reader_.advance();
    reader_.accept('}');
    variable.init = Initializer{{}, reader_.slice(begin)};
    return true;
  }
  Initializer initializer;
  auto extents = extents_of(variable);
  std::vector<size_t> starts;  // where each open brace began
  uint64_t outermost = 0, padding = 0;
  bool braces = reader_.at('{');
  for (;;) {
    if (reader_.at('{')) {
      if (starts.size() == std::min(extents.size(), kDeepestInitializer)) {
        report_.error(starts.empty() ? Code::bad_declaration : Code::too_deep, reader_.token().span,
                      "the initialiser has more braces than the variable has dimensions");
        return false;
      }
      if (starts.size() == 1) ++outermost;
      starts.push_back(initializer.elements.size());
      reader_.advance();
      if (!reader_.at('}')) continue;
    } else if (!read_initializer_element(variable, initializer)) {
      return false;
    } else if (starts.size() == 1) {
      ++outermost;
    }
    while (!starts.empty() && reader_.at('}')) {
      reader_.advance();
      uint64_t extent = starts.size() > 1 ? extents[starts.size() - 1] : 0;
      uint64_t filled = initializer.elements.size() - starts.back();
      if (extent > filled) {  // an inner brace fills its row with zeros
        padding += extent - filled;
        if (padding > kMostPadding) {
          report_.error(Code::too_large, place, "this initialiser leaves more than a million elements to be filled");
          return false;
        }
        initializer.elements.resize(starts.back() + extent);
      }
      starts.pop_back();
    }
    if (starts.empty()) break;
    if (!reader_.expect(',', "between initial values")) return false;
  }
  check_initializer_size(variable, initializer, outermost, braces, place);
  initializer.text = reader_.slice(begin);
  variable.init = std::move(initializer);
  return true;
}

void Parser::check_variable(const Variable& variable, bool at_module_level) {
  using isa::Space;
  auto wrong = [&](std::string message, std::string hint = "") {
    report_.error(Code::bad_declaration, variable.span, std::move(message), std::move(hint));
  };
  if (variable.type == isa::Type::pred) wrong("a predicate lives in registers only", "declare it with .reg .pred");
  if (variable.vector * isa::bits_of(variable.type) > 128) wrong("a vector has at most 128 bits");
  if (variable.init && variable.space != Space::global && variable.space != Space::constant)
    wrong(fmt::format("variables in .{} have no initial value", isa::name_of(variable.space)), "store it in the code");
  bool open = !variable.dims.empty() && variable.dims[0] == 0;
  if (open && !variable.init && variable.linkage != Linkage::external && variable.space != Space::param)
    wrong(quoted(variable.name) + " has no size", "give its dimension, or declare it .extern");
  if (variable.init && variable.linkage == Linkage::external) wrong("an external variable has no initial value");
  constexpr uint64_t kConstantBank = 65536;
  if (variable.space == Space::constant && variable.bytes() > kConstantBank)
    wrong(fmt::format("constant memory holds {} bytes, this takes {}", kConstantBank, variable.bytes()), "use .global");
  if (at_module_level && (variable.space == Space::local || variable.space == Space::param))
    wrong(fmt::format(".{} variables belong inside a function", isa::name_of(variable.space)));
}

// .reg .v2 .b32 %a, %b<10>
bool Parser::read_register_declaration(RegisterDeclaration& declaration) {
  Prefix prefix;
  if (!read_prefix(prefix)) return false;
  if (prefix.ptr_space || !prefix.opaque.empty()) {  // an alignment means nothing here and does no harm
    report_.error(Code::bad_declaration, reader_.token().span, "a register has a type and a name, nothing else");
    return false;
  }
  declaration.type = prefix.type;
  declaration.vector = prefix.vector;
  if (prefix.vector > 1 && prefix.type == isa::Type::pred) {
    report_.error(Code::bad_declaration, reader_.token().span, "there are no vectors of predicates");
    return false;
  }
  do {
    if (!reader_.at(Token::Kind::word)) {
      reader_.unexpected("a register's name");
      return false;
    }
    RegisterDeclaration::Item item;
    item.name = reader_.text();
    item.span = reader_.token().span;
    reader_.advance();
    if (reader_.accept('<')) {
      auto count = read_count("a number of registers");
      if (!count || !reader_.expect('>', "after the number of registers")) return false;
      item.bank = true;
      item.count = *count;
      item.span.end = reader_.previous_end();
    }
    declaration.items.push_back(std::move(item));
    bool another = reader_.at(Token::Kind::word) && !reader_.token().new_line && reader_.following() != '.';
    if (another) report_missing_comma(reader_);
    if (another) continue;
    if (!reader_.accept(',')) break;
  } while (true);
  return true;
}

bool Parser::read_parameters(std::vector<Variable>& parameters) {
  reader_.advance();  // the '('
  if (reader_.accept(')')) return true;
  do {
    Prefix prefix;
    if (!read_prefix(prefix)) return false;
    if (prefix.space != isa::Space::param && prefix.space != isa::Space::reg) {
      report_.error(Code::bad_declaration, reader_.token().span, "a parameter is .param or .reg");
      return false;
    }
    Variable variable = variable_from(prefix);
    if (!read_declarator(variable)) return false;
    check_variable(variable, false);
    parameters.push_back(std::move(variable));
    if (reader_.at_dotted(".param") || reader_.at_dotted(".reg")) {
      report_missing_comma(reader_);
      continue;
    }
    if (!reader_.at(',')) break;
    Span comma = reader_.token().span;
    reader_.advance();
    if (!reader_.at(')')) continue;
    report_.add(Code::unexpected_token, base::Severity::error, comma, "nothing follows this ','", "remove it",
                {{comma, ""}});
    break;
  } while (true);
  return reader_.expect(')', "after the parameters");
}

}  // namespace ptxlab::ptx
