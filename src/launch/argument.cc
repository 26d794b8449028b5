#include "launch/argument.h"

#include <fmt/format.h>

namespace ptxlab::launch {
namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

size_t skip(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

}  // namespace

base::Result<ArgumentForm> read_argument(std::string_view text, const base::Place& origin) {
  ArgumentForm form;
  const size_t from = skip(text, 0);
  size_t end = from;
  if (end < text.size() && starts_name(text[end]))
    while (end < text.size() && continues_name(text[end])) ++end;
  const size_t rest = skip(text, end);
  form.name = text.substr(from, end - from);
  form.bare = rest == text.size() && !form.name.empty();
  if (form.name == "null" && form.bare) {
    form.null = true;
    return form;
  }
  if (form.name == "pick" && rest < text.size() && text[rest] == '(') {
    base::Place at = origin;
    at.length = 4;
    return base::Finding{"PLAN0013",
                         base::Severity::error,
                         at,
                         "`pick` is not read yet",
                         "this form belongs to the format; this version does not read it yet",
                         {}};
  }
  auto whole = Expression::parse(text, origin);
  if (!whole) return whole.findings();
  form.whole = std::move(*whole);
  if (!form.name.empty() && rest < text.size() && text[rest] == '+') {
    base::Place at = origin;
    if (at.line) at.column += static_cast<uint32_t>(rest + 1);
    auto addend = Expression::parse(text.substr(rest + 1), at);
    // "a + b ? c : d" parses as a whole and as an addend; "a + b) ..." as neither. What is a place takes the addend.
    if (addend) form.addend = std::move(*addend);
  }
  return form;
}

}  // namespace ptxlab::launch
