// A fixed number of threads that run independent jobs; results are ordered by job, never by time.
#pragma once
#include <cstddef>
#include <functional>

namespace ptxlab::base {

// Calls body(0) ... body(count - 1), at most `threads` at once (0: the machine's cores), and returns when all are done.
// body must not throw.
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& body);

size_t core_count();

}  // namespace ptxlab::base
