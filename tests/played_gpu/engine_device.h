// A GPU that is played by the CPU engine: it executes PTX for real, in a time that is made up from what was executed. So all but
// the driver is tested where there is no GPU: the worker, its stopwatch, the gates that judge by it, and the commands above.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "gpu/worker/device.h"
#include "ptx/module.h"
#include "simt/engine.h"

namespace ptxlab::played {

// How its clock behaves.
struct Manners {
  bool drift = false;                              // the whole GPU grows slower and faster again, by 3 %
  bool throttle = false;                           // after a while it is hot: slower by a third, and its sensors say so
  bool spikes = false;                             // every twentieth launch takes three times as long
  bool restless = false;                           // each launch takes up to a fifth more or less
  static Manners named(const std::string& words);  // "drift,spikes"
};

class EngineDevice : public gpu::Device {
 public:
  explicit EngineDevice(Manners manners) : manners_(manners) {}

  gpu::Hello hello() const override;
  gpu::Trouble load(gpu::Arm slot, std::string_view code) override;
  gpu::Trouble variable(gpu::Arm slot, const std::string& name, gpu::Address& at, uint64_t& bytes) override;
  gpu::Trouble allocate(uint64_t bytes, gpu::Address& at) override;
  void release(gpu::Address at) override;
  uint64_t free_memory() const override;
  gpu::Trouble fill(gpu::Address at, uint8_t value, uint64_t bytes) override;
  gpu::Trouble copy(gpu::Address to, gpu::Address from, uint64_t bytes) override;
  gpu::Trouble write(gpu::Address at, std::string_view bytes) override;
  gpu::Trouble read(gpu::Address at, std::span<char> into) override;
  gpu::Trouble launch(gpu::Arm slot, const launch::ResolvedLaunch& launch,
                      std::span<const uint8_t> parameters) override;
  gpu::LaunchLimits limits(gpu::Arm, const launch::ResolvedLaunch&) override { return {}; }
  gpu::Trouble encode(const launch::ResolvedTensorMap&, gpu::Address, gpu::TensorMapBytes&) override {
    return "CUDA_ERROR_NOT_SUPPORTED: the engine executes no tensor maps";
  }
  gpu::Trouble wait() override { return fault_; }
  gpu::Trouble mark(Mark mark) override;
  double microseconds() override { return marks_[1] - marks_[0]; }
  gpu::Trouble hold() override;
  void go() override {}
  gpu::Trouble read_clock() override;
  std::optional<std::array<gpu::ClockReading, 2>> readings() override { return readings_; }
  gpu::Trouble begin_digest() override;
  gpu::Trouble add_digest(gpu::Address at, uint64_t bytes, uint64_t first, uint64_t key) override;
  gpu::Trouble end_digest(uint64_t& sum) override;
  gpu::Trouble add_unlike(gpu::Address at, uint64_t words, uint8_t value) override;
  gpu::Trouble project(gpu::Address at, uint64_t count, gpu::Element type, uint64_t key,
                       gpu::Projection& into) override;
  uint64_t l2_bytes() const override { return 1 << 16; }
  gpu::Trouble forget_persisting() override { return std::nullopt; }
  gpu::Sensors sensors() override;

 private:
  struct Module {
    ptx::Module text;  // outlives the program
    std::unique_ptr<simt::Program> program;
    std::vector<std::string> variables;           // by the number in their made-up address
    std::map<std::string, std::string> contents;  // what was written to them
  };
  // The bytes at an address; empty: nobody's.
  std::span<uint8_t> bytes_at(gpu::Address at, uint64_t bytes);
  double pace();  // of the launch that begins now
  gpu::ClockReading reading() const;

  Manners manners_;
  base::Random random_{11};
  std::unique_ptr<simt::Engine> engine_ = simt::make_simt_engine();
  simt::Memory memory_{5};
  std::vector<bool> free_;  // by allocation of `memory_`
  std::array<std::unique_ptr<Module>, gpu::kArms> modules_;
  gpu::Trouble fault_;  // once there is one, all that follows fails
  double time_ = 0;     // microseconds
  uint64_t launches_ = 0, sum_ = 0;
  std::array<double, 2> marks_{};
  std::array<gpu::ClockReading, 2> readings_{};
};

}  // namespace ptxlab::played
