#include "ptx/reader.h"

#include <iterator>
#include <utility>

namespace ptxlab::ptx {

std::string_view Reader::word_behind() const {
  auto letter = [&](size_t i) {
    char c = i < source_.size() ? source_[i] : '\0';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  size_t begin = token_.span.end;
  while (begin < source_.size() && (source_[begin] == ' ' || source_[begin] == '\t')) ++begin;
  size_t end = begin;
  while (letter(end)) ++end;
  return begin > token_.span.end ? source_.substr(begin, end - begin) : std::string_view();
}

void Reader::advance() {
  if (!gap_.empty()) {
    if (!gap_.same_line.empty()) carried_.push_back(std::move(gap_.same_line));
    for (auto& line : gap_.before)
      if (!line.empty()) carried_.push_back(std::move(line));
  }
  previous_end_ = token_.span.end;
  token_ = lexer_.next(gap_);
}

bool Reader::accept(char mark) {
  if (!at(mark)) return false;
  advance();
  return true;
}

bool Reader::expect(char mark, std::string_view where) {
  if (accept(mark)) return true;
  unexpected(std::string("'") + mark + "' " + std::string(where));
  return false;
}

void Reader::unexpected(std::string_view expected) {
  if (at_end()) {
    uint32_t end = previous_end_;
    report_.error(Code::unexpected_end, {end > 0 ? end - 1 : 0, end},
                  "the text ends here, " + std::string(expected) + " is missing", "was the file cut off?");
    return;
  }
  report_.error(Code::unexpected_token, token_.span,
                "unexpected " + quoted(text()) + ", expected " + std::string(expected));
}

Trivia Reader::begin_item() {
  Trivia trivia;
  trivia.before = std::exchange(carried_, {});
  if (!gap_.same_line.empty()) trivia.before.push_back(std::exchange(gap_.same_line, {}));
  trivia.before.insert(trivia.before.end(), std::make_move_iterator(gap_.before.begin()),
                       std::make_move_iterator(gap_.before.end()));
  gap_.before.clear();
  return trivia;
}

void Reader::end_item(Trivia& trivia) {
  trivia.before.insert(trivia.before.end(), std::make_move_iterator(carried_.begin()),
                       std::make_move_iterator(carried_.end()));
  carried_.clear();
  trivia.after = std::exchange(gap_.same_line, {});
}

std::string Reader::slice(uint32_t begin) {
  carried_.clear();
  return std::string(source_.substr(begin, previous_end_ > begin ? previous_end_ - begin : 0));
}

void Reader::skip_statement() {
  bool first = true;
  while (!at_end() && !at('{') && !at('}')) {
    if (!first && token_.new_line && (at('@') || at(Token::Kind::dotted))) return;
    if (accept(';')) return;
    first = false;
    advance();
  }
}

}  // namespace ptxlab::ptx
