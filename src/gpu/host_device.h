// For tests: a device of host memory whose kernels are functions by the entry's name, and whose time is made up: each launch
// takes what its entry costs, stretched by what `stretch` says at that moment (drift, throttling, spikes).
#pragma once
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/element_value.h"
#include "gpu/worker/device.h"
#include "gpu/worker/digest.h"

namespace ptxlab::gpu {

class HostDevice : public Device {
 public:
  using Kernel = std::function<Trouble(std::span<const uint8_t>)>;
  std::map<std::string, Kernel> kernels;
  std::map<std::string, double> costs;    // microseconds by entry; 10 where none is given
  std::function<double(double)> stretch;  // of what is launched at this moment (microseconds)
  std::function<double(double)> clock = [](double) { return 1980.0; };  // MHz
  Sensors now;
  uint64_t room = 1 << 24;
  std::map<Address, std::unique_ptr<char[]>> memory;  // by start; real addresses, so that kernels just write
  std::map<Address, uint64_t> sizes;
  int loads = 0, launches = 0, forgotten = 0;
  bool held = false;
  double time = 0;                          // microseconds since the beginning
  std::string taps = std::string(8, '\0');  // every module's one variable
  Trouble late;                             // what the next wait says
  LaunchLimits most;                        // what is said about launches
  bool knows_maps = true;
  int maps = 0;  // encoded so far

  Hello hello() const override { return {}; }
  Trouble load(Arm, std::string_view code) override {
    ++loads;
    return code == "broken" ? Trouble("CUDA_ERROR_INVALID_PTX\nline 3: no") : std::nullopt;
  }
  Trouble variable(Arm, const std::string& name, Address& at, uint64_t& bytes) override {
    at = reinterpret_cast<Address>(taps.data());
    bytes = taps.size();
    return name == "taps" ? std::nullopt : Trouble("CUDA_ERROR_NOT_FOUND");
  }
  Trouble allocate(uint64_t bytes, Address& at) override {
    if (bytes > room) return "CUDA_ERROR_OUT_OF_MEMORY";
    room -= bytes;
    auto block = std::make_unique<char[]>(bytes);
    at = reinterpret_cast<Address>(block.get());
    sizes[at] = bytes;
    memory.emplace(at, std::move(block));
    return std::nullopt;
  }
  void release(Address at) override {
    room += sizes.at(at);
    sizes.erase(at);
    memory.erase(at);
  }
  uint64_t free_memory() const override { return room; }
  Trouble fill(Address at, uint8_t value, uint64_t bytes) override {
    std::memset(reinterpret_cast<void*>(at), value, bytes);
    return std::nullopt;
  }
  Trouble copy(Address to, Address from, uint64_t bytes) override {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return std::nullopt;
  }
  Trouble write(Address at, std::string_view bytes) override {
    std::memcpy(reinterpret_cast<void*>(at), bytes.data(), bytes.size());
    return std::nullopt;
  }
  Trouble read(Address at, std::span<char> into) override {
    std::memcpy(into.data(), reinterpret_cast<void*>(at), into.size());
    return std::nullopt;
  }
  Trouble launch(Arm, const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) override {
    ++launches;
    double cost = costs.contains(launch.entry) ? costs.at(launch.entry) : 10;
    time += cost * (stretch ? stretch(time) : 1);
    return kernels.at(launch.entry)(parameters);
  }
  LaunchLimits limits(Arm, const launch::ResolvedLaunch&) override { return most; }
  // Address, then the innermost dimension: enough for a kernel to go by.
  Trouble encode(const launch::ResolvedTensorMap& map, Address at, TensorMapBytes& into) override {
    if (!knows_maps) return "the driver is too old for tensor maps";
    ++maps;
    into.fill(0);
    std::memcpy(into.data(), &at, sizeof at);
    std::memcpy(into.data() + sizeof at, map.dims.data(), sizeof(uint64_t));
    return std::nullopt;
  }
  Trouble wait() override { return late; }

  Trouble mark(Mark mark) override {
    marks_.at(static_cast<size_t>(mark)) = time;
    return std::nullopt;
  }
  double microseconds() override { return marks_[1] - marks_[0]; }
  Trouble hold() override {
    held = true;
    readings_[0] = reading();
    return std::nullopt;
  }
  void go() override { held = false; }
  Trouble read_clock() override {
    readings_[1] = reading();
    return std::nullopt;
  }
  std::optional<std::array<ClockReading, 2>> readings() override { return readings_; }

  Trouble begin_digest() override {
    sum_ = 0;
    return std::nullopt;
  }
  Trouble add_digest(Address at, uint64_t bytes, uint64_t first, uint64_t key) override {
    sum_ += digest({reinterpret_cast<const char*>(at), bytes}, first, key);
    return std::nullopt;
  }
  Trouble add_unlike(Address at, uint64_t words, uint8_t value) override {
    sum_ += unlike({reinterpret_cast<const char*>(at), 8 * words}, value);
    return std::nullopt;
  }
  Trouble end_digest(uint64_t& sum) override {
    sum = sum_;
    return std::nullopt;
  }
  Trouble project(Address at, uint64_t count, Element type, uint64_t key, Projection& into) override {
    into =
        gpu::project(count, key, [&](uint64_t i) { return element_value(type, reinterpret_cast<const void*>(at), i); });
    return std::nullopt;
  }
  uint64_t l2_bytes() const override { return 1 << 16; }
  Trouble forget_persisting() override {
    ++forgotten;
    return std::nullopt;
  }
  Sensors sensors() override { return now; }

 private:
  ClockReading reading() {
    cycles_ += clock(time) * (time - seen_);
    seen_ = time;
    return {static_cast<uint64_t>(cycles_), static_cast<uint64_t>(time * 1000), 0};
  }
  std::array<double, 2> marks_{};
  std::array<ClockReading, 2> readings_{};
  double cycles_ = 0, seen_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace ptxlab::gpu
