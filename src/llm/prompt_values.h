// Small helpers for a template's values, shared by the files that fill them in.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/sass.h"

namespace ptxlab::llm {

using kainjow::mustache::data;

inline data list_of(const std::vector<std::string>& texts) {
  data list(data::type::list);
  for (const auto& text : texts) {
    data item;
    item.set("text", text);
    list.push_back(item);
  }
  return list;
}
template <class Range>
std::string joined(const Range& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}
// An absent value is false, so that its section is left out.
inline void set_or_false(data& into, const std::string& key, const std::string& text) {
  if (text.empty()) {
    into.set(key, data(data::type::bool_false));
  } else {
    into.set(key, text);
  }
}
inline void set_bool(data& into, const std::string& key, bool value) {
  into.set(key, data(value ? data::type::bool_true : data::type::bool_false));
}

inline std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// What is in an entry's machine code, one text; "" where nobody looked.
inline std::string machine_code(const std::vector<toolchain::SassFacts>& all, std::string_view entry) {
  for (const auto& facts : all) {
    if (facts.entry == entry || entry.empty()) return fmt::format("{}", fmt::join(toolchain::sass_lines(facts), ". "));
  }
  return "";
}

}  // namespace ptxlab::llm
