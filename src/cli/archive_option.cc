#include "cli/archive_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "cli/output.h"

namespace ptxlab::cli {

base::Result<std::unique_ptr<archive::Archive>> open_existing_archive(const std::string& file) {
  const std::filesystem::path path = file.empty() ? archive::Archive::default_file() : std::filesystem::path(file);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return base::error("ARC0006", fmt::format("there is no archive {}", path.string()),
                       "'ptxlab optimize' makes one; --archive FILE names another");
  return archive::Archive::open_to_read(path);
}

base::Result<record::Attempt> attempt_named(archive::Archive& archive, const std::string& word) {
  int64_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error != std::errc() || end != word.data() + word.size())
    return base::error("CLI0100", fmt::format("'{}' is not the number of an attempt", word),
                       "'ptxlab archive list' shows the numbers");
  return archive.attempt(id);
}

int refuse_archive(const base::Findings& findings) {
  static constexpr std::array<std::string_view, 5> kAsked = {"ARC0005", "ARC0006", "ARC0007", "ARC0008", "CLI0100"};
  const bool asked = std::find(kAsked.begin(), kAsked.end(), findings.front().code) != kAsked.end();
  return refuse(findings, asked ? kExitWrongUse : kExitInfrastructure);
}

}  // namespace ptxlab::cli
