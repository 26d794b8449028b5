// Recursive descent by precedence climbing into a small tree; evaluation with the compiler's overflow builtins. Depth
// and length are bounded, since expressions come from files that a model wrote.
#include "launch/expression.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/nearest.h"

namespace ptxlab::launch {
namespace {

constexpr size_t kMaxLength = 2000;
constexpr int kMaxDepth = 100;

enum class Op : uint8_t {
  number,
  name,
  negate,
  logical_not,
  bit_not,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  conditional,
  min,
  max,
  ceildiv,
  align_up,
  log2,
};

struct Binary {
  std::string_view spelling;
  Op op;
  int precedence;  // as in C: larger binds tighter
};
// Longer spellings stand before their prefixes.
constexpr std::array<Binary, 18> kBinaries{{
    {"||", Op::logical_or, 1},
    {"&&", Op::logical_and, 2},
    {"==", Op::equal, 6},
    {"!=", Op::not_equal, 6},
    {"<<", Op::shift_left, 8},
    {">>", Op::shift_right, 8},
    {"<=", Op::less_equal, 7},
    {">=", Op::greater_equal, 7},
    {"<", Op::less, 7},
    {">", Op::greater, 7},
    {"|", Op::bit_or, 3},
    {"^", Op::bit_xor, 4},
    {"&", Op::bit_and, 5},
    {"+", Op::add, 9},
    {"-", Op::subtract, 9},
    {"*", Op::multiply, 10},
    {"/", Op::divide, 10},
    {"%", Op::remainder, 10},
}};

struct FunctionRow {
  std::string_view name;
  Op op;
  size_t arity;
};
constexpr std::array<FunctionRow, 5> kFunctions{{
    {"min", Op::min, 2},
    {"max", Op::max, 2},
    {"ceildiv", Op::ceildiv, 2},
    {"align_up", Op::align_up, 2},
    {"log2", Op::log2, 1},
}};

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

struct Expression::Node {
  Op op = Op::number;
  int64_t value = 0;
  std::string name;
  std::vector<std::unique_ptr<Node>> operands;
  uint32_t at = 0, end = 0;  // bytes in the text: of the operator, name or number
};

class Expression::Parser {
 public:
  Parser(std::string_view text, const base::Place& origin) : text_(text), origin_(origin) {}

  base::Result<std::unique_ptr<Node>> parse() {
    if (text_.size() > kMaxLength) {
      fail(0, 1, fmt::format("an expression of {} bytes; at most {} are read", text_.size(), kMaxLength), "");
      return std::move(*finding_);
    }
    auto node = conditional();
    skip();
    if (node && at_ < text_.size()) {
      fail(at_, at_ + 1, fmt::format("`{}` after the end of the expression", text_.substr(at_, 1)),
           "operators are + - * / % << >> & | ^ < <= > >= == != && || ?:");
    }
    if (finding_) return std::move(*finding_);
    return node;
  }

 private:
  using NodePtr = std::unique_ptr<Node>;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_).substr(0, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  NodePtr fail(size_t from, size_t to, std::string message, std::string hint) {
    if (!finding_) {
      base::Place place = origin_;
      if (place.line == 0) place = {"", 1, 1, 0};
      place.column += static_cast<uint32_t>(from);
      place.length = static_cast<uint32_t>(to - from);
      finding_ = base::Finding{"PLAN0001",      base::Severity::error,
                               place,           fmt::format("{} in the expression `{}`", message, text_.substr(0, 80)),
                               std::move(hint), {}};
    }
    return nullptr;
  }
  static NodePtr make(Op op, size_t from, size_t to) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->at = static_cast<uint32_t>(from);
    node->end = static_cast<uint32_t>(to);
    return node;
  }

  NodePtr conditional() {
    if (++depth_ > kMaxDepth) return fail(at_, at_ + 1, fmt::format("more than {} levels of nesting", kMaxDepth), "");
    auto condition = binary(1);
    skip();
    const size_t from = at_;
    if (condition && take("?")) {
      auto node = make(Op::conditional, from, from + 1);
      auto yes = conditional();
      if (!yes) return nullptr;
      if (!take(":")) return fail(at_, at_ + 1, "`:` is missing after `?`", "a condition reads `a ? b : c`");
      auto no = conditional();
      if (!no) return nullptr;
      node->operands.push_back(std::move(condition));
      node->operands.push_back(std::move(yes));
      node->operands.push_back(std::move(no));
      condition = std::move(node);
    }
    --depth_;
    return condition;
  }

  const Binary* operator_here() {
    skip();
    for (const Binary& row : kBinaries)
      if (text_.substr(at_).substr(0, row.spelling.size()) == row.spelling) return &row;
    return nullptr;
  }

  NodePtr binary(int precedence) {
    auto left = unary();
    while (left) {
      const Binary* row = operator_here();
      if (!row || row->precedence < precedence) break;
      auto node = make(row->op, at_, at_ + row->spelling.size());
      at_ += row->spelling.size();
      auto right = binary(row->precedence + 1);
      if (!right) return nullptr;
      node->operands.push_back(std::move(left));
      node->operands.push_back(std::move(right));
      left = std::move(node);
    }
    return left;
  }

