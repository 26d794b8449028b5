// What executes jobs on a GPU, as a judge sees it: the worker (worker_client.h), or in tests something that plays one.
#pragma once
#include <chrono>

#include "base/result.h"
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
};

}  // namespace ptxlab::gpu
