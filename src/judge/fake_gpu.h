// For tests: plays a GPU for the task "y = x + 1" of fake_engine.h, and behaves as the entry's name says.
#pragma once
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "base/random.h"
#include "gpu/runner.h"

namespace ptxlab::judge {

class FakeGpu : public gpu::Runner {
 public:
  explicit FakeGpu(std::string device = "fake GPU") {
    hello_.device = std::move(device), hello_.sm = 80, hello_.driver = 13000;
  }
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

  // The stopwatch: a kernel takes 20 us, or what its name says: "faster_5" percent less, "slower_5" more. "t_" kernels fail at the
  // timed size alone.
  base::Result<gpu::Opened> open(const gpu::Contest& contest, std::chrono::milliseconds) override {
    ++contests;
    contest_.reset();
    const std::string& how = contest.sides[1].plan.launches.at(0).entry;
    if (how == "t_hangs") return trouble("GPU0004", "still running after 1 ms: stopped");
    if (how == "t_lost") return trouble("GPU0001", "the GPU worker does not start");
    gpu::Opened opened;
    if (how == "t_faults" || (how == "t_faults_once" && contests == 1)) {
      opened.end = gpu::Done::End::faulted;
      opened.arm = gpu::Arm::b;
      opened.message = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";
      return opened;
    }
    if (how == "t_large") {
      opened.end = gpu::Done::End::out_of_memory;
      opened.message = "CUDA_ERROR_OUT_OF_MEMORY: out of memory";
      return opened;
    }
    opened.end = gpu::Done::End::executed;
    for (size_t arm = 0; arm < gpu::kArms; ++arm) {
      const std::string& entry = contest.sides[arm].plan.launches.at(0).entry;
      opened.microseconds[arm] = time_of(entry);
      for (uint8_t v = 0; v < (contest.change.bytes.empty() ? 1 : gpu::kVariants); ++v)
        opened.looks[arm][v] = look_of(contest, entry, v);
    }
    opened.pairs = 8, opened.batch = 1, opened.sets = 2, opened.event_overhead = 1.5;
    contest_ = contest;
    contest_->contents.clear();
    executions_ = 0;
    return opened;
  }

  base::Result<gpu::Measured> measure(const gpu::MeasureRequest& request, std::chrono::milliseconds) override {
    if (!contest_) return trouble("GPU0006", "no contest is open");
    const std::string& a = contest_->sides[0].plan.launches.at(0).entry;
    const std::string& b = contest_->sides[1].plan.launches.at(0).entry;
    gpu::Measured measured;
    measured.end = gpu::Done::End::executed;
    if (b == "t_crashes_late" || (b == "t_crashes_once" && contests <= crash_until)) {
      contest_.reset();
      return trouble("GPU0005", "the GPU worker ended without an answer");
    }
    for (uint32_t e = 0; e < request.epochs; ++e) measured.epochs.push_back(epoch(a, b));
    measured.checked = uint64_t{2} * request.epochs * 8;
    if (b == "t_right_once") measured.mismatches.push_back({gpu::Arm::b, 3, 4, 1, false});
    if (b == "t_touches_late") measured.mismatches.push_back({gpu::Arm::b, 3, 0xffffffff, 0, true});
    if (a == "baseline_varies") measured.mismatches.push_back({gpu::Arm::a, 0, 1, 0, false});
    return measured;
  }

  int contests = 0;
  int crash_until = 0;

 private:
  static base::Finding trouble(const char* code, std::string message) {
    base::Finding made;
    made.code = code;
    made.message = std::move(message);
    return made;
  }
  static double time_of(const std::string& entry) {
    if (entry.rfind("faster_", 0) == 0) return 20 / (1 + std::stod(entry.substr(7)) / 100);
    if (entry.rfind("slower_", 0) == 0) return 20 * (1 + std::stod(entry.substr(7)) / 100);
    if (entry == "a_hair_faster") return 20 / 1.0005;
    return entry == "impossible" ? 0.01 : 20;
  }

  static gpu::Opened::Look look_of(const gpu::Contest& contest, const std::string& entry, uint8_t variant) {
    gpu::Opened::Look look;
    std::string x(contest.contents[0]);
    if (variant == 1) x.replace(contest.change.offset, contest.change.bytes.size(), contest.change.bytes);
    std::string y(contest.sides[0].plan.buffers[1].bytes, '\0');
    for (size_t i = 0; i + 4 <= y.size(); i += 4) {
      int32_t value;
      std::memcpy(&value, x.data() + i, 4);
      bool last = i + 4 == y.size();
      value += entry == "t_wrong" && last ? 2 : 1;
      // Kept from the first variant: what a kernel that remembers would do.
      if (entry == "t_remembers" && variant == 1) std::memcpy(&value, contest.contents[0].data() + i, 4), ++value;
      std::memcpy(y.data() + i, &value, 4);
    }
    if (contest.outputs) look.contents = {"", y};
    if (entry == "t_overruns") look.overruns.push_back({1, static_cast<int64_t>(y.size()), 4});
    if (entry == "t_touches") look.changed.push_back(0);
    if (entry == "t_varies") look.unsteady.push_back(1);
    look.poisoned = entry == "t_unwritten";
    return look;
  }

  gpu::Epoch epoch(const std::string& a, const std::string& b) {
    gpu::Epoch epoch;
    double placement = std::exp((b == "unsteady" ? 0.08 : 0.001) * random_.normal());
    for (int i = 0; i < 8; ++i) {
      gpu::Pair pair;
      pair.microseconds[0] = static_cast<float>(time_of(a) * std::exp(0.003 * random_.normal()));
      double own = time_of(b) * placement;
      if (b == "turns_slow") own *= executions_ < 60 ? 0.9 : 1.1;
      pair.microseconds[1] = static_cast<float>(own * std::exp(0.003 * random_.normal()));
      pair.mhz = {1980, b == "throttles" ? 1500.0F : 1980.0F};
      epoch.pairs.push_back(pair);
      ++executions_;
    }
    epoch.after.celsius = 45, epoch.after.watts = 350;
    if (b == "heats") epoch.after.throttle = 0x40;
    return epoch;
  }

  gpu::Hello hello_;
  std::optional<gpu::Contest> contest_;
  uint64_t executions_ = 0;
  base::Random random_{3};
};

}  // namespace ptxlab::judge
