// Expressions of plans and tasks: checked 64-bit integers with + - * / % << >> & | ^ comparisons && || ?: and the
// functions min max ceildiv align_up log2. Overflow, division by zero and unknown names are findings, never wrapped
// values.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ptxlab::launch {

// A value for a name, or nothing where the name is unknown.
using Names = std::function<std::optional<int64_t>(std::string_view)>;

class Expression {
 public:
  Expression() = default;  // the constant 0
  // Errors: PLAN0001 syntax. `origin` is the place of the text's first byte in its file, so that findings can point
  // into the file even when a value turns out wrong long after reading; without one they point into `text`.
  static base::Result<Expression> parse(std::string_view text, const base::Place& origin = {});
  static Expression constant(int64_t value);

  // Errors: PLAN0002 unknown name (with the nearest known one where `known` is given), PLAN0003 overflow, PLAN0004
  // division by zero and other values outside a function's domain.
  base::Result<int64_t> evaluate(const Names& names, const std::vector<std::string>& known = {}) const;
  std::set<std::string> names() const;  // free names it uses
  const std::string& text() const;      // as written
  const base::Place& origin() const;    // of its first byte; line 0 where unknown

 private:
  struct Node;
  class Parser;
  struct Evaluator;
  std::shared_ptr<const Node> root_;
  std::string text_ = "0";
  base::Place origin_;
};

}  // namespace ptxlab::launch
