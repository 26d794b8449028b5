// What a command takes, declared once; parsing, --help and suggestions for a misspelt option follow from the
// declaration. The library that does the parsing costs seconds in each file that includes it, so it stays behind this
// header.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::cli {

using Words = std::span<const std::string>;  // of a command line, after the command's own name

class Options {
 public:
  // `command` as typed after "ptxlab", `summary` one sentence, `example` one or more command lines.
  Options(std::string_view command, std::string_view summary, std::string_view example);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // Positional: exactly one; at most one; one or more; any number.
  void argument(std::string_view name, std::string& into, std::string_view help);
  void optional_argument(std::string_view name, std::string& into, std::string_view help);
  void arguments(std::string_view name, std::vector<std::string>& into, std::string_view help);
  void optional_arguments(std::string_view name, std::vector<std::string>& into, std::string_view help);

  void flag(std::string_view option, bool& into, std::string_view help);
  // `placeholder` is what --help shows for the value. `into` keeps its value where the option is absent.
  void value(std::string_view option, std::string_view placeholder, std::string& into, std::string_view help);
  void value(std::string_view option, std::string_view placeholder, uint64_t& into, std::string_view help);
  // An option that may stand alone: `given` says whether it is there, `into` its value or nothing.
  void optional_value(std::string_view option, std::string_view placeholder, bool& given, std::string& into,
                      std::string_view help);
  // May be given several times; values are kept in order and never split.
  void values(std::string_view option, std::string_view placeholder, std::vector<std::string>& into,
              std::string_view help);

  // Nothing: go on. Else the exit code: 0 after --help, 2 after wrong use, which has been explained on stderr.
  std::optional<int> parse(Words words);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ptxlab::cli
