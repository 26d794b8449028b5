// A worker whose ptxlab is gone must not hold a GPU: killed, or behind an ssh that broke off, ptxlab cannot stop it, and one that
// waits for an endless kernel never reads the end of its input.
#pragma once
#include <chrono>

namespace ptxlab::gpu {

// From now on the process ends, `grace` after the other end of `input` (a pipe or a socket) was closed. A worker that is not stuck
// sees the end of its input itself, and sooner.
void end_when_abandoned(int input, std::chrono::milliseconds grace);

}  // namespace ptxlab::gpu
