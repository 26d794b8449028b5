#include "cli/target_option.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace ptxlab::cli {

base::Result<isa::Target> parse_target(const std::string& word) {
  if (auto target = isa::target_named(word)) return *target;
  std::vector<std::string> known;
  for (const auto& target : isa::known_targets()) known.push_back(target.name());
  auto near = base::nearest(word, known);
  return base::error("CLI0023", fmt::format("--target {}: no such target", word),
                     near.empty() ? "such as sm_80 or sm_90a" : fmt::format("did you mean '{}'?", near));
}

}  // namespace ptxlab::cli
