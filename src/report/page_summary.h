// What the page reads at once: run, arms, tasks and metrics, and a column for each thing that a table of turns can show or sort by.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/page.h"

namespace ptxlab::report {

// A turn by its place in the run.
struct PageRow {
  size_t sample = 0, turn = 0;
};
// All turns, by task, arm, sample and turn: the order of the page.
std::vector<PageRow> page_rows(const RunData& run);

// Where a row's texts are: in which block, and which of it.
struct PagePlace {
  size_t block = 0, slot = 0;
};

// A kernel's speed at one size, for the roofline.
struct RoofPoint {
  size_t row = 0;
  SpeedSource source = SpeedSource::estimated;
  std::string size, device;
  Work work;
  double us = 0, baseline_us = 0;
};

struct SummaryInput {
  const PageInput& page;
  const std::vector<PageRow>& rows;
  const std::vector<PagePlace>& places;
  const std::vector<RoofPoint>& points;
  const std::vector<Ceiling>& ceilings;
};
nlohmann::json page_summary(const SummaryInput& input);

}  // namespace ptxlab::report
