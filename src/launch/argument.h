// One argument of a launch as written: "null", "part", "x + 4*n", "eps", "ceildiv(n, 2)", "pick(t % 2, a, b) + 4*n".
// Which kind a bare name is depends on what the plan and the task declare, so reading only splits the text.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/expression.h"

namespace ptxlab::launch {

// A place in memory: a buffer, or one of several by an index, then optionally an offset in bytes.
struct PlaceForm {
  std::string name;                // of the buffer, or "null"; empty for pick
  std::optional<Expression> pick;  // the index: 0 picks the first of `choices`
  std::vector<PlaceForm> choices;
  std::optional<Expression> addend;
  base::Place place;  // of its text
};

struct ArgumentForm {
  bool null = false;
  std::string name;                  // the leading name, where there is one
  bool bare = false;                 // the name is all
  std::optional<Expression> addend;  // of "name + EXPR"
  std::optional<Expression> whole;   // the text as an expression; absent for null and pick
  std::optional<PlaceForm> pick;     // "pick(...)", "pick(...) + EXPR"
};

// Errors: PLAN0001 where the text is neither a place nor an expression.
base::Result<ArgumentForm> read_argument(std::string_view text, const base::Place& origin = {});

// Every buffer that the argument may be a place in, as far as names go: all choices of a pick.
std::vector<std::string> names_of_places(const ArgumentForm& form);

}  // namespace ptxlab::launch
