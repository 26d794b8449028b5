// A worker whose GPU is played (engine_device.h). PLAYED_GPU holds its manners: "drift,spikes,throttle,restless".
#include <cstdlib>
#include <memory>

#include "engine_device.h"
#include "gpu/worker/serve.h"

int main() {
  const char* words = std::getenv("PLAYED_GPU");
  auto manners = ptxlab::played::Manners::named(words ? words : "");
  return ptxlab::gpu::serve(std::make_unique<ptxlab::played::EngineDevice>(manners), "", 0, 1);
}
