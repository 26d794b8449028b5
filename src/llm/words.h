// "name=value,name=value" as options take it: which names there are, what each wants, and a finding that names the
// nearest where one is misspelt.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace ptxlab::llm {

class Words {
 public:
  // `code` and `option` are what the findings say.
  Words(std::string code, std::string option) : code_(std::move(code)), option_(std::move(option)) {}
  // A name whose value is a number from `least` to `most`.
  void number(std::string name, std::function<void(double)> set, double least = 1, double most = 1e15);
  // A name whose value is one lower-case word, of `known` where that says any.
  void word(std::string name, std::function<void(std::string_view)> set, std::vector<std::string> known = {});
  // Reads the whole text; the first thing wrong with it, if any.
  std::optional<base::Finding> read(std::string_view text) const;

 private:
  struct Entry {
    std::string name;
    std::function<void(double)> set;
    double least = 0, most = 0;
    std::function<void(std::string_view)> set_word{};  // instead of a number
    std::vector<std::string> known{};
  };
  base::Finding wrong(std::string message, std::string hint) const;
  std::string code_, option_;
  std::vector<Entry> entries_;
};

}  // namespace ptxlab::llm