  NodePtr unary() {
    skip();
    const size_t from = at_;
    const Op op = take("-") ? Op::negate : take("!") ? Op::logical_not : take("~") ? Op::bit_not : Op::number;
    if (op == Op::number) return primary();
    if (++depth_ > kMaxDepth) return fail(from, from + 1, fmt::format("more than {} levels of nesting", kMaxDepth), "");
    auto node = make(op, from, at_);
    auto operand = unary();
    if (!operand) return nullptr;
    node->operands.push_back(std::move(operand));
    --depth_;
    return node;
  }

  NodePtr primary() {
    skip();
    if (at_ >= text_.size()) return fail(at_, at_ + 1, at_ == 0 ? "nothing" : "a value is missing at the end", "");
    if (text_[at_] == '(') {
      ++at_;
      auto node = conditional();
      if (node && !take(")")) return fail(at_, at_ + 1, "`)` is missing", "");
      return node;
    }
    if (digit(text_[at_])) return number();
    if (starts_name(text_[at_])) return name();
    return fail(at_, at_ + 1, fmt::format("`{}` where a value should stand", text_[at_]),
                "values are integers, names, calls and ( )");
  }

  NodePtr number() {
    const size_t from = at_;
    const bool hex = text_.substr(at_).substr(0, 2) == "0x" || text_.substr(at_).substr(0, 2) == "0X";
    if (hex) at_ += 2;
    int64_t value = 0;
    bool any = false, overflow = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      int d = -1;
      if (digit(c)) d = c - '0';
      if (hex && c >= 'a' && c <= 'f') d = c - 'a' + 10;
      if (hex && c >= 'A' && c <= 'F') d = c - 'A' + 10;
      if (d < 0) break;
      any = true;
      overflow |= __builtin_mul_overflow(value, int64_t{hex ? 16 : 10}, &value) ||
                  __builtin_add_overflow(value, int64_t{d}, &value);
    }
    if (!any) return fail(from, at_, "`0x` without digits", "");
    if (overflow) return fail(from, at_, "a number beyond 64 bits", "the largest is 9223372036854775807");
    if (at_ < text_.size() && (starts_name(text_[at_]) || digit(text_[at_]) || text_[at_] == '.'))
      return fail(from, at_ + 1, "not an integer",
                  "expressions are integers; floats stand in a task's float scalars only");
    auto node = make(Op::number, from, at_);
    node->value = value;
    return node;
  }

  NodePtr name() {
    const size_t from = at_;
    while (at_ < text_.size() && (starts_name(text_[at_]) || digit(text_[at_]))) ++at_;
    const std::string word(text_.substr(from, at_ - from));
    const size_t end = at_;
    if (!take("(")) {
      auto node = make(Op::name, from, end);
      node->name = word;
      return node;
    }
    const FunctionRow* function = nullptr;
    std::vector<std::string> known;
    for (const FunctionRow& row : kFunctions) {
      known.emplace_back(row.name);
      if (row.name == word) function = &row;
    }
    if (!function) {
      const std::string near = base::nearest(word, known);
      return fail(
          from, end, fmt::format("no function `{}`", word),
          near.empty() ? "functions are min max ceildiv align_up log2" : fmt::format("did you mean `{}`?", near));
    }
    auto node = make(function->op, from, end);
    do {
      auto operand = conditional();
      if (!operand) return nullptr;
      node->operands.push_back(std::move(operand));
    } while (take(","));
    if (!take(")")) return fail(at_, at_ + 1, "`)` is missing", "");
    if (node->operands.size() != function->arity) {
      return fail(from, end,
                  fmt::format("`{}` takes {} operand{}, not {}", word, function->arity, function->arity == 1 ? "" : "s",
                              node->operands.size()),
                  "");
    }
    return node;
  }

  std::string_view text_;
  base::Place origin_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<base::Finding> finding_;
};

struct Expression::Evaluator {
  const Expression& expression;
  const Names& names;
  const std::vector<std::string>& known;
  std::optional<base::Finding> finding;

  int64_t fail(const Node& node, std::string code, std::string message, std::string hint = "") {
    if (!finding) {
      base::Place place = expression.origin_;
      if (place.line == 0) place = {"", 1, 1, 0};
      place.column += node.at;
      place.length = node.end - node.at;
      finding = base::Finding{std::move(code), base::Severity::error,
                              place,           fmt::format("{} in the expression `{}`", message, expression.text_),
                              std::move(hint), {}};
    }
    return 0;
  }
  int64_t overflow(const Node& node) {
    return fail(node, "PLAN0003", "a value beyond 64 bits", "values are 64-bit signed integers and never wrap");
  }

  int64_t name(const Node& node) {
    if (auto value = names(node.name)) return *value;
    const std::string near = base::nearest(node.name, known);
    std::string hint;
    if (!near.empty()) {
      hint = fmt::format("did you mean `{}`?", near);
    } else if (!known.empty()) {
      hint = "known here:";
      for (const std::string& word : known) hint += " " + word;
    }
    return fail(node, "PLAN0002", fmt::format("unknown name `{}`", node.name), hint);
  }

