#include "launch/argument.h"

#include <fmt/format.h>

namespace ptxlab::launch {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxChoices = 64;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

size_t skip(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// A stretch of the argument that knows where it stands in the file.
struct Piece {
  std::string_view text;
  base::Place origin;  // of the first byte
  Piece from(size_t begin, size_t end) const {
    Piece part{text.substr(begin, end - begin), origin};
    if (origin.line) part.origin.column += static_cast<uint32_t>(begin);
    return part;
  }
  base::Place place() const {
    base::Place at = origin;
    if (at.line) at.length = static_cast<uint32_t>(text.size());
    return at;
  }
};

base::Finding fault(const Piece& piece, std::string message, std::string hint) {
  return {"PLAN0001", base::Severity::error, piece.place(), std::move(message), std::move(hint), {}};
}

constexpr const char* kPickHint = "write \"pick(t % 2, a, b)\": index 0 picks the first place";

// The end of the leading name, and where the next thing stands.
struct Lead {
  std::string name;
  size_t begin = 0, rest = 0;
};
Lead lead_of(std::string_view text) {
  Lead lead;
  lead.begin = skip(text, 0);
  size_t end = lead.begin;
  if (end < text.size() && starts_name(text[end]))
    while (end < text.size() && continues_name(text[end])) ++end;
  lead.name = text.substr(lead.begin, end - lead.begin);
  lead.rest = skip(text, end);
  return lead;
}

bool is_pick(const Piece& piece, const Lead& lead) {
  return lead.name == "pick" && lead.rest < piece.text.size() && piece.text[lead.rest] == '(';
}

base::Result<PlaceForm> read_place(const Piece& piece, int depth);

// "+ EXPR" from `at` on, or nothing there.
base::Findings read_addend(const Piece& piece, size_t at, PlaceForm& form) {
  at = skip(piece.text, at);
  if (at == piece.text.size()) return {};
  if (piece.text[at] != '+')
    return {fault(piece.from(at, piece.text.size()), fmt::format("`{}` behind a place", piece.text.substr(at)),
                  "a place reads `buffer`, `buffer + BYTES` or `pick(INDEX, place, place ...) + BYTES`")};
  const Piece rest = piece.from(at + 1, piece.text.size());
  auto addend = Expression::parse(rest.text, rest.origin);
  if (!addend) return addend.findings();
  form.addend = std::move(*addend);
  return {};
}

// "pick(INDEX, place, place ...)", its name already seen; `open` is the parenthesis.
base::Result<PlaceForm> read_pick(const Piece& piece, size_t open, int depth) {
  std::vector<Piece> parts;
  size_t begin = open + 1, at = begin;
  int level = 0;
  for (; at < piece.text.size(); ++at) {
    const char c = piece.text[at];
    if (c == '(') ++level;
    if (c == ')' && level-- == 0) break;
    if (c != ',' || level > 0) continue;
    parts.push_back(piece.from(begin, at));
    begin = at + 1;
  }
  if (at == piece.text.size()) return fault(piece, "`pick(` is not closed", kPickHint);
  parts.push_back(piece.from(begin, at));
  if (parts.size() < 2 || parts.size() > kMaxChoices + 1)
    return fault(piece, fmt::format("`pick` with {} places", parts.size() - 1), kPickHint);
  PlaceForm form;
  form.place = piece.place();
  auto index = Expression::parse(parts[0].text, parts[0].origin);
  if (!index) return index.findings();
  form.pick = std::move(*index);
  for (size_t i = 1; i < parts.size(); ++i) {
    auto choice = read_place(parts[i], depth + 1);
    if (!choice) return choice.findings();
    form.choices.push_back(std::move(*choice));
  }
  base::Findings findings = read_addend(piece, at + 1, form);
  if (!findings.empty()) return findings;
  return form;
}

base::Result<PlaceForm> read_place(const Piece& piece, int depth) {
  if (depth > kMaxDepth) return fault(piece, "`pick` within `pick`, too deep", "at most 8 deep");
  const Lead lead = lead_of(piece.text);
  if (is_pick(piece, lead)) return read_pick(piece, lead.rest, depth);
  if (lead.name.empty()) return fault(piece, fmt::format("`{}` is no place", piece.text), kPickHint);
  PlaceForm form;
  form.name = lead.name;
  form.place = piece.place();
  base::Findings findings = read_addend(piece, lead.rest, form);
  if (!findings.empty()) return findings;
  return form;
}

void collect(const PlaceForm& form, std::vector<std::string>& names) {
  if (!form.name.empty()) names.push_back(form.name);
  for (const PlaceForm& choice : form.choices) collect(choice, names);
}

}  // namespace

base::Result<ArgumentForm> read_argument(std::string_view text, const base::Place& origin) {
  ArgumentForm form;
  const Piece piece{text, origin};
  const Lead lead = lead_of(text);
  form.name = lead.name;
  form.bare = lead.rest == text.size() && !form.name.empty();
  if (form.name == "null" && form.bare) {
    form.null = true;
    return form;
  }
  if (is_pick(piece, lead)) {
    auto pick = read_pick(piece, lead.rest, 0);
    if (!pick) return pick.findings();
    form.pick = std::move(*pick);
    return form;
  }
  auto whole = Expression::parse(text, origin);
  if (!whole) return whole.findings();
  form.whole = std::move(*whole);
  if (!form.name.empty() && lead.rest < text.size() && text[lead.rest] == '+') {
    const Piece rest = piece.from(lead.rest + 1, text.size());
    auto addend = Expression::parse(rest.text, rest.origin);
    // "a + b ? c : d" parses as a whole and as an addend; "a + b) ..." as neither. What is a place takes the addend.
    if (addend) form.addend = std::move(*addend);
  }
  return form;
}

std::vector<std::string> names_of_places(const ArgumentForm& form) {
  std::vector<std::string> names;
  if (form.pick) {
    collect(*form.pick, names);
  } else if (!form.null && !form.name.empty() && (form.bare || form.addend)) {
    names.push_back(form.name);
  }
  return names;
}

}  // namespace ptxlab::launch
