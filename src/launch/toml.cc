#include "launch/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"

namespace ptxlab::launch {
namespace {

constexpr size_t kMaxFile = size_t{4} << 20;

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none: return "nothing";
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
  }
  return "something else";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

base::Place TomlReader::place(const toml::source_region& region) const {
  base::Place place{file_, region.begin.line, region.begin.column, 0};
  if (region.end.line == region.begin.line && region.end.column > region.begin.column)
    place.length = region.end.column - region.begin.column;
  return place;
}

void TomlReader::add(std::string_view code, const base::Place& at, std::string message, std::string hint) {
  findings.push_back({std::string(code), base::Severity::error, at, std::move(message), std::move(hint), {}});
}
void TomlReader::wrong(const toml::node& node, std::string message, std::string hint) {
  add(codes_.wrong, place(node.source()), std::move(message), std::move(hint));
}
void TomlReader::waits(const toml::node& node, std::string message) {
  add(codes_.waits, place(node.source()), std::move(message),
      "this form belongs to the format; this version does not read it yet");
}
void TomlReader::missing(const toml::table& table, std::string_view key, std::string_view where) {
  base::Place at = place(table.source());
  at.length = std::min(at.length, 1u);
  add(codes_.missing, at, fmt::format("{}: the key `{}` is missing", where, key));
}

std::optional<toml::table> TomlReader::parse(std::string_view text) {
  if (text.size() > kMaxFile) {
    add(codes_.syntax, {file_, 1, 1, 0}, fmt::format("a file of {} bytes; at most {} are read", text.size(), kMaxFile));
    return std::nullopt;
  }
  try {
    return toml::parse(text, file_);
  } catch (const toml::parse_error& error) {
    add(codes_.syntax, place(error.source()), fmt::format("not TOML: {}", error.description()));
    return std::nullopt;
  }
}

void TomlReader::keys(const toml::table& table, std::string_view where, const std::vector<std::string>& known,
                      const std::vector<std::string>& waiting) {
  for (const auto& [key, node] : table) {
    const std::string word(key.str());
    base::Place at = place(key.source());
    at.length = static_cast<uint32_t>(word.size());
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (std::find(waiting.begin(), waiting.end(), word) != waiting.end()) {
      add(codes_.waits, at, fmt::format("{}: `{}` is not read yet", where, word),
          "this key belongs to the format; this version does not read it yet");
      continue;
    }
    const std::string near = base::nearest(word, known);
    add(codes_.unknown_key, at, fmt::format("{}: unknown key `{}`", where, word),
        near.empty() ? "keys here: " + joined(known) : fmt::format("did you mean `{}`?", near));
  }
}

std::optional<std::string> TomlReader::string(const toml::table& table, std::string_view key, std::string_view where,
                                              bool required) {
  const toml::node* node = table.get(key);
  if (!node) {
    if (required) missing(table, key, where);
    return std::nullopt;
  }
  if (const auto* value = node->as_string()) return value->get();
  wrong(*node, fmt::format("{}: `{}` is {}, not a string", where, key, kind_of(*node)));
  return std::nullopt;
}

std::optional<int64_t> TomlReader::integer(const toml::table& table, std::string_view key, std::string_view where,
                                           bool required) {
  const toml::node* node = table.get(key);
  if (!node) {
    if (required) missing(table, key, where);
    return std::nullopt;
  }
  if (const auto* value = node->as_integer()) return value->get();
  wrong(*node, fmt::format("{}: `{}` is {}, not an integer", where, key, kind_of(*node)));
  return std::nullopt;
}

std::optional<double> TomlReader::number(const toml::table& table, std::string_view key, std::string_view where,
                                         bool required) {
  const toml::node* node = table.get(key);
  if (!node) {
    if (required) missing(table, key, where);
    return std::nullopt;
  }
  if (const auto* value = node->as_integer()) return static_cast<double>(value->get());
  if (const auto* value = node->as_floating_point()) return value->get();
  wrong(*node, fmt::format("{}: `{}` is {}, not a number", where, key, kind_of(*node)));
  return std::nullopt;
}

std::optional<bool> TomlReader::boolean(const toml::table& table, std::string_view key, std::string_view where) {
  const toml::node* node = table.get(key);
  if (!node) return std::nullopt;
  if (const auto* value = node->as_boolean()) return value->get();
  wrong(*node, fmt::format("{}: `{}` is {}, not true or false", where, key, kind_of(*node)));
  return std::nullopt;
}

std::optional<Expression> TomlReader::expression(const toml::node& node, std::string_view what) {
  base::Place at = place(node.source());
  if (const auto* value = node.as_integer()) return Expression::constant(value->get());
  const auto* text = node.as_string();
  if (!text) {
    wrong(node, fmt::format("{} is {}, not an integer or an expression in quotes", what, kind_of(node)));
    return std::nullopt;
  }
  at.column += 1;  // behind the opening quote
  auto parsed = Expression::parse(text->get(), at);
  if (parsed) return std::move(*parsed);
  for (base::Finding finding : parsed.findings()) {
    finding.message = fmt::format("{}: {}", what, finding.message);
    findings.push_back(std::move(finding));
  }
  return std::nullopt;
}

std::optional<Expression> TomlReader::expression(const toml::table& table, std::string_view key, std::string_view where,
                                                 bool required) {
  const toml::node* node = table.get(key);
  if (node) return expression(*node, fmt::format("{}, `{}`", where, key));
  if (required) missing(table, key, where);
  return std::nullopt;
}

const toml::array* TomlReader::array(const toml::table& table, std::string_view key, std::string_view where,
                                     bool required) {
  const toml::node* node = table.get(key);
  if (!node) {
    if (required) missing(table, key, where);
    return nullptr;
  }
  if (const auto* value = node->as_array()) return value;
  wrong(*node, fmt::format("{}: `{}` is {}, not an array", where, key, kind_of(*node)),
        fmt::format("write {} = [ ... ]", key));
  return nullptr;
}

const toml::table* TomlReader::subtable(const toml::table& table, std::string_view key, std::string_view where,
                                        bool required) {
  const toml::node* node = table.get(key);
  if (!node) {
    if (required) missing(table, key, where);
    return nullptr;
  }
  if (const auto* value = node->as_table()) return value;
  wrong(*node, fmt::format("{}: `{}` is {}, not a table", where, key, kind_of(*node)));
  return nullptr;
}

std::vector<std::string> TomlReader::strings(const toml::table& table, std::string_view key, std::string_view where) {
  std::vector<std::string> values;
  const toml::array* list = array(table, key, where, false);
  if (!list) return values;
  for (const toml::node& node : *list) {
    if (const auto* text = node.as_string()) {
      values.push_back(text->get());
    } else {
      wrong(node, fmt::format("{}: an element of `{}` is {}, not a string", where, key, kind_of(node)));
    }
  }
  return values;
}

bool TomlReader::identifier(std::string_view word, const toml::node& node, std::string_view what) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool good = !word.empty() && word.size() <= 64 && letter(word[0]) && word != "null" && word != "pick";
  for (char c : word) good = good && (letter(c) || (c >= '0' && c <= '9'));
  if (!good)
    wrong(node, fmt::format("{}: `{}` is not a name", what, word.substr(0, 80)),
          "names are letters, digits and _, at most 64, and neither null nor pick");
  return good;
}

}  // namespace ptxlab::launch
