#include "ptx/operand_check.h"

#include <fmt/format.h>

#include "ptx/report.h"

namespace ptxlab::ptx {
namespace {

using isa::Form;
using isa::OperandSpec;
using isa::Shape;
using isa::Type;
using Maybe = std::optional<Problem>;
using Kind = Operand::Kind;

const OperandSpec& spec_of(const Form& form, int index) { return form.row->operands[static_cast<size_t>(index)]; }

std::string ordinal(const Form& form, int index) {
  return fmt::format("operand '{}' of {}", spec_of(form, index).name, form.row->opcode);
}

bool is_bits(Type type) { return isa::info(type).kind == isa::Kind::bits; }
bool is_packed_half(Type type) { return type == Type::f16x2; }

// Registers that ptxas also reads as 16 bits: the grid's coordinates of old.
bool is_coordinate(std::string_view name) {
  return name == "%tid" || name == "%ntid" || name == "%ctaid" || name == "%nctaid";
}

// ptxas reads and writes .f16x2 registers in the logic of predicates, and nowhere else.
bool takes_pairs_for_predicates(const Form& form) {
  std::string_view opcode = form.row->opcode;
  return opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not" || opcode == "mov" ||
         opcode.starts_with("vote");
}

std::string width_hint(Type have, Type want) {
  if (isa::is_float(want) || isa::is_float(have))
    return fmt::format("use a .{} register, or convert with cvt", isa::name_of(want));
  return isa::bits_of(have) < isa::bits_of(want)
             ? fmt::format("widen it first: cvt.u{}.u{}", isa::bits_of(want), isa::bits_of(have))
             : fmt::format("narrow it first: cvt.u{}.u{}", isa::bits_of(want), isa::bits_of(have));
}

}  // namespace

std::string describe(const Operand& operand) {
  switch (operand.kind) {
    case Kind::reg: return "a register";
    case Kind::special: return "a special register";
    case Kind::integer: return "an integer constant";
    case Kind::floating: return "a floating constant";
    case Kind::symbol: return operand.symbol.where == SymbolRef::Where::function ? "a function" : "a variable";
    case Kind::label: return "a label";
    case Kind::address: return "an address";
    case Kind::vector: return "a vector";
    case Kind::sink: return "'_'";
    case Kind::pair: return "a pair";
    case Kind::list: return "a list of arguments";
    case Kind::name: return "an unknown name";
  }
  return "an operand";
}

Fit fit(Type have, Type want, bool relaxed, bool element) {
  if (want == Type::none) return Fit::ok;
  if (have == Type::pred || want == Type::pred) return have == want ? Fit::ok : Fit::kind;
  int bits = isa::bits_of(have), needed = isa::bits_of(want);
  // The narrow formats that came after f16 take exact registers everywhere.
  if (isa::is_float(want) && want != Type::f16 && want != Type::f32 && want != Type::f64) relaxed = false;
  if (relaxed ? bits < needed : bits != needed) return Fit::width;
  if (is_bits(have) || is_bits(want) || have == want) return Fit::ok;
  bool integer = isa::is_integer(have);
  if (!isa::is_float(want)) return integer || is_packed_half(have) ? Fit::ok : Fit::kind;
  return element && integer && bits == needed ? Fit::ok : Fit::kind;
}

const Variable* OperandCheck::variable(const SymbolRef& symbol) const {
  switch (symbol.where) {
    case SymbolRef::Where::module_variable: return &module_.variables[symbol.index];
    case SymbolRef::Where::function_variable: return &function_.variables[symbol.index];
    case SymbolRef::Where::parameter: return &function_.parameters[symbol.index];
    case SymbolRef::Where::return_parameter: return &function_.results[symbol.index];
    case SymbolRef::Where::function:
    case SymbolRef::Where::unresolved: return nullptr;
  }
  return nullptr;
}

Maybe OperandCheck::wrong_kind(const Form& form, int index, const Operand& operand, std::string_view wanted) const {
  return Problem{Code::operand_kind, operand.span,
                 fmt::format("{} is {}, not {}", ordinal(form, index), wanted, describe(operand)), "", false};
}

Maybe OperandCheck::reg(const Form& form, int index, const Operand& operand, bool element) const {
  const OperandSpec& spec = spec_of(form, index);
  const Register& have = function_.registers[operand.id];
  Type want = form.operand_type(index);
  int lanes = operand.component >= 0 ? 1 : have.vector;
  if (operand.component >= 0 && operand.component < 4 && (have.vector == 1 || operand.component >= have.vector))
    return Problem{Code::component, operand.span, fmt::format("register {} has no such component", quoted(have.name)),
                   have.vector == 1 ? "only registers declared .v2 or .v4 have components" : "", false};
  if (lanes > 1 && !element && spec.shape != Shape::vector && !form.row->opcode.starts_with("mov"))
    return Problem{Code::vector_length, operand.span, fmt::format("{} is a vector register", quoted(have.name)),
                   "name one component: .x .y .z .w", false};
  if (operand.negated && have.type != Type::pred)
    return Problem{Code::negation, operand.span, "'!' negates predicates only", "use not.b32", false};
  if (operand.negated && spec.destination)
    return Problem{Code::negation, operand.span, "a result cannot be negated", "", false};
  if (lanes > 1 && !element) {  // mov between a vector register and a wide one
    if (form.vector_length() > 1 || lanes * isa::bits_of(have.type) == isa::bits_of(want)) return std::nullopt;
    return Problem{Code::vector_length, operand.span, fmt::format("{} is a vector register", quoted(have.name)),
                   "name one component: .x .y .z .w", false};
  }
  // A window of 32 bits is an address of that space too.
  bool window = isa::bits_of(have.type) == 32 && !isa::is_float(have.type);
  if (window && form.row->opcode == "isspacep" && !spec.destination) return std::nullopt;
  if (want == Type::pred && is_packed_half(have.type) && takes_pairs_for_predicates(form))
    return Problem{Code::lax_form, operand.span,
                   fmt::format("{} is a predicate, register {} is .f16x2", ordinal(form, index), quoted(have.name)),
                   "ptxas takes it; declare the register .pred, or compare with setp", false};
  switch (fit(have.type, want, spec.type.relaxed, element)) {
    case Fit::ok: return std::nullopt;
    case Fit::width:
      return Problem{Code::register_width, operand.span,
                     fmt::format("{} is .{}, register {} is .{}", ordinal(form, index), isa::name_of(want),
                                 quoted(have.name), isa::name_of(have.type)),
                     width_hint(have.type, want), false};
    case Fit::kind:
      return Problem{Code::register_kind, operand.span,
                     fmt::format("{} is .{}, register {} is .{}", ordinal(form, index), isa::name_of(want),
                                 quoted(have.name), isa::name_of(have.type)),
                     want == Type::pred        ? "compare with setp to get a predicate"
                     : have.type == Type::pred ? "turn a predicate into a number with selp"
                                               : fmt::format("declare it .b{}, or move it with mov.b{}",
                                                             isa::bits_of(have.type), isa::bits_of(have.type)),
                     false};
  }
  return std::nullopt;
}

Maybe OperandCheck::special(const Form& form, int index, const Operand& operand) const {
  const auto& special = isa::special_registers()[operand.id];
  Type want = form.operand_type(index);
  bool cvt = form.row->opcode == "cvt" && !isa::is_float(form.type(0));
  if (!spec_of(form, index).names_symbol && !cvt)
    return Problem{Code::operand_kind, operand.span,
                   fmt::format("{} cannot read the special register {}", form.row->opcode, special.name),
                   "copy it first: mov.u32 %r, " + std::string(special.name) + (special.components > 1 ? ".x" : ""),
                   false};
  bool headed = module_.version != 0 && module_.target.sm != 0;
  if (auto refusal = headed ? isa::refusal(special.gate, module_.version, module_.target) : ""; !refusal.empty())
    return Problem{Code::gate, operand.span, fmt::format("{} {}", special.name, refusal), "", false};
  if (operand.component >= 0 && (special.components == 1 || operand.component >= special.components))
    return Problem{Code::component, operand.span, fmt::format("{} has no such component", special.name), "", false};
  if (special.components > 1 && operand.component < 0) {
    if (form.vector_length() > 1) return std::nullopt;
    return Problem{Code::component, operand.span, fmt::format("{} has components", special.name),
                   fmt::format("read {}.x", special.name), false};
  }
  int have = isa::bits_of(special.type), needed = isa::bits_of(want);
  if (isa::is_float(want) || (special.type == Type::pred) != (want == Type::pred))
    return Problem{Code::special_register_width, operand.span,
                   fmt::format("{} is .{}, not .{}", special.name, isa::name_of(special.type), isa::name_of(want)),
                   fmt::format("read it with mov.{}", isa::name_of(special.type)), false};
  if (have == needed || (needed == 16 && !is_bits(want) && is_coordinate(special.name))) return std::nullopt;
  return Problem{Code::special_register_width, operand.span,
                 fmt::format("{} has {} bits, {} has {}", special.name, have, ordinal(form, index), needed),
                 fmt::format("read it with mov.{}, then convert with cvt", isa::name_of(special.type)), false};
}

// The address of a variable or function as a number.
Maybe OperandCheck::symbol_value(const Form& form, int index, const Operand& operand) const {
  if (!spec_of(form, index).names_symbol)
    return Problem{Code::operand_kind, operand.span,
                   fmt::format("{} cannot take the address of {}", form.row->opcode, quoted(operand.name)),
                   "take it first: mov.u64 %rd, " + operand.name, false};
  Type want = form.operand_type(index);
  if (isa::is_float(want) || want == Type::pred || isa::bits_of(want) < 32)
    return Problem{Code::operand_kind, operand.span,
                   fmt::format("the address of {} is a 64-bit integer", quoted(operand.name)), "use mov.u64", false};
  const Variable* named = variable(operand.symbol);
  if (isa::bits_of(want) == 32 && named && named->space == isa::Space::global)
    return Problem{Code::operand_kind, operand.span,
                   fmt::format("the address of the global variable {} has 64 bits", quoted(operand.name)),
                   "use mov.u64", false};
  return std::nullopt;
}

// The constants that the row admits: barrier numbers, counts of whole warps, sizes of copies.
Maybe OperandCheck::range(const Form& form, int index, const Operand& operand) const {
  const isa::ConstantRange& range = spec_of(form, index).constants;
  if (range.admits(static_cast<int64_t>(operand.bits))) return std::nullopt;
  if (form.row->opcode == "lop3")
    return Problem{Code::immediate_truncated, operand.span,
                   fmt::format("a truth table has 8 bits, {} has more", operand.name),
                   "ptxas keeps the lower 8 bits without a word", true};
  std::string legal = range.low == range.high ? fmt::format("it is {}", range.low)
                      : range.doubling        ? fmt::format("powers of two from {} to {}", range.low, range.high)
                      : range.step > 1 ? fmt::format("{} to {} in steps of {}", range.low, range.high, range.step)
                                       : fmt::format("{} to {}", range.low, range.high);
  return Problem{Code::immediate_range, operand.span,
                 fmt::format("{} cannot be {}", ordinal(form, index), operand.name), "legal: " + legal, false};
}

Maybe OperandCheck::integer(const Form& form, int index, const Operand& operand) const {
  Type want = form.operand_type(index);
  const OperandSpec& spec = spec_of(form, index);
  if (spec.destination) return wrong_kind(form, index, operand, "a result: a register");
  if (auto problem = range(form, index, operand)) return problem;
  if (want == Type::none || want == Type::pred) return std::nullopt;
  if (isa::is_float(want)) {
    return Problem{
        Code::immediate_kind, operand.span,
        fmt::format("{} is .{}: an integer constant cannot stand there", ordinal(form, index), isa::name_of(want)),
        form.takes_constant(index)
            ? "write " + std::string(quoted(operand.name).size() < 20 ? operand.name : "1") + ".0, or the bits as 0f..."
            : "put the bits into a register with mov",
        false};
  }
  int bits = isa::bits_of(want);
  if (bits >= 64) return std::nullopt;
  auto value = static_cast<int64_t>(operand.bits);
  if (value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << bits)) return std::nullopt;
  return Problem{Code::immediate_truncated, operand.span,
                 fmt::format("{} does not fit in .{}", quoted(operand.name), isa::name_of(want)),
                 fmt::format("ptxas keeps the lower {} bits without a word", bits), true};
}

