// How far apart identical kernels look on a GPU: what `ptxlab calibrate` has measured, kept as the estimates themselves so
// that runs of several days can be pooled and every figure made again from them. A file holds one GPU ("ptxlab.calibration/1",
// docs/gpu.md). What stands in it besides (delta, false positives, power) follows from the estimates.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "stats/looks.h"

namespace ptxlab::judge {

// One contest of kernels whose true ratio is known: the interval at each look that was taken, in millionths of a log ratio.
struct CalibrationLook {
  int32_t center = 0, half = 0;  // half < 0: too many epochs were dropped, it decides nothing
  friend bool operator==(const CalibrationLook&, const CalibrationLook&) = default;
};
using Comparison = std::vector<CalibrationLook>;  // one to three
CalibrationLook kept(const stats::Decision& decision);

// The rule on a kept comparison. A look that was not taken leaves it unstable.
stats::Call call_of(const Comparison& comparison, double delta);

// What one call of calibrate measured with one kernel in one size class.
struct CalibrationRun {
  std::string label;   // cold, hot, later
  std::string kernel;  // stream (bound by memory), fma (by arithmetic)
  std::string made;    // when: 2026-11-29T23:00:00Z
  std::string driver;
  double us = 0;  // of one execution, as measured
  uint32_t pairs = 0, batch = 0;
  double event_overhead = 0;  // microseconds
  uint64_t epochs = 0, dropped = 0;
  double seconds = 0;            // of all its comparisons, the host's clock
  std::vector<Comparison> even;  // the same kernel twice
  struct Planted {
    double percent = 0;  // as asked for; above 0: B is faster by so much
    double actual = 0;   // as planted, in percent: work comes in whole steps
    std::vector<Comparison> comparisons;
  };
  std::vector<Planted> planted;
};

struct CalibrationClass {
  double size_us = 0;
  std::vector<CalibrationRun> runs;
};

struct Calibration {
  std::string gpu, driver;                // "NVIDIA H200", "13.0"; the driver of the last run
  std::vector<CalibrationClass> classes;  // by size
};

// What follows from a class's comparisons. The A/A comparisons are split in two halves; each half's false positives are counted
// with the delta of the other one. delta is the larger one of both, and of the kernels.
struct ClassFigures {
  uint64_t comparisons = 0;  // A/A
  double delta = 0;          // 99th percentile of |log ratio|
  uint64_t false_positives = 0;
  double false_positive_upper = 1;  // Wilson, 95 %
  struct Power {
    uint64_t seen = 0, of = 0;
    double share() const { return of ? static_cast<double>(seen) / static_cast<double>(of) : 0; }
  };
  std::map<int, Power> power;  // by percent, both signs together
  struct Group {
    std::string label;
    uint64_t comparisons = 0, beyond = 0;  // beyond: further apart than delta
    double delta = 0, median = 0;          // of |log ratio| and of the log ratio
    uint64_t false_positives = 0;          // with the class's delta
    bool agrees = true;                    // no more beyond delta than chance explains
  };
  std::vector<Group> groups;
  double seconds = 0;  // a comparison
  double dropped = 0;  // share of epochs
};
ClassFigures figures_of(const CalibrationClass& one);

// The classes of `more` beside or into those of `to`.
void pool(Calibration& to, const Calibration& more);

std::string print(const Calibration& calibration);
// Errors: JDG0040 not such a file, FILE0001.
base::Result<Calibration> read_calibration(const std::filesystem::path& file);
base::Result<Calibration> read_calibration_text(std::string_view text, std::string_view file);

// calibration-h200.json
std::string calibration_file_name(std::string_view gpu);

// What a judge takes for delta at a kernel of so many microseconds.
struct Delta {
  double delta = 0;    // log ratio
  std::string source;  // "calibration-h200.json, 20 and 100 us, 3,024 comparisons"
};

// The calibrations of one GPU: those of the user's data folder, then those shipped. Thread-safe.
class Calibrations {
 public:
  Calibrations() = default;
  // Reads what is there for `gpu`; a file that cannot be read is a warning. The first folder is the one that is written to.
  static Calibrations find(const std::string& gpu, const std::vector<std::filesystem::path>& folders,
                           base::Findings& findings);

  // From the nearest classes, the larger of both neighbours. Nothing where no class is near enough.
  std::optional<Delta> delta_at(double us) const;

  // Takes another class up and writes it into the user's file. What cannot be written is a warning.
  base::Findings add(const CalibrationClass& one, const std::string& driver);

 private:
  struct Known {
    double size_us, delta;
    uint64_t comparisons;
    std::string file;
  };
  void know(const Calibration& calibration, const std::string& file);
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::string gpu_;
  std::filesystem::path own_;  // empty: nothing is written
  std::vector<Known> known_;   // by size
};

}  // namespace ptxlab::judge
