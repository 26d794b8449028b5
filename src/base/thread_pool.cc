#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ptxlab::base {

size_t core_count() { return std::max(1u, std::thread::hardware_concurrency()); }

void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& body) {
  if (threads == 0) threads = core_count();
  threads = std::min(threads, count);
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<size_t> next{0};
  std::vector<std::jthread> pool;
  for (size_t t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) body(i);
    });
  }
}

}  // namespace ptxlab::base
