// Jobs in lanes, done by a crew of threads. A lane has at most so many jobs at work at once, so that no thread ever waits for
// another's place: what a slow server takes leaves the other lanes what is theirs.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace ptxlab::loop {

class Lanes {
 public:
  using Job = std::function<void()>;
  // `most`: at work at once, by lane. Earlier lanes go first; those that have had less come first among lanes that are open.
  explicit Lanes(std::vector<size_t> most);

  // Jobs may add jobs. A lane's jobs are taken in order, the newest `first` before all others.
  void add_last(size_t lane, Job job) { put(lane, std::move(job), false); }
  void add_first(size_t lane, Job job) { put(lane, std::move(job), true); }
  // While it is false, no job of the lane is begun. Asked under a lock whenever a job is added or has ended.
  void open_while(size_t lane, std::function<bool()> condition);

  // As many threads as all lanes together may keep busy, `limit` at most, until nothing is left to do.
  void work(size_t limit);

 private:
  struct Lane {
    std::deque<Job> jobs;
    std::function<bool()> open;
    size_t most = 1, busy = 0, begun = 0;
  };
  void put(size_t lane, Job job, bool first);
  void work_on();
  Lane* next();
  bool idle() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lane> lanes_;
};

}  // namespace ptxlab::loop
