#include "llm/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace ptxlab::llm {
namespace {

constexpr const char* kVariables[] = {"PTXLAB_API_KEY", "OPENAI_API_KEY"};
constexpr std::string_view kHidden = "[key]";
// Shorter ones are what local servers are given as a stand-in ("none", "EMPTY"): hiding them would damage answers.
constexpr size_t kShortestSecret = 8;

// The byte that `text` spells at `at`, as it is or by a JSON escape, and how many characters spell it.
std::pair<char, size_t> spelled(std::string_view text, size_t at) {
  if (text[at] != '\\' || at + 1 == text.size()) return {text[at], 1};
  char next = text[at + 1];
  if (next == '/' || next == '"' || next == '\\') return {next, 2};
  if (next == 'u' && at + 6 <= text.size()) {
    char* end = nullptr;
    std::string digits(text.substr(at + 2, 4));
    auto value = std::strtoul(digits.c_str(), &end, 16);
    if (end == digits.c_str() + 4 && value < 0x80) return {static_cast<char>(value), 6};
  }
  return {text[at], 1};
}

// How many characters of `text` from `at` on spell `key`; 0: they do not.
size_t match(std::string_view text, size_t at, std::string_view key) {
  size_t i = at;
  for (char c : key) {
    if (i >= text.size()) return 0;
    auto [byte, length] = spelled(text, i);
    if (byte != c) {
      if (text[i] != c) return 0;
      length = 1;
    }
    i += length;
  }
  return i - at;
}

}  // namespace

std::string Key::hide(std::string_view text) const {
  std::string out;
  if (text_.size() < kShortestSecret) return std::string(text);
  for (size_t i = 0; i < text.size();) {
    size_t length = match(text, i, text_);
    out += length ? kHidden : text.substr(i, 1);
    i += std::max<size_t>(length, 1);
  }
  return out;
}

base::Result<Key> take_key() {
  static std::optional<std::string> taken;
  if (!taken) {
    taken.emplace();
    for (const char* variable : kVariables) {
      const char* value = std::getenv(variable);
      if (value && taken->empty()) *taken = value;
      unsetenv(variable);
    }
    constexpr const char* kBlanks = " \t\r\n";
    taken->erase(0, taken->find_first_not_of(kBlanks));
    taken->erase(taken->find_last_not_of(kBlanks) + 1);
  }
  if (!std::all_of(taken->begin(), taken->end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return base::Finding{
        "LLM0002",
        base::Severity::error,
        {},
        "the key in PTXLAB_API_KEY or OPENAI_API_KEY holds blanks, control characters or others than ASCII",
        "a key is one word",
        {}};
  }
  return Key(*taken);
}

}  // namespace ptxlab::llm
