#include "loop/lanes.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace ptxlab::loop {

Lanes::Lanes(std::vector<size_t> most) : lanes_(most.size()) {
  for (size_t i = 0; i < most.size(); ++i) lanes_[i].most = std::max<size_t>(1, most[i]);
}

void Lanes::open_while(size_t lane, std::function<bool()> condition) { lanes_[lane].open = std::move(condition); }

void Lanes::put(size_t lane, Job job, bool first) {
  std::lock_guard lock(mutex_);
  auto& jobs = lanes_[lane].jobs;
  first ? jobs.push_front(std::move(job)) : jobs.push_back(std::move(job));
  changed_.notify_one();
}

// The first lane goes before the others, which take turns.
Lanes::Lane* Lanes::next() {
  Lane* best = nullptr;
  for (auto& lane : lanes_) {
    if (lane.jobs.empty() || lane.busy == lane.most || (lane.open && !lane.open())) continue;
    if (&lane == &lanes_.front()) return &lane;
    if (!best || lane.begun < best->begun) best = &lane;
  }
  return best;
}

bool Lanes::idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return lane.jobs.empty() && lane.busy == 0; });
}

void Lanes::work_on() {
  std::unique_lock lock(mutex_);
  while (true) {
    Lane* lane = nullptr;
    changed_.wait(lock, [&] { return (lane = next()) != nullptr || idle(); });
    if (!lane) return;
    Job job = std::move(lane->jobs.front());
    lane->jobs.pop_front();
    ++lane->busy, ++lane->begun;
    lock.unlock();
    job();
    job = nullptr;  // what it holds is let go of outside of the lock
    lock.lock();
    --lane->busy;
    changed_.notify_all();
  }
}

void Lanes::work(size_t limit) {
  size_t threads = 0;
  for (const auto& lane : lanes_) threads += lane.most;
  threads = std::clamp<size_t>(threads, 1, limit);
  base::parallel_for(threads, threads, [this](size_t) { work_on(); });
}

}  // namespace ptxlab::loop
