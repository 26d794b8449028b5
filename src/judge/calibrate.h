// Measures how far apart identical kernels look on this GPU, and whether known differences are seen: contests of kernels whose
// time is known (calibration_kernels.h), in size classes, decided as the time gate decides.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/runner.h"
#include "judge/assemblers.h"
#include "judge/calibration.h"

namespace ptxlab::judge {

struct CalibrateOptions {
  std::vector<double> sizes_us = {5, 20, 100, 1000};
  std::string label = "hot";
  uint64_t comparisons = 1500;  // A/A, in each class, of both kernels together
  double seconds = 0;           // for all; 0: until the comparisons are made
  uint64_t seed = 1;
  std::function<void(const std::string&)> progress;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

struct Calibrated {
  Calibration calibration;
  base::Findings findings;  // what went wrong on the way, and that time ran out
};

// Errors: those of Runner; JDG0042 the worker could not run these kernels. What was measured up to then is kept, as findings say.
base::Result<Calibrated> calibrate(gpu::Runner& runner, const Assemblers& assemblers, const CalibrateOptions& options);

// Comparisons of an open contest of one kernel with itself, until `enough` says so: for a kernel of whatever kind. Adds to `run`.
base::Findings compare_even(gpu::Runner& runner, const gpu::Opened& opened, CalibrationRun& run,
                            const std::function<bool()>& enough);

// The table at a run's end.
std::string table(const Calibration& calibration);

}  // namespace ptxlab::judge
