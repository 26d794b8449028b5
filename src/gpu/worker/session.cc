// Every buffer lies between two guards of one allocation, all filled with the job's poison before its content comes: what a
// kernel writes beyond an end is seen, and what it reads beyond is poison and no neighbour's right answer.
#include "gpu/worker/session.h"

#include "gpu/worker/placed_plan.h"

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
    if (auto why = job_.keep_module ? std::nullopt : device_.load(Arm::a, job_.code))
      return ended(Done::End::refused, *why);
    for (const auto& buffer : job_.plan.buffers) {
      Address at = 0;
      if (auto why = device_.allocate(size_of(buffer), at)) return ended(Done::End::out_of_memory, *why);
      allocations_.push_back(at);
      starts_.push_back(at + guard_);
    }
    if (auto why = prepare()) return ended(Done::End::trouble, *why);
    device_.mark(Device::Mark::begin);
    for (uint32_t n = 0; n < job_.launches; ++n) {
      uint32_t failed = 0;
      if (auto why = queue_launches(device_, Arm::a, placed(), failed)) return ended(Done::End::faulted, *why, failed);
    }
    device_.mark(Device::Mark::end);
    if (auto why = device_.wait())
      return ended(Done::End::faulted, *why, job_.plan.launches.size() == 1 ? 0 : kUnknown);
    Done done = ended(Done::End::executed, "");
    done.milliseconds = device_.microseconds() / 1000;
    if (auto why = collect(done)) return ended(Done::End::faulted, *why, kUnknown);
    return done;
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;  // faults come late: several launches were queued

  uint64_t size_of(const ResolvedBuffer& buffer) const { return guard_ + rounded(buffer.bytes) + guard_; }
  PlacedPlan placed() const { return {job_.plan, starts_}; }

  Trouble prepare() {
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      if (auto why = device_.fill(allocations_[i], job_.poison, size_of(buffer))) return why;
      if (buffer.bytes == 0) continue;
      Trouble why;
      switch (buffer.init) {
        case ResolvedBuffer::Init::poison: break;
        case ResolvedBuffer::Init::zero: why = device_.fill(starts_[i], 0, buffer.bytes); break;
        case ResolvedBuffer::Init::data:
          if (job_.contents[i].size() != buffer.bytes) return "the content of '" + buffer.name + "' has another size";
          why = device_.write(starts_[i], job_.contents[i]);
          break;
      }
      if (why) return why;
    }
    if (auto why = fill_variables(device_, Arm::a, placed())) return why;
    return device_.wait();
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
  std::vector<Address> allocations_, starts_;
};

}  // namespace

Done execute(Device& device, const Job& job) { return Session(device, job).run(); }

}  // namespace ptxlab::gpu