  int64_t value(const Node& node) {
    if (finding) return 0;
    if (node.op == Op::number) return node.value;
    if (node.op == Op::name) return name(node);
    const int64_t a = value(*node.operands[0]);
    // && || ?: evaluate only what C would.
    if (node.op == Op::logical_and) return a != 0 && !finding && value(*node.operands[1]) != 0;
    if (node.op == Op::logical_or) return a != 0 || (!finding && value(*node.operands[1]) != 0);
    if (node.op == Op::conditional) return finding ? 0 : value(*node.operands[a != 0 ? 1 : 2]);
    const int64_t b = node.operands.size() > 1 ? value(*node.operands[1]) : 0;
    return finding ? 0 : strict(node, a, b);
  }

  int64_t strict(const Node& node, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (node.op) {
      case Op::negate: return __builtin_sub_overflow(int64_t{0}, a, &r) ? overflow(node) : r;
      case Op::logical_not: return a == 0;
      case Op::bit_not: return ~a;
      case Op::add: return __builtin_add_overflow(a, b, &r) ? overflow(node) : r;
      case Op::subtract: return __builtin_sub_overflow(a, b, &r) ? overflow(node) : r;
      case Op::multiply: return __builtin_mul_overflow(a, b, &r) ? overflow(node) : r;
      case Op::divide: return divisible(node, a, b) ? a / b : 0;
      case Op::remainder: return divisible(node, a, b) ? a % b : 0;
      case Op::shift_left: return shift_left(node, a, b);
      case Op::shift_right:
        return b < 0 || b > 63 ? fail(node, "PLAN0004", fmt::format("a shift by {}", b), "shifts go from 0 to 63")
                               : a >> b;
      case Op::bit_and: return a & b;
      case Op::bit_or: return a | b;
      case Op::bit_xor: return a ^ b;
      case Op::less: return a < b;
      case Op::less_equal: return a <= b;
      case Op::greater: return a > b;
      case Op::greater_equal: return a >= b;
      case Op::equal: return a == b;
      case Op::not_equal: return a != b;
      case Op::min: return std::min(a, b);
      case Op::max: return std::max(a, b);
      case Op::ceildiv: return ceildiv(node, a, b);
      case Op::align_up:
        r = ceildiv(node, a, b);
        return finding ? 0 : __builtin_mul_overflow(r, b, &r) ? overflow(node) : r;
      case Op::log2:
        return a <= 0
                   ? fail(node, "PLAN0004", fmt::format("log2 of {}", a), "log2 takes positive values and rounds down")
                   : static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(a))) - 1;
      case Op::number:
      case Op::name:
      case Op::logical_and:
      case Op::logical_or:
      case Op::conditional: break;
    }
    assert(false && "lazy operators do not come here");
    return 0;
  }

  bool divisible(const Node& node, int64_t a, int64_t b) {
    if (b == 0) return fail(node, "PLAN0004", "division by zero"), false;
    if (b == -1 && a == std::numeric_limits<int64_t>::min()) return overflow(node), false;
    return true;
  }
  int64_t shift_left(const Node& node, int64_t a, int64_t b) {
    if (b < 0 || b > 63) return fail(node, "PLAN0004", fmt::format("a shift by {}", b), "shifts go from 0 to 63");
    const auto shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    return (shifted >> b) != a ? overflow(node) : shifted;
  }
  int64_t ceildiv(const Node& node, int64_t a, int64_t b) {
    if (b == 0) return fail(node, "PLAN0004", "division by zero");
    if (b < 0)
      return fail(node, "PLAN0004", fmt::format("a divisor of {}", b),
                  "ceildiv and align_up take a positive second operand");
    return a / b + (a % b > 0 ? 1 : 0);
  }
};

base::Result<Expression> Expression::parse(std::string_view text, const base::Place& origin) {
  auto root = Parser(text, origin).parse();
  if (!root) return root.findings();
  Expression expression;
  expression.root_ = std::shared_ptr<const Node>(std::move(*root));
  expression.text_ = text;
  expression.origin_ = origin;
  return expression;
}

Expression Expression::constant(int64_t value) {
  Expression expression;
  auto node = std::make_shared<Node>();
  node->value = value;
  expression.root_ = std::move(node);
  expression.text_ = std::to_string(value);
  return expression;
}

base::Result<int64_t> Expression::evaluate(const Names& names, const std::vector<std::string>& known) const {
  if (!root_) return int64_t{0};
  Evaluator evaluator{*this, names, known, {}};
  const int64_t value = evaluator.value(*root_);
  if (evaluator.finding) return std::move(*evaluator.finding);
  return value;
}

std::set<std::string> Expression::names() const {
  std::set<std::string> found;
  std::vector<const Node*> open;
  if (root_) open.push_back(root_.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->op == Op::name) found.insert(node->name);
    for (const auto& operand : node->operands) open.push_back(operand.get());
  }
  return found;
}

const std::string& Expression::text() const { return text_; }
const base::Place& Expression::origin() const { return origin_; }

}  // namespace ptxlab::launch
