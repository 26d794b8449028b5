// What the page of a report shows beside the run itself: words and least work of its tasks, where they still lie here, and what
// the devices can do.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/page.h"
#include "task/task.h"

namespace ptxlab::cli {

class PageFacts {
 public:
  // `ceilings`: a file that `ptxlab doctor --gpu --json` printed, or "". Errors: FILE0001, CLI0071 it is none.
  static base::Result<PageFacts> read(const std::string& target, const std::string& ceilings);

  report::PageTask task(const report::TaskInfo& info);
  std::optional<report::Work> work(const report::TaskInfo& info, const std::string& size);
  const std::vector<report::Ceiling>& ceilings() const { return ceilings_; }

 private:
  const task::Task* known(const report::TaskInfo& info);

  std::map<std::string, std::optional<task::Task>> tasks_;
  std::vector<report::Ceiling> ceilings_;
};

}  // namespace ptxlab::cli
