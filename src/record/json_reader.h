// Reading the JSON forms: members of objects with messages that name the place, "verdict.gates[2].name". json.cc's own, and of the
// files that share its work.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/error.h"

namespace ptxlab::record {

using nlohmann::json;

// A wrong JSON value: thrown while reading only, and turned into a finding at the edge (json.cc).
struct Wrong {
  std::string message;
};

inline base::Finding json_finding(const char* code, std::string message) {
  return base::error(code, std::move(message), "write it as `ptxlab ... --json` prints it");
}

// Reads the members of one object; messages name the place as "verdict.gates[2].name".
class Object {
 public:
  Object(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value_.is_object()) throw Wrong{place_ + " is not an object"};
  }
  void schema(std::string_view wanted) const {
    std::string got = get<std::string>("schema");
    if (got != wanted) throw Wrong{fmt::format("{}.schema is '{}', wanted '{}'", place_, got, wanted)};
  }
  const json& at(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end()) throw Wrong{fmt::format("{} has no '{}'", place_, key)};
    return *member;
  }
  template <class T>
  T get(const char* key) const {
    try {
      return at(key).get<T>();
    } catch (const json::exception&) {
      throw Wrong{fmt::format("{}.{} has the wrong type", place_, key)};
    }
  }
  template <class T>
  std::optional<T> optional(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end() || member->is_null()) return std::nullopt;
    return get<T>(key);
  }
  bool has(const char* key) const { return value_.contains(key); }
  // A text, or the bytes of {"base64": "..."} where it was not UTF-8.
  std::optional<std::string> text(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end() || !member->is_object()) return optional<std::string>(key);
    auto bytes = base::from_base64(Object(*member, place(key)).get<std::string>("base64"));
    if (!bytes) throw Wrong{fmt::format("{}.base64 is no base64", place(key))};
    return bytes;
  }
  template <class Read>
  void each(const char* key, const Read& read) const {
    const json& list = at(key);
    if (!list.is_array()) throw Wrong{fmt::format("{}.{} is not a list", place_, key)};
    for (size_t i = 0; i < list.size(); ++i) read(list[i], fmt::format("{}.{}[{}]", place_, key, i));
  }
  std::string place(const char* key) const { return fmt::format("{}.{}", place_, key); }

 private:
  const json& value_;
  std::string place_;
};

template <class Names>
auto named(const std::string& word, const Names& all, const std::string& place) {
  for (auto name : all) {
    if (name_of(name) == word) return name;
  }
  throw Wrong{fmt::format("{} is '{}', which is none of its values", place, word)};
}

template <class T>
json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    return to_json(*value);
  } else {
    return *value;
  }
}

}  // namespace ptxlab::record
