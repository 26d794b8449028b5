// Every buffer lies between two guards of one allocation, all filled with the job's poison before its content comes: what a
// kernel writes beyond an end is seen, and what it reads beyond is poison and no neighbour's right answer.
#include "gpu/worker/session.h"

#include <algorithm>
#include <cstring>

namespace ptxlab::gpu {
namespace {

using launch::ResolvedBuffer;

constexpr uint64_t kAlignment = 512;  // of a buffer's start, as cudaMalloc gives or better

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Done ended(Done::End end, std::string message, uint32_t launch = 0) {
  Done done;
  done.end = end;
  done.message = std::move(message);
  done.launch = launch;
  return done;
}

class Session {
 public:
  Session(Device& device, const Job& job) : device_(device), job_(job), guard_(rounded(job.guard)) {}
  ~Session() {
    for (Address at : allocations_) device_.release(at);
  }

  Done run() {
    if (auto why = device_.load(job_.code)) return ended(Done::End::refused, *why);
    for (const auto& buffer : job_.plan.buffers) {
      Address at = 0;
      if (auto why = device_.allocate(size_of(buffer), at)) return ended(Done::End::out_of_memory, *why);
      allocations_.push_back(at);
    }
    if (auto why = prepare()) return ended(Done::End::trouble, *why);
    device_.begin_clock();
    for (uint32_t n = 0; n < job_.launches; ++n) {
      for (uint32_t i = 0; i < job_.plan.launches.size(); ++i) {
        if (auto why = launch(job_.plan.launches[i])) return ended(Done::End::faulted, *why, i);
      }
    }
    device_.end_clock();
    if (auto why = device_.wait())
      return ended(Done::End::faulted, *why, job_.plan.launches.size() == 1 ? 0 : kUnknown);
    Done done = ended(Done::End::executed, "");
    done.milliseconds = device_.milliseconds();
    if (auto why = collect(done)) return ended(Done::End::faulted, *why, kUnknown);
    return done;
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;  // faults come late: several launches were queued

  uint64_t size_of(const ResolvedBuffer& buffer) const { return guard_ + rounded(buffer.bytes) + guard_; }
  Address start_of(size_t buffer) const { return allocations_[buffer] + guard_; }

  Trouble prepare() {
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      if (auto why = device_.fill(allocations_[i], job_.poison, size_of(buffer))) return why;
      if (buffer.bytes == 0) continue;
      Trouble why;
      switch (buffer.init) {
        case ResolvedBuffer::Init::poison: break;
        case ResolvedBuffer::Init::zero: why = device_.fill(start_of(i), 0, buffer.bytes); break;
        case ResolvedBuffer::Init::data:
          if (job_.contents[i].size() != buffer.bytes) return "the content of '" + buffer.name + "' has another size";
          why = device_.write(start_of(i), job_.contents[i]);
          break;
      }
      if (why) return why;
    }
    for (const auto& symbol : job_.plan.symbols) {
      if (auto why = fill_variable(symbol)) return "the variable '" + symbol.name + "': " + *why;
    }
    return device_.wait();
  }

  // From its buffer as it is before the first launch, or from bytes into which addresses go.
  Trouble fill_variable(const launch::ResolvedSymbol& symbol) {
    std::string bytes(symbol.value.begin(), symbol.value.end());
    if (symbol.buffer != launch::ResolvedSymbol::kNoBuffer) {
      bytes.resize(symbol.bytes);
      if (auto why = device_.read(start_of(symbol.buffer) + symbol.addend, bytes)) return why;
    }
    for (const auto& pointer : symbol.pointers) {
      uint64_t address = start_of(pointer.buffer) + pointer.addend;
      std::memcpy(bytes.data() + pointer.offset, &address, sizeof address);
    }
    Address at = 0;
    uint64_t room = 0;
    if (auto why = device_.variable(symbol.name, at, room)) return why;
    if (bytes.size() > room)
      return "it has " + std::to_string(room) + " bytes, " + std::to_string(bytes.size()) + " are given";
    return device_.write(at, bytes);
  }

  Trouble launch(const launch::ResolvedLaunch& launch) {
    std::vector<uint8_t> parameters = launch.parameters;
    for (const auto& pointer : launch.pointers) {
      uint64_t address = start_of(pointer.buffer) + pointer.addend;
      std::memcpy(parameters.data() + pointer.offset, &address, sizeof address);
    }
    return device_.launch(launch, parameters);
  }

  // Buffers with their guards come back whole: the ends of what is rounded up belong to the guard behind.
  Trouble collect(Done& done) {
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      std::string whole(size_of(buffer), '\0');
      if (auto why = device_.read(allocations_[i], whole)) return why;
      Overrun overrun{static_cast<uint32_t>(i), 0, 0};
      auto look = [&](uint64_t from, uint64_t to) {
        for (uint64_t at = from; at < to; ++at) {
          if (static_cast<uint8_t>(whole[at]) == job_.poison) continue;
          if (overrun.bytes++ == 0) overrun.offset = static_cast<int64_t>(at) - static_cast<int64_t>(guard_);
        }
      };
      look(0, guard_);
      look(guard_ + buffer.bytes, whole.size());
      if (overrun.bytes > 0) done.overruns.push_back(overrun);
      done.contents.push_back(whole.substr(guard_, buffer.bytes));
    }
    return std::nullopt;
  }

  Device& device_;
  const Job& job_;
  uint64_t guard_;
  std::vector<Address> allocations_;
};

}  // namespace

Done execute(Device& device, const Job& job) { return Session(device, job).run(); }

}  // namespace ptxlab::gpu
