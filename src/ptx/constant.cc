#include "ptx/constant.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

namespace ptxlab::ptx {
namespace {

constexpr int kDeepest = 64;

// The pattern of a float as that of the equal double; NaN payloads move along.
uint64_t widened(uint32_t single) {
  if ((single & 0x7f800000u) == 0x7f800000u)
    return (uint64_t{single & 0x80000000u} << 32) | 0x7ff0000000000000u | (uint64_t{single & 0x007fffffu} << 29);
  return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(single)));
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

std::optional<Constant> integer(std::string_view digits, unsigned base) {
  Constant constant;
  if (!digits.empty() && digits.back() == 'U') {
    constant.is_unsigned = true;
    digits.remove_suffix(1);
  }
  if (digits.empty()) return std::nullopt;
  for (char c : digits) {
    auto value = static_cast<unsigned>(digit(c));
    if (value >= base) return std::nullopt;
    uint64_t next;
    constant.truncated |= __builtin_mul_overflow(constant.bits, uint64_t{base}, &next);
    constant.truncated |= __builtin_add_overflow(constant.bits * base, uint64_t{value}, &next);
    constant.bits = next;
  }
  constant.is_unsigned |= constant.bits >> 63;
  return constant;
}

std::optional<Constant> pattern(std::string_view digits, size_t length) {
  if (digits.size() != length) return std::nullopt;
  auto bits = integer(digits, 16);
  if (!bits) return std::nullopt;
  Constant constant;
  constant.floating = true;
  constant.single_precision = length == 8;
  constant.bits = length == 8 ? widened(static_cast<uint32_t>(bits->bits)) : bits->bits;
  return constant;
}

// The value of an expression while it is computed.
class Expression {
 public:
  explicit Expression(Reader& reader) : reader_(reader) {}
  std::optional<Constant> conditional(int depth);

 private:
  std::optional<Constant> unary(int depth);
  std::optional<Constant> primary(int depth);
  std::optional<Constant> binary(int lowest, int depth);
  std::string_view operator_here() const;
  std::optional<Constant> apply(std::string_view op, const Constant& a, const Constant& b, Span span);