Maybe OperandCheck::floating(const Form& form, int index, const Operand& operand, bool element) const {
  Type want = form.operand_type(index);
  if (spec_of(form, index).destination) return wrong_kind(form, index, operand, "a result: a register");
  if (want == Type::none || want == Type::f32 || want == Type::f64) return std::nullopt;
  if (want == Type::b32 && (operand.single_precision || element)) return std::nullopt;
  if (want == Type::b64 && !operand.single_precision) return std::nullopt;
  return Problem{Code::immediate_kind, operand.span,
                 fmt::format("{} is .{}: {} cannot stand there", ordinal(form, index), isa::name_of(want),
                             operand.single_precision ? "a 0f constant" : "a floating constant"),
                 want == Type::b32 ? "write the bits of a single as 0f3f800000" : "write the bits in hexadecimal",
                 false};
}

Maybe OperandCheck::sink(const Form& form, int index, const Operand& operand, bool element) const {
  const OperandSpec& spec = spec_of(form, index);
  bool second_half = index > 0 && spec_of(form, index - 1).pair;
  if (spec.sink_allowed || second_half || (element && spec.destination)) return std::nullopt;
  return Problem{Code::sink, operand.span, fmt::format("{} cannot be left out with '_'", ordinal(form, index)),
                 "name a register that nothing reads", false};
}

