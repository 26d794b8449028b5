// The GPUs that a judge may use. Each is started when it is first needed, does one thing at a time, and goes to whoever comes while
// it is free; who finds none free waits for the first.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "gpu/runner.h"

namespace ptxlab::judge {

using GpuResult = base::Result<std::unique_ptr<gpu::Runner>>;
using StartGpu = std::function<GpuResult()>;  // an error: there is none, and why

class GpuPool {
 public:
  explicit GpuPool(std::vector<StartGpu> starts);

  // `use` gets a GPU that nobody else has meanwhile, or why there is none: those that do not start are passed over where others do.
  template <class Use>
  auto with(const Use& use) {
    Lease lease(*this);
    return use(*lease.slot->gpu);
  }

 private:
  struct Slot {
    StartGpu start;
    std::optional<GpuResult> gpu;
    bool busy = false;
    bool useless() const { return gpu && !*gpu; }
  };
  struct Lease {
    explicit Lease(GpuPool& from) : pool(from), slot(from.take()) {}
    ~Lease() { pool.give_back(*slot); }
    GpuPool& pool;
    Slot* slot;
  };
  Slot* take();
  Slot* free_slot();  // under the lock; null: all are busy that are of any use
  void give_back(Slot& slot);

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Slot> slots_;
};

}  // namespace ptxlab::judge
