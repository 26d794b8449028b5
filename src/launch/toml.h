// Reading plan and task files: toml++ with what every mistake needs, a place, what was expected, and the nearest right
// key. Each getter notes a finding and returns nothing where the file is wrong, so that one pass finds several
// mistakes.
#pragma once
#include <toml++/toml.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "launch/expression.h"

namespace ptxlab::launch {

// The codes under which a format reports its mistakes.
struct TomlCodes {
  std::string_view syntax, unknown_key, wrong, missing, waits;
};

class TomlReader {
 public:
  TomlReader(std::string_view file, const TomlCodes& codes) : file_(file), codes_(codes) {}

  // Nothing where the text is no TOML; the finding is then in `findings`.
  std::optional<toml::table> parse(std::string_view text);

  // Every key of `table` must be one of `known`. Those of `waiting` belong to the format and are not read yet.
  void keys(const toml::table& table, std::string_view where, const std::vector<std::string>& known,
            const std::vector<std::string>& waiting = {});

  // A key's value. `where` says whose key it is: "launch 2", "argument `x`". Absent keys are findings only where
  // required.
  std::optional<std::string> string(const toml::table& table, std::string_view key, std::string_view where,
                                    bool required);
  std::optional<int64_t> integer(const toml::table& table, std::string_view key, std::string_view where, bool required);
  std::optional<double> number(const toml::table& table, std::string_view key, std::string_view where, bool required);
  std::optional<bool> boolean(const toml::table& table, std::string_view key, std::string_view where);
  std::optional<Expression> expression(const toml::table& table, std::string_view key, std::string_view where,
                                       bool required);
  const toml::array* array(const toml::table& table, std::string_view key, std::string_view where, bool required);
  const toml::table* subtable(const toml::table& table, std::string_view key, std::string_view where, bool required);
  std::vector<std::string> strings(const toml::table& table, std::string_view key, std::string_view where);

  // An integer or a string that holds an expression.
  std::optional<Expression> expression(const toml::node& node, std::string_view what);
  // A name of the format: letters, digits and _, not starting with a digit.
  bool identifier(std::string_view word, const toml::node& node, std::string_view what);

  void missing(const toml::table& table, std::string_view key, std::string_view where);
  void wrong(const toml::node& node, std::string message, std::string hint = "");
  void waits(const toml::node& node, std::string message);
  void add(std::string_view code, const base::Place& place, std::string message, std::string hint = "");
  base::Place place(const toml::source_region& region) const;
  const std::string& file() const { return file_; }

  base::Findings findings;

 private:
  std::string file_;
  TomlCodes codes_;
};

}  // namespace ptxlab::launch