Maybe OperandCheck::value(const Form& form, int index, const Operand& operand, bool element) const {
  const OperandSpec& spec = spec_of(form, index);
  bool register_only = spec.shape == Shape::reg || spec.shape == Shape::predicate;
  switch (operand.kind) {
    case Kind::name: return std::nullopt;  // reported by the parser
    case Kind::reg: return reg(form, index, operand, element);
    case Kind::special: return special(form, index, operand);
    case Kind::sink: return sink(form, index, operand, element);
    case Kind::integer:
    case Kind::floating:
      if (register_only && spec.destination) return wrong_kind(form, index, operand, "a register");
      if (spec.shape == Shape::reg) return wrong_kind(form, index, operand, "a register");
      return operand.kind == Kind::integer ? integer(form, index, operand) : floating(form, index, operand, element);
    case Kind::symbol: return symbol_value(form, index, operand);
    case Kind::vector:
      // A lone element in braces stands for itself.
      if (operand.elements.size() == 1) return value(form, index, operand.elements[0], true);
      if (form.row->opcode == "mov" && form.vector_length() > 1) return std::nullopt;
      return Problem{Code::vector_length, operand.span,
                     fmt::format("{} is a single value, not a vector", ordinal(form, index)), "", false};
    case Kind::label:
    case Kind::address:
    case Kind::pair:
    case Kind::list:
      return wrong_kind(form, index, operand, spec.destination ? "a register" : "a register or a constant");
  }
  return std::nullopt;
}

