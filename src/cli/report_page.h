// Writing the page of a run, as report, judge and optimize do.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "base/result.h"
#include "record/record.h"
#include "report/run_data.h"

namespace ptxlab::cli {

// --html FILE where there is no place for it: said before the work, with the exit code.
std::optional<int> refuse_page(const std::string& file);

struct WrittenPage {
  size_t attempts = 0, bytes = 0;
  // "wrote report.html: 12 attempts, 180 kB"
  std::string text(const std::string& file) const;
};

// Of a run in the archive. `ceilings`: a file of 'ptxlab doctor --gpu --json', or "". Errors: FILE000x, CLI0101, ARC0004.
base::Result<WrittenPage> write_page(archive::Archive& archive, const report::RunData& run, const std::string& file,
                                     const std::string& ceilings = "");
// Of attempts that no archive has.
base::Result<WrittenPage> write_page(const std::vector<record::Attempt>& attempts, const std::string& file);

}  // namespace ptxlab::cli
