// ptxlab-gpu: the one process that touches the GPU. Not for people: ptxlab starts it (src/gpu/worker_client.h).
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "gpu/worker/abandoned.h"
#include "gpu/worker/device.h"
#include "gpu/worker/serve.h"

namespace {

// Where answers go. The driver prints what a kernel prints to descriptor 1: that one becomes stderr's, or a kernel could
// answer in the worker's place. Below 0: there is none.
int channel_of_answers() {
  int channel = fcntl(1, F_DUPFD_CLOEXEC, 3);
  return channel >= 0 && dup2(2, 1) == 1 ? channel : -1;
}

}  // namespace

int main() {
  using namespace ptxlab::gpu;
  const int answers = channel_of_answers();
  if (answers < 0) return 1;
  end_when_abandoned(0, std::chrono::seconds(5));
  std::string why;
  auto device = make_cuda_device(why);
  return serve(std::move(device), why, 0, answers);
}