Maybe OperandCheck::vector(const Form& form, int index, const Operand& operand) const {
  int lanes = form.operand_lanes(index);
  if (operand.kind == Kind::vector) {
    if (static_cast<int>(operand.elements.size()) != lanes)
      return Problem{Code::vector_length, operand.span,
                     fmt::format("{} has {} element{}, not {}", ordinal(form, index), lanes, lanes == 1 ? "" : "s",
                                 operand.elements.size()),
                     "", false};
    for (const Operand& element : operand.elements)
      if (auto problem = value(form, index, element, lanes > 1)) return problem;
    return std::nullopt;
  }
  if (lanes == 1) return value(form, index, operand, false);
  if (operand.kind == Kind::reg && operand.component < 0 && function_.registers[operand.id].vector == lanes)
    return reg(form, index, operand, true);
  if (operand.kind == Kind::name) return std::nullopt;
  return Problem{Code::vector_length, operand.span, fmt::format("{} is a vector of {}", ordinal(form, index), lanes),
                 "write {%a, %b} with as many elements as .v says", false};
}

Maybe OperandCheck::address_space(const Form& form, int index, const Operand& base) const {
  using isa::Space;
  const Variable* named = variable(base.symbol);
  if (!named)
    return Problem{Code::bad_address, base.span, fmt::format("{} is a function: it has no data", quoted(base.name)), "",
                   false};
  Space want = form.operand_space(index);
  bool stores = form.row->effects.stores || form.row->effects.atomic;
  if (named->space == Space::param && stores && base.symbol.where == SymbolRef::Where::parameter)
    return Problem{Code::read_only_space, base.span, fmt::format("parameter {} cannot be written", quoted(base.name)),
                   "parameters are read with ld.param", false};
  bool generic = want == Space::generic || want == Space::none;
  bool fits = named->space == want || (want == Space::shared_cluster && named->space == Space::shared) ||
              (want == Space::param_func && named->space == Space::param) ||
              (generic && named->space != Space::param && named->space != Space::constant);
  if (fits) return std::nullopt;
  return Problem{
      Code::wrong_space, base.span,
      fmt::format("{} is in .{}, {} reads and writes {} memory", quoted(base.name), isa::name_of(named->space),
                  form.row->opcode, generic ? "generic" : "." + std::string(isa::name_of(want))),
      fmt::format("write {}.{}", form.row->opcode, isa::name_of(named->space)), false};
}

