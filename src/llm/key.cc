#include "llm/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ptxlab::llm {
namespace {

constexpr const char* kOwn = "PTXLAB_API_KEY";
// All that may hold a key, whether this run needs it or not: no compiler is to inherit any of them.
constexpr const char* kVariables[] = {kOwn, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"};
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

// How many characters of `text` from `at` on spell `key`; 0: they do not. A text that ends with most of it, such as an answer that was
// cut off, spells it too.
size_t match(std::string_view text, size_t at, std::string_view key) {
  size_t i = at, spelt = 0;
  for (char c : key) {
    if (i >= text.size()) return spelt >= std::max(kShortestSecret, key.size() / 2) ? i - at : 0;
    auto [byte, length] = spelled(text, i);
    if (byte != c) {
      if (text[i] != c) return 0;
      length = 1;
    }
    i += length;
    ++spelt;
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

namespace {

// Values by variable, in the order of kVariables; filled once.
std::vector<std::pair<std::string, std::string>>& keys() {
  static std::vector<std::pair<std::string, std::string>> taken;
  return taken;
}

}  // namespace

void take_keys() {
  for (const char* variable : kVariables) {
    char* value = std::getenv(variable);
    if (value && *value) {
      std::erase_if(keys(), [&](const auto& known) { return known.first == variable; });
      keys().emplace_back(variable, value);
      // The system shows a process's first environment for as long as it lives, to its children too (/proc/PID/environ).
      explicit_bzero(value, std::strlen(value));
    }
    unsetenv(variable);
  }
}

std::vector<std::pair<std::string, std::string>> taken_keys() { return keys(); }

base::Result<Key> key_for(std::span<const char* const> variables, KeyFor server) {
  take_keys();
  std::vector<std::string> order;
  if (server != KeyFor::in_open) order.assign(variables.begin(), variables.end());
  order.insert(server == KeyFor::vendor ? order.end() : order.begin(), kOwn);
  for (const auto& variable : order) {
    auto found = std::find_if(keys().begin(), keys().end(), [&](const auto& known) { return known.first == variable; });
    if (found == keys().end()) continue;
    std::string key = found->second;
    constexpr const char* kBlanks = " \t\r\n";
    key.erase(0, key.find_first_not_of(kBlanks));
    key.erase(key.find_last_not_of(kBlanks) + 1);
    if (key.empty()) continue;
    if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
      return base::Finding{"LLM0002",
                           base::Severity::error,
                           {},
                           fmt::format("the key in {} holds blanks, control characters or others than ASCII", variable),
                           "a key is one word",
                           {}};
    }
    return Key(std::move(key));
  }
  return Key();
}

}  // namespace ptxlab::llm
