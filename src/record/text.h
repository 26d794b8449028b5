// A verdict as text for people: the outcome and its reason first, then the gates, then what each has to say, then
// figures.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "record/record.h"

namespace ptxlab::record {

struct TextOptions {
  // Names and contents of the files that findings point into, so that their lines can be shown.
  std::vector<std::pair<std::string, std::string>> sources;
  std::string name;  // the candidate's, for the first line; may be empty
  bool color = false;
  size_t max_findings = 20;  // of each gate; how many more there are is said
};

std::string text(const Verdict& verdict, const TextOptions& options);

// "3, 7-12, 40": lines as people write them.
// "counters at n=1048576, the candidate against the baseline: DRAM bytes read 8.4 MB (8.4 MB), ...".
std::string counters_text(const Counters& counters);

std::string ranges(const std::vector<uint32_t>& lines);

}  // namespace ptxlab::record