Maybe OperandCheck::address(const Form& form, int index, const Operand& operand) const {
  if (operand.kind == Kind::name) return std::nullopt;
  if (operand.kind != Kind::address)
    return Problem{Code::operand_kind, operand.span, fmt::format("{} is an address", ordinal(form, index)),
                   "write it in brackets: [%rd1+16]", false};
  const Operand& base = operand.elements[0];
  switch (base.kind) {
    case Kind::symbol: return address_space(form, index, base);
    case Kind::reg: {
      Type type = function_.registers[base.id].type;
      if (type != Type::pred && !isa::is_float(type) && type != Type::b128) {
        isa::Space space = form.operand_space(index);
        bool wide = space == isa::Space::global || space == isa::Space::generic || space == isa::Space::none;
        if (isa::bits_of(type) != 32 || !wide || form.row->effects.async) return std::nullopt;
        return Problem{
            Code::bad_address, base.span,
            fmt::format("register {} has 32 bits, an address in {} memory has 64",
                        quoted(function_.registers[base.id].name), space == isa::Space::global ? ".global" : "generic"),
            "hold it in a .b64 register; shared memory alone takes 32 bits: ld.shared", false};
      }
      return Problem{Code::bad_address, base.span,
                     fmt::format("register {} is .{}: it cannot hold an address",
                                 quoted(function_.registers[base.id].name), isa::name_of(type)),
                     "an address is in a .b64 register (.b32 for shared memory)", false};
    }
    case Kind::integer:
      if (form.operand_space(index) == isa::Space::local) return std::nullopt;
      return Problem{Code::bad_address, base.span, "an address cannot be a bare number here",
                     "move it into a register first", false};
    case Kind::name: return std::nullopt;
    case Kind::special:
    case Kind::floating:
    case Kind::label:
    case Kind::address:
    case Kind::vector:
    case Kind::sink:
    case Kind::pair:
    case Kind::list:
      return Problem{Code::bad_address, base.span, fmt::format("{} cannot be an address", describe(base)),
                     "an address is a register or a variable, and a constant", false};
  }
  return std::nullopt;
}

Maybe OperandCheck::check(const Form& form, int index, const Operand& operand) const {
  if (operand.kind == Kind::name) return std::nullopt;
  if (spec_of(form, index).sink_only && operand.kind != Kind::sink) return wrong_kind(form, index, operand, "'_'");
  switch (spec_of(form, index).shape) {
    case Shape::value:
    case Shape::reg:
    case Shape::predicate: return value(form, index, operand, false);
    case Shape::vector: return vector(form, index, operand);
    case Shape::address: return address(form, index, operand);
    case Shape::label:
      if (operand.kind == Kind::label) return std::nullopt;
      return wrong_kind(form, index, operand, "a label");
    case Shape::symbol:
      if (operand.kind == Kind::reg) return std::nullopt;
      if (operand.kind == Kind::symbol && operand.symbol.where == SymbolRef::Where::function) return std::nullopt;
      return wrong_kind(form, index, operand, "a function");
    case Shape::arguments:
      if (operand.kind == Kind::list) return std::nullopt;
      return wrong_kind(form, index, operand, "a list of arguments in parentheses");
    case Shape::immediate:
      if (operand.kind == Kind::integer) return range(form, index, operand);
      return wrong_kind(form, index, operand, "an integer constant");
  }
  return std::nullopt;
}

}  // namespace ptxlab::ptx
