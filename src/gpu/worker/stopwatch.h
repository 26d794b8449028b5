// Times two arms against each other so that neither placement, order, caches, clocks nor memory left behind favours one:
// - Every epoch loads both modules and lays out all memory anew, in one allocation, in random order and distance. Both arms
//   work on the same buffers, of which there are several sets, together larger than L2.
// - A pair is one timed launch of each arm, in random order, on the same set and the same of two variants of the inputs.
//   Before each: outputs and scratch are poisoned (the other arm's right answer lies there), what is read and written is
//   restored, persisting lines are forgotten, twice L2 is written. Then the queue is held until all is in it, so that no
//   latency of launching is timed; scratch that the plan wants zeroed is zeroed within the time.
// - Kernels under 20 us are timed in batches of executions, each on a set of its own: an event's time comes in steps of tens
//   of nanoseconds.
// - After each timed launch, once its end has been waited for, a key is drawn, and a digest of the outputs under that key is
//   compared with that of the launch which was looked at when the contest opened; where outputs differ in bits from launch to
//   launch, sixteen projections of them. The inputs' follow at the epoch's end.
#pragma once
#include <memory>

#include "gpu/contest.h"
#include "gpu/worker/device.h"

namespace ptxlab::gpu {

class Stopwatch {
 public:
  Stopwatch(Device& device, Contest contest);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Once, before any measuring. After Done::End::faulted the device is lost, and the process should end.
  Opened open();
  Measured measure(const MeasureRequest& request);

 private:
  class Contestants;
  std::unique_ptr<Contestants> contestants_;
};

}  // namespace ptxlab::gpu
