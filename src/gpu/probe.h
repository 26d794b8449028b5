// doctor --gpu: is this GPU, with its driver and our worker, one whose verdicts can be trusted, and how fast is it at best? A kernel with a known
// answer, faults that must be reported, recovery after each; then ceilings: copied bytes, fp32 multiply-adds, products by mma.sync.
// Ceilings are of plain loops in PTX of ours, rounds of one kernel between two events: what a candidate is held against, not what
// the data sheet says.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gpu/contest.h"
#include "gpu/runner.h"

namespace ptxlab::gpu {

struct ProbeStep {
  std::string name;  // "a known answer", "an illegal address", "recovery"
  bool ok = false;
  std::string said;  // what came of it
};

struct Ceiling {
  std::string name;         // "copy", "fp32 FFMA", "bf16 mma.sync"
  std::string unit;         // "B/s", "FLOP/s"
  double rate = 0;          // 0: not measured
  std::string trouble;      // why not
  double milliseconds = 0;  // of one round that was measured
};

struct Probe {
  std::vector<ProbeStep> canaries;
  std::vector<Ceiling> ceilings;  // none where a canary failed: such a figure would be worth nothing
  std::optional<Sensors> sensors;
  bool ok() const;
};

struct ProbeOptions {
  std::chrono::milliseconds limit{20'000};  // of each job
  std::chrono::milliseconds hang{2'000};    // how long the endless kernel runs before it is stopped
  double enough = 3;                        // milliseconds: rounds grow until one takes so long
};
Probe probe(Runner& gpu, const ProbeOptions& options);

}  // namespace ptxlab::gpu
