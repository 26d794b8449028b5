#include "judge/gpu_pool.h"

#include <algorithm>

namespace ptxlab::judge {
namespace {

GpuResult no_gpu() {
  base::Finding none;
  none.code = "GPU0002";
  none.message = "no GPU";
  return none;
}

}  // namespace

GpuPool::GpuPool(std::vector<StartGpu> starts) {
  if (starts.empty()) starts.emplace_back(no_gpu);
  for (auto& start : starts) slots_.push_back({std::move(start), std::nullopt, false});
}

GpuPool::Slot* GpuPool::free_slot() {
  auto usable = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.busy && !s.useless(); });
  if (usable != slots_.end()) return &*usable;
  // Only where not one of them is of use does its error answer.
  bool hope = std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.useless(); });
  auto any = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.busy; });
  return hope || any == slots_.end() ? nullptr : &*any;
}

GpuPool::Slot* GpuPool::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Slot* slot = nullptr;
    freed_.wait(lock, [&] { return (slot = free_slot()) != nullptr; });
    slot->busy = true;
    if (slot->gpu) return slot;
    lock.unlock();
    GpuResult started = slot->start ? slot->start() : no_gpu();  // takes seconds: others go on meanwhile
    lock.lock();
    slot->gpu.emplace(std::move(started));
    if (!slot->useless()) return slot;
    slot->busy = false;
    freed_.notify_all();
  }
}

void GpuPool::give_back(Slot& slot) {
  {
    std::lock_guard lock(mutex_);
    slot.busy = false;
  }
  freed_.notify_all();
}

}  // namespace ptxlab::judge
