#include "ptx/lexer.h"

#include <algorithm>
#include <array>

namespace ptxlab::ptx {
namespace {

enum Class : uint8_t { kOther = 0, kNameStart = 1, kNameRest = 2, kDigit = 4, kSpace = 8, kMark = 16 };

constexpr std::array<uint8_t, 256> classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = kNameStart | kNameRest;
  for (int c = '0'; c <= '9'; ++c) table[c] = kDigit | kNameRest;
  for (char c : {'_', '$'}) table[static_cast<uint8_t>(c)] = kNameStart | kNameRest;
  for (char c : {' ', '\t', '\r', '\n'}) table[static_cast<uint8_t>(c)] = kSpace;
  for (char c : std::string_view("%()[]{}<>,;:.@!|&^~?=+-*/")) table[static_cast<uint8_t>(c)] |= kMark;
  return table;
}
constexpr auto kClass = classes();

bool is(char c, uint8_t what) { return kClass[static_cast<uint8_t>(c)] & what; }

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && is(text.back(), kSpace)) text.remove_suffix(1);
  return text;
}

}  // namespace

// Consumes one comment at position_.
void Lexer::comment(Gap& gap, bool own_line) {
  size_t begin = position_;
  if (at(position_ + 1) == '/') {
    position_ = std::min(source_.find('\n', position_), source_.size());
  } else {
    size_t close = source_.find("*/", position_ + 2);
    if (close == std::string_view::npos) {
      report_.error(Code::unterminated_comment, {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + 2)},
                    "this comment has no end", "close it with */");
      position_ = source_.size();
      return;
    }
    position_ = close + 2;
    line_ += static_cast<uint32_t>(std::count(source_.begin() + begin, source_.begin() + position_, '\n'));
  }
  auto text = without_trailing_space(source_.substr(begin, position_ - begin));
  if (own_line) {
    gap.before.emplace_back(text);
  } else {
    if (!gap.same_line.empty()) gap.same_line += ' ';
    gap.same_line += text;
  }
}

// Skips white space and comments; true if a line ended on the way.
bool Lexer::skip_space(Gap& gap) {
  gap.same_line.clear();
  gap.before.clear();
  int newlines = 0;  // since the last token or comment
  bool own_line = position_ == 0;
  while (position_ < source_.size()) {
    char c = source_[position_];
    if (c == '\n') {
      ++newlines;
      ++line_;
      own_line = true;
      ++position_;
    } else if (is(c, kSpace)) {
      ++position_;
    } else if (c == '/' && (at(position_ + 1) == '/' || at(position_ + 1) == '*')) {
      if (newlines > 1) gap.before.emplace_back();
      comment(gap, own_line);
      newlines = 0;
    } else {
      break;
    }
  }
  if (newlines > 1 && position_ < source_.size()) gap.before.emplace_back();
  return own_line;
}

void Lexer::bad_bytes() {
  size_t begin = position_;
  while (position_ < source_.size() && kClass[static_cast<uint8_t>(source_[position_])] == kOther &&
         source_[position_] != '"')
    ++position_;
  base::Span span{static_cast<uint32_t>(begin), static_cast<uint32_t>(position_)};
  report_.error(Code::bad_character, span, "PTX has no " + quoted(text(span)),
                "PTX is plain ASCII; is this a text file?");
}

// A number and whatever letters stick to it; the parser judges what it means.
Token Lexer::number(Token token) {
  token.kind = Token::Kind::number;
  size_t p = position_;
  bool prefixed = at(p) == '0' && std::string_view("xXfFdDbB").find(at(p + 1)) != std::string_view::npos && at(p + 1);
  if (!prefixed) {
    while (is(at(p), kDigit)) ++p;
    if (at(p) == '.') {
      ++p;
      while (is(at(p), kDigit)) ++p;
    }
    if (at(p) == 'e' || at(p) == 'E') {
      size_t sign = at(p + 1) == '+' || at(p + 1) == '-' ? 1 : 0;
      if (is(at(p + 1 + sign), kDigit)) p += 1 + sign;
    }
  }
  while (is(at(p), kNameRest)) ++p;
  position_ = p;
  token.span.end = static_cast<uint32_t>(p);
  return token;
}

Token Lexer::next(Gap& gap) {
  Token token;
  token.new_line = skip_space(gap);
  while (position_ < source_.size() && kClass[static_cast<uint8_t>(source_[position_])] == kOther &&
         source_[position_] != '"' && !report_.full()) {
    bad_bytes();
    Gap more;
    token.new_line |= skip_space(more);
  }
  if (report_.full()) position_ = source_.size();
  token.line = line_;
  token.span.begin = token.span.end = static_cast<uint32_t>(position_);
  if (position_ >= source_.size()) return token;

  char c = source_[position_];
  size_t p = position_ + 1;
  if (is(c, kNameStart) || (c == '%' && is(at(p), kNameRest))) {
    while (is(at(p), kNameRest)) ++p;
    token.kind = Token::Kind::word;
  } else if (is(c, kDigit)) {
    return number(token);
  } else if (c == '.' && is(at(p), kNameRest)) {
    while (is(at(p), kNameRest) || (at(p) == ':' && at(p + 1) == ':' && is(at(p + 2), kNameRest)))
      p += at(p) == ':' ? 2 : 1;
    token.kind = Token::Kind::dotted;
  } else if (c == '"') {
    while (p < source_.size() && source_[p] != '"' && source_[p] != '\n') p += source_[p] == '\\' ? 2 : 1;
    p = std::min(p, source_.size());
    token.kind = Token::Kind::string;
    if (at(p) == '"') {
      ++p;
    } else {
      while (p > position_ + 1 && is(at(p - 1), kSpace)) --p;
      if (p > position_ + 1 && at(p - 1) == ';') --p;  // the statement's own
      auto end = static_cast<uint32_t>(p);
      report_.add(Code::unterminated_string, base::Severity::error, {token.span.begin, end},
                  "this string has no closing quote", "", {{{end, end}, "\""}});
    }
  } else {
    token.kind = Token::Kind::mark;
    token.mark = c;
  }
  position_ = p;
  token.span.end = static_cast<uint32_t>(p);
  return token;
}

}  // namespace ptxlab::ptx