  Reader& reader_;
};

Constant of_double(double value) {
  Constant constant;
  constant.floating = true;
  constant.bits = std::bit_cast<uint64_t>(value);
  return constant;
}

Constant of_integer(uint64_t bits, bool is_unsigned) {
  Constant constant;
  constant.bits = bits;
  constant.is_unsigned = is_unsigned;
  return constant;
}

struct Operator {
  std::string_view spelling;
  int precedence;
};
// Longer spellings first.
constexpr Operator kOperators[] = {{"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
                                   {"&&", 2}, {"||", 1}, {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},
                                   {"|", 3},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

int precedence_of(std::string_view op) {
  for (const auto& known : kOperators)
    if (known.spelling == op) return known.precedence;
  return 0;
}

std::string_view Expression::operator_here() const {
  if (!reader_.at(Token::Kind::mark)) return {};
  char first = reader_.token().mark, second = reader_.following();
  for (const auto& known : kOperators)
    if (known.spelling[0] == first && (known.spelling.size() == 1 || known.spelling[1] == second))
      return known.spelling;
  return {};
}

std::optional<Constant> integer_result(std::string_view op, const Constant& a, const Constant& b) {
  bool is_unsigned = a.is_unsigned || b.is_unsigned;
  auto as = static_cast<int64_t>(a.bits), bs = static_cast<int64_t>(b.bits);
  auto less = [&](const Constant& x, const Constant& y) {
    return is_unsigned ? x.bits < y.bits : static_cast<int64_t>(x.bits) < static_cast<int64_t>(y.bits);
  };
  if (op == "+") return of_integer(a.bits + b.bits, is_unsigned);
  if (op == "-") return of_integer(a.bits - b.bits, is_unsigned);
  if (op == "*") return of_integer(a.bits * b.bits, is_unsigned);
  if (op == "/" || op == "%") {
    if (b.bits == 0) return std::nullopt;
    bool divide = op == "/";
    if (is_unsigned) return of_integer(divide ? a.bits / b.bits : a.bits % b.bits, true);
    if (bs == -1) return of_integer(divide ? 0 - a.bits : 0, false);
    return of_integer(static_cast<uint64_t>(divide ? as / bs : as % bs), false);
  }
  if (op == "<<") return of_integer(b.bits > 63 ? 0 : a.bits << b.bits, a.is_unsigned);
  if (op == ">>") {
    uint64_t by = std::min<uint64_t>(b.bits, 63);
    return of_integer(a.is_unsigned ? (b.bits > 63 ? 0 : a.bits >> by) : static_cast<uint64_t>(as >> by),
                      a.is_unsigned);
  }
  if (op == "&") return of_integer(a.bits & b.bits, is_unsigned);
  if (op == "|") return of_integer(a.bits | b.bits, is_unsigned);
  if (op == "^") return of_integer(a.bits ^ b.bits, is_unsigned);
  if (op == "&&") return of_integer(a.bits && b.bits, false);
  if (op == "||") return of_integer(a.bits || b.bits, false);
  if (op == "==") return of_integer(a.bits == b.bits, false);
  if (op == "!=") return of_integer(a.bits != b.bits, false);
  if (op == "<") return of_integer(less(a, b), false);
  if (op == ">") return of_integer(less(b, a), false);
  if (op == "<=") return of_integer(!less(b, a), false);
  return of_integer(!less(a, b), false);  // ">="
}

std::optional<Constant> Expression::apply(std::string_view op, const Constant& a, const Constant& b, Span span) {
  if (!a.floating && !b.floating) {
    auto result = integer_result(op, a, b);
    if (!result) reader_.report().error(Code::bad_number, span, "division by zero in a constant expression");
    return result;
  }
  double x = a.value(), y = b.value();
  if (op == "+") return of_double(x + y);
  if (op == "-") return of_double(x - y);
  if (op == "*") return of_double(x * y);
  if (op == "/") return of_double(x / y);
  if (op == "<") return of_integer(x < y, false);
  if (op == ">") return of_integer(x > y, false);
  if (op == "<=") return of_integer(x <= y, false);
  if (op == ">=") return of_integer(x >= y, false);
  if (op == "==") return of_integer(x == y, false);
  if (op == "!=") return of_integer(x != y, false);
  reader_.report().error(Code::bad_number, span, "operator " + quoted(op) + " takes integers only");
  return std::nullopt;
}

std::optional<Constant> Expression::primary(int depth) {
  using Kind = Token::Kind;
  if (reader_.accept('(')) {
    // A cast, (.s64) or (.u64), or a nested expression.
    if (reader_.at_dotted(".s64") || reader_.at_dotted(".u64")) {
      bool to_unsigned = reader_.text() == ".u64";
      reader_.advance();
      if (!reader_.expect(')', "after the cast")) return std::nullopt;
      auto value = unary(depth + 1);
      if (value && !value->floating) value->is_unsigned = to_unsigned;
      return value;
    }
    auto value = conditional(depth + 1);
    if (!value || !reader_.expect(')', "to close the expression")) return std::nullopt;
    value->single_precision = false;
    return value;
  }
  if (reader_.at(Kind::word) && reader_.text() == "WARP_SZ") {
    reader_.advance();
    return of_integer(32, false);
  }
  bool fraction = reader_.at(Kind::dotted) && reader_.text().size() > 1 && digit(reader_.text()[1]) < 10;  // .5
  if (!reader_.at(Kind::number) && !fraction) {
    reader_.unexpected("a number");
    return std::nullopt;
  }
  auto value = number_from(reader_.text());
  if (!value) {
    reader_.report().error(Code::bad_number, reader_.token().span, "malformed number " + quoted(reader_.text()),
                           "12, 0x1f, 0b101, 1.5, 0f3f800000 (8 hex digits) and 0d3ff0000000000000 (16) are numbers");
    reader_.advance();
    return std::nullopt;
  }
  if (value->truncated)
    reader_.report().warning(Code::number_too_large, reader_.token().span, "this number does not fit in 64 bits",
                             "ptxas drops the upper bits without a word");
  reader_.advance();
  return value;
}

std::optional<Constant> Expression::unary(int depth) {
  if (depth > kDeepest) {
    reader_.report().error(Code::too_deep, reader_.token().span, "this expression is nested too deeply");
    return std::nullopt;
  }
  for (char op : {'-', '+', '!', '~'}) {
    if (!reader_.at(op)) continue;
    Span span = reader_.token().span;
    reader_.advance();
    bool hexadecimal = reader_.at(Token::Kind::number) && reader_.text().size() > 1 && reader_.text()[0] == '0' &&
                       std::string_view("fFdD").find(reader_.text()[1]) != std::string_view::npos;
    if (hexadecimal) {
      reader_.report().error(Code::bad_number, span, "no sign may stand before a 0f or 0d constant",
                             "set the pattern's own sign bit: -1.0 is 0fbf800000");
    }
    auto value = unary(depth + 1);
    if (!value || op == '+') return value;
    if (value->floating) {
      if (op == '-') {
        value->bits ^= uint64_t{1} << 63;
        value->single_precision = false;
        return value;
      }
      if (op == '!') return of_integer(value->value() == 0, false);
      reader_.report().error(Code::bad_number, span, "operator '~' takes integers only");
      return std::nullopt;
    }
    if (op == '-') return of_integer(0 - value->bits, value->is_unsigned);
    if (op == '!') return of_integer(value->bits == 0, false);
    return of_integer(~value->bits, value->is_unsigned);
  }
  return primary(depth);
}

std::optional<Constant> Expression::binary(int lowest, int depth) {
  auto left = unary(depth);
  while (left) {
    auto op = operator_here();
    int precedence = precedence_of(op);
    if (precedence == 0 || precedence < lowest) break;
    Span span = reader_.token().span;
    for (size_t i = 0; i < op.size(); ++i) reader_.advance();
    auto right = binary(precedence + 1, depth + 1);
    if (!right) return std::nullopt;
    left = apply(op, *left, *right, span);
  }
  return left;
}

std::optional<Constant> Expression::conditional(int depth) {
  auto condition = binary(1, depth);
  if (!condition || !reader_.at('?')) return condition;
  reader_.advance();
  auto yes = conditional(depth + 1);
  if (!yes || !reader_.expect(':', "in a conditional expression")) return std::nullopt;
  auto no = conditional(depth + 1);
  if (!no) return std::nullopt;
  bool truth = condition->floating ? condition->value() != 0 : condition->bits != 0;
  return truth ? yes : no;
}

}  // namespace

double Constant::value() const {
  if (floating) return std::bit_cast<double>(bits);
  return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
}

std::optional<Constant> number_from(std::string_view text) {
  if (text.size() > 2 && text[0] == '0') {
    auto digits = text.substr(2);
    switch (text[1]) {
      case 'x':
      case 'X': return integer(digits, 16);
      case 'b':
      case 'B': return integer(digits, 2);
      case 'f':
      case 'F': return pattern(digits, 8);
      case 'd':
      case 'D': return pattern(digits, 16);
      default: break;
    }
  }
  if (text.find_first_of(".eE") == std::string_view::npos) {
    bool octal = text.size() > 1 && text[0] == '0' && text[1] != 'U';
    return integer(octal ? text.substr(1) : text, octal ? 8 : 10);
  }
  double value = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::invalid_argument || end.ptr != text.data() + text.size()) return std::nullopt;
  // from_chars leaves the value alone when it is out of range: too large or too small, told apart by the exponent's sign.
  if (end.ec == std::errc::result_out_of_range)
    value = text.find("e-") == text.npos && text.find("E-") == text.npos ? HUGE_VAL : 0;
  return of_double(value);
}

bool at_constant(const Reader& reader) {
  using Kind = Token::Kind;
  if (reader.at(Kind::number)) return true;
  if (reader.at(Kind::mark)) return std::string_view("-+~(").find(reader.token().mark) != std::string_view::npos;
  if (reader.at(Kind::dotted)) return reader.text().size() > 1 && digit(reader.text()[1]) < 10;
  return reader.at(Kind::word) && reader.text() == "WARP_SZ";
}

std::optional<Constant> read_constant(Reader& reader) { return Expression(reader).conditional(0); }

}  // namespace ptxlab::ptx
