// Text to tokens, one at a time. Comments and blank lines are not tokens: each token carries what stood before it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    word,    // add, %r1, $L__BB0_1, _
    dotted,  // .global, .shared::cta, .128x256b
    number,  // 12, 0x1f, 0f3f800000, 1.5e-3
    string,  // "..." with its quotes
    mark,    // one character of punctuation, in `mark`
  };
  Kind kind = Kind::end;
  char mark = 0;
  bool new_line = false;  // the first token on its line
  uint32_t line = 0;      // from 1
  base::Span span;
};

// What stood between two tokens.
struct Gap {
  std::string same_line;            // comments on the line of the token before
  std::vector<std::string> before;  // whole comment lines; "" for blank lines
  bool empty() const { return same_line.empty() && before.empty(); }
};

class Lexer {
 public:
  Lexer(std::string_view source, Report& report) : source_(source), report_(report) {}

  // The next token; what stood before it replaces `gap`.
  Token next(Gap& gap);
  std::string_view text(base::Span span) const { return source_.substr(span.begin, span.size()); }

 private:
  bool skip_space(Gap& gap);
  void comment(Gap& gap, bool own_line);
  Token number(Token token);
  void bad_bytes();
  char at(size_t index) const { return index < source_.size() ? source_[index] : '\0'; }

  std::string_view source_;
  Report& report_;
  size_t position_ = 0;
  uint32_t line_ = 1;
};

}  // namespace ptxlab::ptx
