// For tests: plays a GPU for the task "y = x + 1" of fake_engine.h, and behaves as the entry's name says.
#pragma once
#include <cstring>
#include <string>

#include "gpu/runner.h"

namespace ptxlab::judge {

class FakeGpu : public gpu::Runner {
 public:
  FakeGpu() { hello_.device = "fake GPU", hello_.sm = 80; }
  const gpu::Hello& hello() const override { return hello_; }
  int jobs = 0;

  base::Result<gpu::Done> run(const gpu::Job& job, std::chrono::milliseconds) override {
    ++jobs;
    const std::string& how = job.plan.launches.at(0).entry;
    if (how == "gpu_hangs") return trouble("GPU0004", "still running after 1 ms: stopped");
    if (how == "gpu_crashes") return trouble("GPU0005", "the GPU worker ended without an answer");
    if (how == "gpu_lost") return trouble("GPU0001", "the GPU worker does not start");
    gpu::Done done;
    if (how == "gpu_faults" || (how == "gpu_faults_once" && jobs == 1)) {
      done.end = gpu::Done::End::faulted;
      done.message = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";
      return done;
    }
    if (how == "gpu_refuses") {
      done.end = gpu::Done::End::unlaunched;
      done.message = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch";
      return done;
    }
    done.end = gpu::Done::End::executed;
    done.contents = job.contents;
    std::string& x = done.contents[0];
    std::string& y = done.contents[1];
    y.assign(job.plan.buffers[1].bytes, static_cast<char>(job.poison));
    for (size_t i = 0; i + 4 <= y.size(); i += 4) {
      if (how == "gpu_unwritten" && i + 4 == y.size()) break;
      int32_t value;
      std::memcpy(&value, x.data() + i, 4);
      value += how == "gpu_wrong" ? 2 : 1;
      // What only one poison shows: a value that comes from memory which nobody wrote.
      if (how == "gpu_poisoned" && job.poison == 0x5a) value = 0x5a5a5a5a;
      std::memcpy(y.data() + i, &value, 4);
    }
    if (how == "gpu_touches") x[0] ^= 1;
    if (how == "gpu_overruns") done.overruns.push_back({1, static_cast<int64_t>(y.size()), 4});
    return done;
  }

  base::Result<gpu::Opened> open(const gpu::Contest&, std::chrono::milliseconds) override {
    return trouble("GPU0005", "this fake has no stopwatch");
  }
  base::Result<gpu::Measured> measure(const gpu::MeasureRequest&, std::chrono::milliseconds) override {
    return trouble("GPU0006", "no contest is open");
  }

 private:
  static base::Finding trouble(const char* code, std::string message) {
    base::Finding made;
    made.code = code;
    made.message = std::move(message);
    return made;
  }
  gpu::Hello hello_;
};

}  // namespace ptxlab::judge
