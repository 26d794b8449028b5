#include "task/formula.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace ptxlab::task {
namespace {

constexpr int kMaxDepth = 100;

struct FunctionRow {
  std::string_view name;
  size_t arity;
  double (*apply)(double, double);
};
constexpr std::array<FunctionRow, 7> kFunctions{{
    {"sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"exp", 1, [](double a, double) { return std::exp(a); }},
    {"exp2", 1, [](double a, double) { return std::exp2(a); }},
    {"log", 1, [](double a, double) { return std::log(a); }},
    {"log2", 1, [](double a, double) { return std::log2(a); }},
    {"min", 2, [](double a, double b) { return std::fmin(a, b); }},
    {"max", 2, [](double a, double b) { return std::fmax(a, b); }},
}};

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

// Evaluates while it parses: a formula is read a few times a task.
class Evaluator {
 public:
  Evaluator(std::string_view text, const FormulaNames& names, const base::Place& origin)
      : text_(text), names_(names), origin_(origin) {}

  base::Result<double> run() {
    if (text_.size() > 2000) fail(0, "a formula of more than 2000 bytes");
    const double value = finding_ ? 0 : sum();
    skip();
    if (at_ < text_.size()) fail(at_, fmt::format("`{}` after the end", text_.substr(at_, 1)));
    if (finding_) return std::move(*finding_);
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  double fail(size_t at, std::string message) {
    if (!finding_) {
      base::Place place = origin_;
      if (place.line) place.column += static_cast<uint32_t>(at);
      place.length = 1;
      finding_ = base::Finding{"TASK0003",
                               base::Severity::error,
                               place,
                               fmt::format("{} in the formula `{}`", message, text_.substr(0, 80)),
                               "formulas are doubles: + - * / ( ) sqrt exp exp2 log log2 min max and the task's params",
                               {}};
    }
    at_ = text_.size();
    return 0;
  }

  double sum() {
    double value = product();
    while (!finding_) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        break;
      }
    }
    return value;
  }
  double product() {
    double value = factor();
    while (!finding_) {
      if (take('*')) {
        value *= factor();
      } else if (take('/')) {
        value /= factor();
      } else {
        break;
      }
    }
    return value;
  }
  double factor() {
    if (++depth_ > kMaxDepth) return fail(at_, "too many levels of nesting");
    const double value = take('-') ? -factor() : take('+') ? factor() : primary();
    --depth_;
    return value;
  }
  double primary() {
    skip();
    if (at_ >= text_.size()) return fail(at_, "a value is missing");
    if (take('(')) {
      const double value = sum();
      if (!take(')')) return fail(at_, "`)` is missing");
      return value;
    }
    if (digit(text_[at_]) || text_[at_] == '.') {
      double value = 0;
      const auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (status != std::errc()) return fail(at_, "not a number");
      at_ = static_cast<size_t>(end - text_.data());
      return value;
    }
    if (letter(text_[at_])) return name();
    return fail(at_, fmt::format("`{}` where a value should stand", text_[at_]));
  }
  double name() {
    const size_t from = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (!take('(')) {
      if (auto value = names_(word)) return *value;
      return fail(from, fmt::format("unknown name `{}`", word));
    }
    std::array<double, 2> operands{};
    size_t count = 0;
    do {
      const double operand = sum();
      if (count < 2) operands[count] = operand;
      ++count;
    } while (!finding_ && take(','));
    if (!take(')')) return fail(at_, "`)` is missing");
    for (const FunctionRow& row : kFunctions) {
      if (row.name != word) continue;
      if (count != row.arity) return fail(from, fmt::format("`{}` takes {} operands, not {}", word, row.arity, count));
      return row.apply(operands[0], operands[1]);
    }
    return fail(from, fmt::format("no function `{}`", word));
  }

  std::string_view text_;
  const FormulaNames& names_;
  base::Place origin_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<base::Finding> finding_;
};

}  // namespace

base::Result<double> evaluate_formula(std::string_view text, const FormulaNames& names, const base::Place& origin) {
  return Evaluator(text, names, origin).run();
}

}  // namespace ptxlab::task
