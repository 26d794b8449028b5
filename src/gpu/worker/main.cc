// ptxlab-gpu: the one process that touches the GPU. Not for people: ptxlab starts it (src/gpu/worker_client.h).
#include <chrono>
#include <string>
#include <utility>

#include "gpu/worker/abandoned.h"
#include "gpu/worker/device.h"
#include "gpu/worker/serve.h"

int main() {
  using namespace ptxlab::gpu;
  end_when_abandoned(0, std::chrono::seconds(5));
  std::string why;
  auto device = make_cuda_device(why);
  return serve(std::move(device), why, 0, 1);
}
