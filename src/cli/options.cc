#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "cli/output.h"

namespace ptxlab::cli {

struct Options::Parser {
  CLI::App app;
  std::string command;
  std::vector<std::string> known;  // options, for suggestions
};

Options::Options(std::string_view command, std::string_view summary, std::string_view example)
    : parser_(std::make_unique<Parser>()) {
  parser_->command = command;
  auto& app = parser_->app;
  app.name(fmt::format("ptxlab {}", command));
  app.description(std::string(summary));
  std::string footer = "\nExample:";
  while (!example.empty()) {
    size_t end = example.find('\n');
    footer += end == 0 ? "\n" : fmt::format("\n  {}", example.substr(0, end));
    example = end == std::string_view::npos ? "" : example.substr(end + 1);
  }
  app.footer(footer);
  app.set_help_flag("--help,-h", "Print this and exit");
  app.allow_extras();
  app.get_formatter()->column_width(34);
  parser_->known = {"--help"};
}

Options::~Options() = default;

namespace {

// One value, taken whole: never split at commas or brackets.
CLI::Option* describe(CLI::Option* option, std::string_view placeholder) {
  option->allow_extra_args(false);
  return option->type_name(std::string(placeholder));
}

// The library's own conversion wraps -1 and cuts off what is too large.
std::string whole_number(const std::string& text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool right = error == std::errc() && end == text.data() + text.size();
  return right ? "" : fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
}

}  // namespace

void Options::argument(std::string_view name, std::string& into, std::string_view help) {
  parser_->app.add_option(std::string(name), into, std::string(help))->required()->type_name("");
}

void Options::optional_argument(std::string_view name, std::string& into, std::string_view help) {
  parser_->app.add_option(std::string(name), into, std::string(help))->type_name("");
}

void Options::arguments(std::string_view name, std::vector<std::string>& into, std::string_view help) {
  parser_->app.add_option(std::string(name), into, std::string(help))->required()->type_name("");
}

void Options::optional_arguments(std::string_view name, std::vector<std::string>& into, std::string_view help) {
  parser_->app.add_option(std::string(name), into, std::string(help))->type_name("");
}

void Options::flag(std::string_view option, bool& into, std::string_view help) {
  parser_->known.emplace_back(option);
  parser_->app.add_flag(std::string(option), into, std::string(help));
}

void Options::value(std::string_view option, std::string_view placeholder, std::string& into, std::string_view help) {
  parser_->known.emplace_back(option);
  describe(parser_->app.add_option(std::string(option), into, std::string(help)), placeholder);
}

void Options::value(std::string_view option, std::string_view placeholder, uint64_t& into, std::string_view help) {
  parser_->known.emplace_back(option);
  describe(parser_->app.add_option(std::string(option), into, std::string(help)), placeholder)->check(whole_number);
}

void Options::optional_value(std::string_view option, std::string_view placeholder, bool& given, std::string& into,
                             std::string_view help) {
  parser_->known.emplace_back(option);
  auto take = [&given, &into](const CLI::results_t& results) {
    given = true;
    // Alone it stands for "true", as a flag does.
    if (!results.empty() && results[0] != "true") into = results[0];
    return true;
  };
  parser_->app.add_option(std::string(option), CLI::callback_t(take), std::string(help))
      ->expected(0, 1)
      ->type_name(std::string(placeholder));
}

void Options::values(std::string_view option, std::string_view placeholder, std::vector<std::string>& into,
                     std::string_view help) {
  parser_->known.emplace_back(option);
  auto* added = parser_->app.add_option(std::string(option), into, std::string(help));
  added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  describe(added, placeholder);
}

std::optional<int> Options::parse(Words words) {
  auto hint = fmt::format("'ptxlab {} --help' lists the options", parser_->command);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    parser_->app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    print(parser_->app.help());
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    // An option that nobody knows explains a missing argument too: its value, or itself, was taken for one.
    auto extra = parser_->app.remaining();
    if (extra.empty()) return refuse("CLI0002", error.what(), hint);
  }
  for (const auto& word : parser_->app.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      auto near = base::nearest(word.substr(0, word.find('=')), parser_->known);
      return refuse("CLI0001", fmt::format("unknown option '{}'", word),
                    near.empty() ? hint : fmt::format("did you mean '{}'?", near));
    }
  }
  auto extra = parser_->app.remaining();
  if (!extra.empty()) return refuse("CLI0003", fmt::format("one argument too many: '{}'", extra[0]), hint);
  return std::nullopt;
}

}  // namespace ptxlab::cli
