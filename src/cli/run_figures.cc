#include "cli/run_figures.h"

#include <nlohmann/json.hpp>

#include "report/compare_text.h"
#include "report/run_text.h"

namespace ptxlab::cli {

base::Result<RunFigures> RunFigures::of(archive::Archive& archive, const report::RunData& run) {
  RunFigures made(run);
  if (run.rejudged_from.empty()) return made;
  auto then = report::read_run(archive, run.rejudged_from);
  if (!then) return then.findings();
  made.retained_ = report::retained(*then, run);
  made.notes_ = report::retained_notes(*then, run);
  made.then_ = *std::move(then);
  return made;
}

nlohmann::json RunFigures::json() const {
  auto figures = report::to_json(*run_, metrics_);
  if (then_) figures["retained"] = report::to_json(*then_, retained_, notes_);
  return figures;
}

std::string RunFigures::text(size_t width) const {
  std::string text = report::run_text(*run_, metrics_, width);
  if (then_) text += "\n" + report::retained_text(*then_, retained_, notes_);
  return text;
}

}  // namespace ptxlab::cli
