#include "llm/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"

namespace ptxlab::llm {

void Words::number(std::string name, std::function<void(double)> set, double least, double most) {
  entries_.push_back({std::move(name), std::move(set), least, most});
}

void Words::word(std::string name, std::function<void(std::string_view)> set, std::vector<std::string> known) {
  entries_.push_back({std::move(name), {}, 0, 0, std::move(set), std::move(known)});
}

base::Finding Words::wrong(std::string message, std::string hint) const {
  return {code_, base::Severity::error, {}, fmt::format("{}: {}", option_, message), std::move(hint), {}};
}

std::optional<base::Finding> Words::read(std::string_view text) const {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry.name);
  std::string all = fmt::format("there are: {}", fmt::join(names, ", "));
  while (!text.empty()) {
    size_t comma = text.find(',');
    auto item = text.substr(0, comma);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    size_t equals = item.find('=');
    if (equals == item.npos)
      return wrong(fmt::format("'{}' has no value", item), "it is NAME=NUMBER,NAME=NUMBER ...; " + all);
    auto name = item.substr(0, equals), value = item.substr(equals + 1);
    const Entry* entry = nullptr;
    for (const auto& e : entries_) {
      if (e.name == name) entry = &e;
    }
    if (!entry) {
      auto near = base::nearest(name, names);
      return wrong(fmt::format("there is no '{}'", name), near.empty() ? all : fmt::format("did you mean '{}'?", near));
    }
    if (entry->set_word) {
      bool plain =
          !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= 'a' && c <= 'z'; });
      if (!plain) return wrong(fmt::format("{} is '{}'", name, value), "one word of small letters");
      const auto& known = entry->known;
      if (!known.empty() && std::find(known.begin(), known.end(), value) == known.end())
        return wrong(fmt::format("{} is '{}'", name, value), fmt::format("one of: {}", fmt::join(known, ", ")));
      entry->set_word(value);
      continue;
    }
    double number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() ||
        !(number >= entry->least && number <= entry->most))
      return wrong(fmt::format("{} is '{}'", name, value),
                   fmt::format("a number from {} to {}", entry->least, entry->most));
    entry->set(number);
  }
  return std::nullopt;
}

}  // namespace ptxlab::llm
