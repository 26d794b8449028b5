// Hardware counters of a plan's launches, read by NVIDIA's profiler ncu around a worker that executes one job. Optional: where ncu is
// absent or the driver does not allow it, that is said and nothing else changes. ncu replays each launch several times, so what is
// counted is right and what is timed meanwhile is not.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/protocol.h"

namespace ptxlab::gpu {

// How a metric's values of several launches become one.
enum class Joined { sum, mean };  // mean: weighted by the launches' times

struct Metric {
  const char* name;   // ncu's
  const char* shown;  // "DRAM bytes read"
  const char* unit;   // "", "B", "%"
  Joined joined;
};
// What is asked for, in the order in which it is shown; stall reasons stand beside it.
const std::vector<Metric>& counted_metrics();
inline constexpr std::string_view kStallPrefix = "smsp__average_warps_issue_stalled_";
inline constexpr std::string_view kStallSuffix = "_per_issue_active.ratio";

// One launch as ncu reports it: values by ncu's names, in base units. What ncu could not read is not there.
struct CountedLaunch {
  std::string kernel;
  std::map<std::string, double> values;
};

// Of `ncu --csv`: lines of ncu's own (==PROF== ...) before, between and after the table are passed over. Errors: GPU0031 the driver does
// not permit counters, GPU0032 anything else that keeps it from being a table.
base::Result<std::vector<CountedLaunch>> read_ncu_csv(std::string_view text);

// All launches together, by ncu's names: what counted_metrics() lists, and stalls in warps an issued instruction.
std::map<std::string, double> joined(const std::vector<CountedLaunch>& launches);

struct CountOptions {
  std::filesystem::path ncu;                // empty: looked for on PATH and in CUDA's usual folders
  std::vector<std::string> worker;          // a Place's command, on this machine
  std::chrono::milliseconds wall{180'000};  // each launch is replayed some ten times
};
// Executes the job once under ncu and counts its launches. Errors: GPU0030 there is no ncu, GPU0031, GPU0032.
base::Result<std::vector<CountedLaunch>> count(const Job& job, const CountOptions& options);

// Where ncu is; empty: nowhere.
std::filesystem::path find_ncu();

}  // namespace ptxlab::gpu
