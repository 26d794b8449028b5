// A finding is one thing that some part of ptxlab has to say: what is wrong, where, why, and what to do about it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.h"

namespace ptxlab::base {

enum class Severity { note, warning, error };

std::string_view name_of(Severity severity);

// Replaces the bytes of `span` in the original text. A fix's edits do not overlap and are sorted.
struct Edit {
  Span span;
  std::string text;
  friend bool operator==(const Edit&, const Edit&) = default;
};

struct Finding {
  std::string code;  // "PTX0123", "RUN0004": letters name the family; the code stands where the finding is made
  Severity severity = Severity::error;
  Place place;            // line 0: no place
  std::string message;    // what is wrong, without a full stop
  std::string hint;       // what to do; may be empty
  std::vector<Edit> fix;  // a certain mend, or empty
};

using Findings = std::vector<Finding>;

bool has_error(const Findings& findings);

// "file:line:column: error[CODE]: message", the source line, a caret below it, then "hint: ...". `source` may be empty:
// then the line and caret are left out; so is the caret where the place has no column. `color` adds ANSI colours.
std::string render(const Finding& finding, std::string_view source, bool color = false);
std::string render(const Findings& findings, std::string_view source, bool color = false);

}  // namespace ptxlab::base
