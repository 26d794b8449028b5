#include "task/cuda_tokens.h"

#include <array>

namespace ptxlab::task {
namespace {

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) >= 0x80);
}
bool digit(char c) { return c >= '0' && c <= '9'; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Longer marks before their prefixes. Not >> : it may close two template lists, and a shift is two tokens to nobody
// here.
constexpr std::array<std::string_view, 20> kMarks{"<<<", ">>>", "<<=", ">>=", "->", "++", "--", "==", "!=", "<=",
                                                  ">=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "::", "<<"};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  CudaTokens run() {
    bool line_start = true;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        line_start = true;
      } else if (blank(c) || (c == '\\' && peek(1) == '\n')) {
        ++at_;
      } else if (comment()) {
      } else if (c == '#' && line_start) {
        directive();
      } else {
        line_start = false;
        token();
      }
    }
    return std::move(result_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void skip(size_t count) {
    for (size_t i = 0; i < count && at_ < source_.size(); ++i)
      if (source_[at_++] == '\n') ++line_;
  }

  bool comment() {
    if (peek(0) != '/') return false;
    if (peek(1) == '/') {
      while (at_ < source_.size() && source_[at_] != '\n') skip(source_[at_] == '\\' && peek(1) == '\n' ? 2 : 1);
      return true;
    }
    if (peek(1) != '*') return false;
    const size_t end = source_.find("*/", at_ + 2);
    skip(end == std::string_view::npos ? source_.size() - at_ : end + 2 - at_);
    return true;
  }

  void directive() {
    const size_t from = at_;
    while (at_ < source_.size() && source_[at_] != '\n') {
      if (source_[at_] == '\\' && peek(1) == '\n') {
        skip(2);
      } else if (!comment()) {
        ++at_;
      }
    }
    define(source_.substr(from, at_ - from));
  }

  void define(std::string_view line) {
    size_t at = line.find("define");
    if (at == std::string_view::npos || line.find_first_not_of("# \t") != at) return;
    at += 6;
    while (at < line.size() && blank(line[at])) ++at;
    const size_t from = at;
    while (at < line.size() && (letter(line[at]) || digit(line[at]))) ++at;
    if (at == from || (at < line.size() && line[at] == '(')) return;
    std::string_view value = line.substr(at);
    value = value.substr(0, value.find("//"));
    value = value.substr(0, value.find("/*"));
    while (!value.empty() && blank(value.front())) value.remove_prefix(1);
    while (!value.empty() && blank(value.back())) value.remove_suffix(1);
    result_.defines.push_back({line.substr(from, at - from), value});
  }

  void add(CudaToken::Kind kind, size_t from, uint32_t line) {
    result_.tokens.push_back({kind, source_.substr(from, at_ - from), line});
  }

  void token() {
    const size_t from = at_;
    const uint32_t line = line_;
    const char c = source_[at_];
    if (letter(c)) {
      while (at_ < source_.size() && (letter(source_[at_]) || digit(source_[at_]))) ++at_;
      const std::string_view word = source_.substr(from, at_ - from);
      if (peek(0) == '"' && (word == "R" || word == "LR" || word == "u8R" || word == "uR" || word == "UR")) {
        raw_string();
        return add(CudaToken::Kind::text, from, line);
      }
      return add(CudaToken::Kind::word, from, line);
    }
    if (digit(c) || (c == '.' && digit(peek(1)))) {
      number();
      return add(CudaToken::Kind::number, from, line);
    }
    if (c == '"' || c == '\'') {
      quoted(c);
      return add(CudaToken::Kind::text, from, line);
    }
    for (std::string_view mark : kMarks) {
      if (source_.substr(at_, mark.size()) != mark) continue;
      at_ += mark.size();
      return add(CudaToken::Kind::mark, from, line);
    }
    ++at_;
    add(CudaToken::Kind::mark, from, line);
  }

  void number() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const bool sign = (c == '+' || c == '-') && at_ > 0 && (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E');
      const bool separator = c == '\'' && (letter(peek(1)) || digit(peek(1)));
      if (!letter(c) && !digit(c) && c != '.' && !sign && !separator) break;
      ++at_;
    }
  }

  void quoted(char quote) {
    skip(1);
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') skip(source_[at_] == '\\' ? 2 : 1);
    if (at_ < source_.size() && source_[at_] == quote) skip(1);
  }

  void raw_string() {
    const size_t open = source_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 18) return skip(1);
    const std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = source_.find(close, open);
    skip(end == std::string_view::npos ? source_.size() - at_ : end + close.size() - at_);
  }

  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  CudaTokens result_;
};

}  // namespace

CudaTokens tokenize_cuda(std::string_view source) { return Tokenizer(source).run(); }

}  // namespace ptxlab::task
