// The texts of some attempts of one task, as the page keeps them: each distinct line once, a text as runs of lines (first, how
// many). Candidates share most of their lines with their baseline, so that this is short, and the page can compare numbers.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record.h"
#include "report/run_data.h"

namespace ptxlab::report {

class TextPool {
 public:
  // The number of the text; -1 for an empty one. What is longer than kLongest is cut, and its last line says so.
  int add(std::string_view text);
  nlohmann::json lines() const { return lines_; }
  // As JSON text: each a list, first line of a run, its length, and so on.
  std::string texts() const;

  static constexpr size_t kLongest = size_t{1} << 20;

 private:
  int line(std::string_view text);

  std::vector<std::string> lines_;
  std::vector<std::vector<int>> texts_;
  std::unordered_map<std::string, int> line_numbers_, text_numbers_;
};

class PageBlock {
 public:
  void add(const Turn& turn, const record::Attempt& attempt);
  void add_without_attempt(const std::string& prompt, const std::string& answer);
  size_t size() const { return attempts_.size(); }
  std::string text() const;

 private:
  struct Told {  // of a brief
    nlohmann::json facts;
    int ptx = -1, plan = -1, source = -1;
  };
  int profile(const std::optional<record::LineProfile>& profile);
  const Told& told(const std::string& brief_json);

  TextPool pool_;
  nlohmann::json attempts_ = nlohmann::json::array();
  std::vector<record::LineProfile> profiles_;
  std::unordered_map<std::string, Told> briefs_;
};

}  // namespace ptxlab::report
