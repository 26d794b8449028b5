// What is said of a run: its figures, and where its candidates are those of another run what has been kept of that one's.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "base/result.h"
#include "report/metrics.h"

namespace ptxlab::cli {

class RunFigures {
 public:
  // `run` outlives it. Errors: those of read_run, of the other run.
  static base::Result<RunFigures> of(archive::Archive& archive, const report::RunData& run);
  nlohmann::json json() const;  // ptxlab.bench/1, with "retained" where there is another run
  std::string text(size_t width) const;

 private:
  explicit RunFigures(const report::RunData& run) : run_(&run), metrics_(report::compute(run)) {}
  const report::RunData* run_;
  report::RunMetrics metrics_;
  std::optional<report::RunData> then_;
  std::vector<report::Retained> retained_;
  std::vector<std::string> notes_;
};

}  // namespace ptxlab::cli
