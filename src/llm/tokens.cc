#include "llm/tokens.h"

#include <cctype>

namespace ptxlab::llm {

int64_t estimated_tokens(std::string_view text) {
  int64_t tokens = 0;
  auto is = [&](size_t at, auto holds) { return at < text.size() && holds(static_cast<unsigned char>(text[at])); };
  auto letter = [](unsigned char c) { return isalpha(c) || c >= 0x80; };
  auto digit = [](unsigned char c) { return isdigit(c); };
  auto blank = [](unsigned char c) { return isspace(c); };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    if (is(i, blank)) {
      while (is(i, blank)) ++i;
      // A single blank belongs to what follows; line ends and indentation are a token.
      if (i - begin > 1 || text[begin] == '\n') ++tokens;
      continue;
    }
    if (is(i, digit)) {
      while (is(i, digit) && i - begin < 3) ++i;
    } else if (is(i, letter) || is(i + 1, letter)) {
      ++i;
      while (is(i, letter)) ++i;
      tokens += static_cast<int64_t>(i - begin) / 9;  // long words are several
    } else {
      ++i;
    }
    ++tokens;
  }
  return tokens;
}

}  // namespace ptxlab::llm
