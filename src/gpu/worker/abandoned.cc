#include "gpu/worker/abandoned.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace ptxlab::gpu {
namespace {

// True once nobody can write any more. A file or a terminal never says so.
bool hung_up(int input) {
  pollfd look{input, POLLRDHUP, 0};
  int count = poll(&look, 1, -1);
  if (count < 0) return errno != EINTR;
  return (look.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

void end_when_abandoned(int input, std::chrono::milliseconds grace) {
  std::thread([input, grace] {
    while (!hung_up(input)) {
    }
    std::this_thread::sleep_for(grace);
    _exit(4);
  }).detach();
}

}  // namespace ptxlab::gpu
