// The parser's view of the text: one token of lookahead, comments handed to the item that they stand at, and the moves of
// error recovery.
#pragma once
#include <string>
#include <string_view>

#include "ptx/lexer.h"
#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

class Reader {
 public:
  Reader(std::string_view source, Report& report) : source_(source), report_(report), lexer_(source, report) {
    advance();
  }

  const Token& token() const { return token_; }
  std::string_view text() const { return source_.substr(token_.span.begin, token_.span.size()); }
  std::string_view text(Span span) const { return source_.substr(span.begin, span.size()); }
  Report& report() { return report_; }

  bool at_end() const { return token_.kind == Token::Kind::end; }
  bool at(char mark) const { return token_.kind == Token::Kind::mark && token_.mark == mark; }
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool at_dotted(std::string_view word) const { return token_.kind == Token::Kind::dotted && text() == word; }
  // The character right after the current token: tells `<<` from `< <` and `a.x` from `a .x`.
  char following() const { return token_.span.end < source_.size() ? source_[token_.span.end] : '\0'; }
  // The word right behind the current token, on the same line; "" where something else stands there.
  std::string_view word_behind() const;
  uint32_t previous_end() const { return previous_end_; }

  void advance();
  bool accept(char mark);
  // Reports "expected ..." where the mark is not there.
  bool expect(char mark, std::string_view where);
  void unexpected(std::string_view expected);

  // Comments: begin_item takes what stands before the current token; end_item, called when the item's last token has been
  // passed, adds the comments met inside it and the one at the end of its line.
  Trivia begin_item();
  void end_item(Trivia& trivia);
  // The text from `begin` to the last token passed; the comments inside it are part of it and of nothing else.
  std::string slice(uint32_t begin);

  // Skips past the next ';', or to a brace, or to a line that begins like a statement or directive.
  void skip_statement();

 private:
  std::string_view source_;
  Report& report_;
  Lexer lexer_;
  Token token_;
  Gap gap_;                           // between the token before and token_
  std::vector<std::string> carried_;  // comments met inside the current item
  uint32_t previous_end_ = 0;
};

}  // namespace ptxlab::ptx
