// The words of the loop as data: what a proposer is told (Brief), what it hands in (Candidate), what judging said
// (Verdict), and the three together with their history (Attempt). Plain structs; the JSON forms are in record/json.h.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "isa/target.h"
#include "launch/plan.h"
#include "task/task.h"
#include "toolchain/sass.h"
#include "toolchain/toolchain.h"

namespace ptxlab::record {

struct Candidate {
  std::string ptx;
  std::optional<std::string> plan;  // plan.toml; absent: the baseline's
  std::string proposer;             // "rules", "files"
  std::string idea;                 // one line: "4 neighbouring elements a thread, 128-bit accesses"
  std::string name;                 // short: "vectorise-4"
  // The CUDA C that nvcc makes `ptx` of, where that is what its proposer writes; else empty. It may declare and compute, and never
  // runs on the host.
  std::string cuda;
  // A model's: all it was asked and all it said. Else empty.
  std::string prompt, answer;
  // What its proposer has to say of it. An error means that there is no PTX in it to judge: it is malformed as it stands.
  base::Findings findings;
  int steps = 1;  // how many changes it took: rules applied one after the other
};

enum class GateName : uint8_t { check, assemble, emulate, execute, time };
enum class GateStatus : uint8_t { not_run, passed, failed, skipped };
enum class OutcomeName : uint8_t {
  malformed,
  rejected,
  faulted,
  wrong,
  unverified,
  slower,
  same,
  faster,
  unstable,
  cheating,
  infrastructure,
};
std::string_view name_of(GateName gate);
std::string_view name_of(GateStatus status);
std::string_view name_of(OutcomeName outcome);
std::span<const OutcomeName> all_outcomes();
// Found right by all that ran, whatever its speed.
bool is_right(OutcomeName outcome);

struct Gate {
  GateName name = GateName::check;
  GateStatus status = GateStatus::not_run;
  std::string reason;  // why skipped; else empty
  base::Findings findings;
  double milliseconds = 0;
};

// What the estimate says of one side; always labelled as an estimate. docs/estimate.md explains each figure.
struct Estimate {
  struct Part {
    std::string name;
    double value = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  double nanoseconds = 0;  // launches included; of several timed sizes the weighted mean
  std::string size;        // "m=2048 n=8192": of which all else is, the one that takes most of the time
  double size_ns = 0;      // that one's own nanoseconds
  double issue_slots = 0, sectors = 0, occupancy = 0;
  std::string bound_by;    // "DRAM bandwidth", "DRAM latency", "issue slots", "launch overhead" ...
  std::string device;      // the one that stands for the target
  double uncertainty = 0;  // relative: two estimates of one task that differ by less say nothing
  double launch_ns = 0;    // of `nanoseconds`
  double dram_bytes = 0, l2_bytes = 0, l1_hit_bytes = 0;
  double bank_conflicts = 0;    // passes over shared memory beyond those without conflicts
  double scattered_passes = 0;  // passes of the load/store unit beyond those of neighbouring words
  double waves = 0;             // resident sets of CTAs, one after the other
  double tail = 0;              // share of the SMs' time lost because the last CTAs do not fill them
  int resident_ctas = 0;        // an SM
  std::string occupancy_limit;  // registers, shared memory, threads, CTAs
  std::vector<Part> limits;     // nanoseconds that each resource would need if nothing else took time, longest first
  std::vector<Part> waits;      // shares of the resident warps' time, longest first
  std::vector<std::string> assumptions;  // what was guessed
};

// Hardware counters at a timed size, where they were asked for and could be read.
struct Counters {
  struct Counter {
    std::string name, unit;  // "DRAM bytes read", "B"
    double candidate = 0;
    std::optional<double> baseline;
    friend bool operator==(const Counter&, const Counter&) = default;
  };
  std::string size;  // "m=2048 n=8192"
  std::vector<Counter> list;
  friend bool operator==(const Counters&, const Counters&) = default;
};

// One timed size on a GPU: candidate and baseline side by side. docs/gpu.md explains each figure.
struct TimedSize {
  // Another baseline of the task, timed against the candidate likewise.
  struct Rival {
    std::string name;
    double us = 0, speedup = 1, low = 1, high = 1;
    friend bool operator==(const Rival&, const Rival&) = default;
  };
  // The sample of the statistics: modules and buffers were made anew for each.
  struct Epoch {
    double baseline_us = 0, candidate_us = 0;  // medians of its launches
    double speedup = 0;                        // the median of its pairs' ratios; 0: it has no usable times
    bool counted = false;                      // not dropped
    friend bool operator==(const Epoch&, const Epoch&) = default;
  };
  std::string size;  // "m=2048 n=8192"
  double weight = 1;
  OutcomeName outcome = OutcomeName::unstable;
  std::string reason;                                // why unstable; else empty
  std::string baseline;                              // the strongest one, which the figures are against
  double baseline_us = 0, candidate_us = 0;          // medians of one execution
  double baseline_spread = 0, candidate_spread = 0;  // relative: half of the executions lie within so much
  double speedup = 1, low = 1, high = 1;             // how many times as fast, and its interval
  double delta = 0;                                  // relative: what identical kernels differ by on this GPU
  std::string delta_source;
  uint32_t epochs = 0, dropped = 0, pairs = 0, batch = 1, sets = 1;
  uint64_t checked = 0;          // timed executions whose outputs were checked
  double event_overhead_us = 0;  // of two events with nothing between them
  double bytes = 0, flops = 0;   // the least that any kernel moves and does: the task's [floor]; 0: unknown
  double floor_us = 0;           // no kernel can be faster; 0: unknown
  double roofline_gbs = 0, roofline_gflops = 0;  // of this device; 0: unknown
  double baseline_mhz = 0, candidate_mhz = 0;    // SM clocks meanwhile; 0: not readable
  std::optional<uint32_t> memory_mhz, celsius, watts;
  std::vector<Rival> rivals;   // the others
  std::vector<Epoch> samples;  // what the interval is made of, in order; verdicts of earlier versions have none
};

// What the time gate measured.
struct Timing {
  std::string device, driver;  // "NVIDIA H200", "13.0": the CUDA version that the driver supports
  double speedup = 1, low = 1,
         high = 1;  // over the sizes: the weighted geometric mean, each against its strongest baseline
  // Likewise against the task's first baseline alone, where another one is stronger at some size.
  struct First {
    std::string name;
    double speedup = 1, low = 1, high = 1;
  };
  std::optional<First> first;
  std::vector<TimedSize> sizes;
  // What `speedup` is against: "triton.ptx"; "baseline.ptx or triton.ptx" where the strongest one differs by size.
  std::string against() const;
};

struct CaseResult {
  std::string label;
  bool right = false;
  std::string summary;
};

// How often each line of a PTX text ran on the engine, and what its accesses cost there: dynamic counts, never a time.
struct LineProfile {
  struct Counts {
    uint32_t line = 0;                // from 1; its instructions together
    uint64_t warps = 0, threads = 0;  // instructions issued; their active lanes
    uint64_t requests = 0;            // of warps to global or shared memory
    uint64_t sectors = 0,
             ideal_sectors = 0;             // of 32 bytes in global memory; as the same bytes side by side would touch
    uint64_t passes = 0, ideal_passes = 0;  // over the banks of shared memory; without conflicts
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  std::string of;             // what ran: "a few CTAs of each timed size", "all cases"
  std::vector<Counts> lines;  // in order; only lines with instructions
  friend bool operator==(const LineProfile&, const LineProfile&) = default;
};

// All five, in order, none run.
std::vector<Gate> all_gates();

struct Verdict {
  OutcomeName outcome = OutcomeName::infrastructure;
  std::string reason;                     // one sentence
  std::string task;                       // the task's name
  std::vector<Gate> gates = all_gates();  // all five, in order
  std::vector<toolchain::Resources> resources;
  std::optional<Counters> counters;
  std::vector<toolchain::SassFacts> sass;  // of the same entries; empty where the machine code was not read
  std::vector<CaseResult> cases;
  std::string target;  // sm_90a
  std::string oracle;  // who said what is right
  std::optional<Estimate> estimate, baseline_estimate;
  std::optional<double> estimated_speedup;
  std::optional<Timing> timing;  // measured on a GPU
  // How many times as fast as the baseline: measured where it was, else estimated.
  std::optional<double> speedup() const { return timing ? std::optional<double>(timing->speedup) : estimated_speedup; }
  std::vector<uint32_t> unexecuted_lines;       // PTX lines that no case reached
  std::optional<LineProfile> profile;           // of the candidate's PTX, where the engine ran it
  std::optional<LineProfile> baseline_profile;  // of the baseline's, by the same launches
  std::string code_digest;                      // of the entries that the plan launches
  const Gate& gate(GateName name) const;
  Gate& gate(GateName name);
};

// What the brief demands beyond being right; judged as policy in the check and assemble gates.
struct Constraints {
  std::optional<int> max_registers, max_shared_bytes, max_block_threads, vector_bytes;
};

struct Earlier {
  Candidate candidate;
  Verdict verdict;
};

// What a proposer is to write: PTX itself, or CUDA C that nvcc makes PTX of.
enum class Language : uint8_t { ptx, cuda };
std::string_view name_of(Language language);

// What a proposer is to do this time: make the kernel faster, write one from the interface alone, mend an earlier attempt that
// failed, or go on from one that is right.
enum class Job : uint8_t { optimize, write, repair, reflect };
std::string_view name_of(Job job);
std::optional<Job> job_named(std::string_view name);

// One question of a brief. Several about one kernel differ in what they are to try, so that the answers do.
struct Ask {
  Job job = Job::optimize;
  std::optional<size_t> about;        // repair, reflect: which of `earlier`
  std::string strategy, advice;       // "vectorise", and what that means; empty: the proposer chooses
  std::optional<double> temperature;  // of the model; absent: as its user sets it
  friend bool operator==(const Ask&, const Ask&) = default;
};

// A figure of the device that stands for the target, in words: "memory bandwidth", "4300 GB/s".
struct Fact {
  std::string name, value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

struct Brief {
  task::Task task;
  std::map<std::string, std::string> task_files;  // the hash of each of its files; empty: not known
  isa::Target target;
  std::string baseline_ptx, baseline_plan;
  std::string source;  // CUDA, may be empty
  Language language = Language::ptx;
  std::vector<toolchain::Resources> baseline_resources;
  std::vector<toolchain::SassFacts> baseline_sass;
  Constraints constraints;
  std::vector<Fact> hardware;
  // Of the baseline, where the engine runs it: what each line costs, and what its time is estimated to go into.
  std::optional<LineProfile> baseline_profile;
  std::optional<Estimate> baseline_estimate;
  std::vector<Earlier> earlier;
  // One for each candidate that is asked for; the i-th answers asks[i modulo their number]. Empty: optimize, and nothing else said.
  std::vector<Ask> asks;
  uint64_t seed = 1;
};
Ask ask_of(const Brief& brief, size_t index);

struct Attempt {
  int64_t id = 0;   // the archive's
  std::string run;  // which optimise or bench run it belongs to
  std::chrono::system_clock::time_point at{};
  std::string task;
  Candidate candidate;
  std::string brief_json;
  Verdict verdict;
};

}  // namespace ptxlab::record
