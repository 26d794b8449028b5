// A run as one HTML file that needs nothing but itself: style, script and data stand in it, and its own policy forbids it to
// ask anybody for anything. What a run brings with it (answers, PTX, names) travels as compressed data and becomes text nodes,
// never markup; the script's elements are made in one place (page/dom.js) that knows no other way.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"
#include "report/metrics.h"
#include "report/run_data.h"

namespace ptxlab::report {

// What a device can do at best.
struct Ceiling {
  std::string device;
  double gbs = 0, gflops = 0;
  bool measured = false;  // else from the sheet of hardware
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

// What is known of a task beside the run's own words: of its folder, where that is still there.
struct PageTask {
  std::string origin, objective;
};

// The least that any kernel moves and does at a size.
struct Work {
  double bytes = 0, flops = 0;
};

// What a turn without an attempt leaves: the model's words.
struct TurnTexts {
  std::string prompt, answer;
};

struct PageInput {
  const RunData& run;
  const RunMetrics& metrics;
  std::function<base::Result<record::Attempt>(int64_t id)> attempt;  // with its texts
  std::function<TurnTexts(const Sample& sample, const Turn& turn)> texts_of = {};
  std::function<PageTask(const TaskInfo& task)> task = {};
  // At a timed size ("n=7"; "": the only one). Nothing: not known.
  std::function<std::optional<Work>(const TaskInfo& task, const std::string& size)> work = {};
  std::vector<Ceiling> ceilings = {};  // of the devices that estimates stand for, and measured ones
  bool alone = false;                  // one attempt: its page is all there is
  bool archived = true;                // else the numbers of attempts say nothing to anybody
  std::chrono::system_clock::time_point made{};
};

// Comparisons of two runs' arms, as one page likewise.
std::string make_compare_page(std::span<const Comparison> comparisons, const std::string& program,
                              std::chrono::system_clock::time_point made);

// Errors: what kept an attempt from being read.
base::Result<std::string> make_page(const PageInput& input);

}  // namespace ptxlab::report
