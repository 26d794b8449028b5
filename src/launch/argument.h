// One argument of a launch as written: "null", "part", "x + 4*n", "eps", "ceildiv(n, 2)". Which kind a bare name is
// depends on what the plan and the task declare, so reading only splits the text.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/expression.h"

namespace ptxlab::launch {

struct ArgumentForm {
  bool null = false;
  std::string name;                  // the leading name, where there is one
  bool bare = false;                 // the name is all
  std::optional<Expression> addend;  // of "name + EXPR"
  std::optional<Expression> whole;   // the text as an expression; absent for null
};

// Errors: PLAN0001 where the text is no expression, PLAN0013 for pick( ).
base::Result<ArgumentForm> read_argument(std::string_view text, const base::Place& origin = {});

}  // namespace ptxlab::launch
