// What executes jobs on a GPU and times contests there, as a judge sees it: the worker (worker_client.h), or in tests something
// that plays one.
#pragma once
#include <chrono>

#include "base/result.h"
#include "gpu/contest.h"
#include "gpu/protocol.h"

namespace ptxlab::gpu {

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Hello& hello() const = 0;
  // One job, at most `limit` long. What the job itself did (refused, faulted) is a Done. Errors: GPU0004 it hung: the limit
  // passed, GPU0005 the worker died, both perhaps the job's doing; others say that there is no worker any more. Not
  // thread-safe: one GPU does one thing at a time.
  virtual base::Result<Done> run(const Job& job, std::chrono::milliseconds limit) = 0;

  // Opens a contest; one that was open before is closed, and so it is by run(). Errors as above.
  virtual base::Result<Opened> open(const Contest& contest, std::chrono::milliseconds limit) = 0;
  // Further epochs of the open contest. Errors as above, and GPU0006: none is open (the worker was replaced since).
  virtual base::Result<Measured> measure(const MeasureRequest& request, std::chrono::milliseconds limit) = 0;
};

}  // namespace ptxlab::gpu
