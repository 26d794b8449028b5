// Every buffer lies between two guards of one allocation, all filled with the job's poison before its content comes: what a
// kernel writes beyond an end is seen, and what it reads beyond is poison and no neighbour's right answer.
#include "gpu/worker/session.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "gpu/worker/placed_plan.h"

namespace ptxlab::gpu {
namespace {

using launch::ResolvedBuffer;

Done ended(Done::End end, std::string message, uint32_t launch = 0) {
  Done done;
  done.end = end;
  done.message = std::move(message);
  done.launch = launch;
  return done;
}

// All of it equals the poison.
bool untouched(std::string_view bytes, uint8_t poison) {
  return bytes.empty() || (static_cast<uint8_t>(bytes[0]) == poison &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

class Session {
 public:
  Session(Device& device, Arena& arena, const Job& job)
      : device_(device), arena_(arena), job_(job), guard_(aligned(job.guard)) {}

  Done run() {
    if (auto why = job_.keep_module ? std::nullopt : device_.load(Arm::a, job_.code))
      return ended(Done::End::refused, *why);
    for (const auto& buffer : job_.plan.buffers) {
      places_.push_back(bytes_ + guard_);
      bytes_ += guard_ + aligned(buffer.bytes) + guard_;
    }
    if (auto why = arena_.take(bytes_, job_.poison, begin_)) return ended(Done::End::out_of_memory, *why);
    for (uint64_t place : places_) starts_.push_back(begin_ + place);
    if (auto why = encode_maps(device_, job_.plan, starts_, maps_)) return ended(Done::End::trouble, *why);
    if (auto why = prepare()) return ended(Done::End::trouble, *why);
    device_.mark(Device::Mark::begin);
    for (uint32_t n = 0; n < job_.launches; ++n) {
      uint32_t failed = 0;
      if (auto why = n > 0 ? zero_scratch() : std::nullopt) return ended(Done::End::trouble, *why);
      if (auto why = queue_launches(device_, Arm::a, placed(), failed)) return refused(*why, failed);
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

  PlacedPlan placed() const { return {job_.plan, starts_, maps_}; }

  // What a launch is answered with may be the fault of one before it, which the device then repeats.
  Done refused(const std::string& why, uint32_t launch) {
    if (auto fault = device_.wait()) return ended(Done::End::faulted, *fault, kUnknown);
    return ended(Done::End::unlaunched, why, launch);
  }

  Trouble prepare() {
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      if (buffer.bytes == 0 || buffer.init == ResolvedBuffer::Init::poison) continue;
      const bool data = buffer.init == ResolvedBuffer::Init::data;
      if (data && job_.contents[i].size() != buffer.bytes)
        return "the content of '" + buffer.name + "' has another size";
      if (auto why = data ? device_.write(starts_[i], job_.contents[i]) : device_.fill(starts_[i], 0, buffer.bytes))
        return why;
    }
    return fill_variables(device_, Arm::a, placed());
  }

  // Zeroed scratch is zero whenever the plan begins.
  Trouble zero_scratch() {
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      if (buffer.role != ResolvedBuffer::Role::scratch || buffer.init != ResolvedBuffer::Init::zero) continue;
      if (auto why = device_.fill(starts_[i], 0, buffer.bytes)) return why;
    }
    return std::nullopt;
  }

  // Guards are looked at where they lie; they come over only where something was written to them. What is rounded up belongs to
  // the guard behind.
  Trouble collect(Done& done) {
    bool clean = false;
    if (auto why = look_between(clean)) return why;
    for (uint32_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      std::string content(clean ? whole_words(buffer.bytes) : guard_ + aligned(buffer.bytes) + guard_, '\0');
      if (auto why = content.empty() ? std::nullopt : device_.read(starts_[i] - (clean ? 0 : guard_), content))
        return why;
      look_at_guards(done, i, content, clean ? 0 : guard_, buffer.bytes);
      done.contents.push_back(clean ? std::move(content) : content.substr(guard_));
      done.contents.back().resize(buffer.bytes);
    }
    return std::nullopt;
  }

  static uint64_t whole_words(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

  // All that lies before, between and behind the buffers' words, on the GPU.
  Trouble look_between(bool& clean) {
    if (auto why = device_.begin_digest()) return why;
    Address from = begin_;
    for (size_t i = 0; i <= job_.plan.buffers.size(); ++i) {
      const bool last = i == job_.plan.buffers.size();
      const Address to = last ? begin_ + bytes_ : starts_[i];
      if (auto why = to > from ? device_.add_unlike(from, (to - from) / 8, job_.poison) : std::nullopt) return why;
      if (!last) from = starts_[i] + whole_words(job_.plan.buffers[i].bytes);
    }
    uint64_t unlike = 0;
    auto why = device_.end_digest(unlike);
    clean = unlike == 0;
    return why;
  }

  // `whole`: `before` bytes of guard, the buffer's, and what came of the guard behind.
  void look_at_guards(Done& done, uint32_t buffer, std::string_view whole, uint64_t before, uint64_t bytes) const {
    Overrun overrun{buffer, 0, 0};
    for (auto [from, to] : {std::pair<uint64_t, uint64_t>{0, before}, {before + bytes, whole.size()}}) {
      if (untouched(whole.substr(from, to - from), job_.poison)) continue;
      for (uint64_t at = from; at < to; ++at) {
        if (static_cast<uint8_t>(whole[at]) == job_.poison) continue;
        if (overrun.bytes++ == 0) overrun.offset = static_cast<int64_t>(at) - static_cast<int64_t>(before);
      }
    }
    if (overrun.bytes > 0) done.overruns.push_back(overrun);
  }

  Device& device_;
  Arena& arena_;
  const Job& job_;
  uint64_t guard_, bytes_ = 0;
  Address begin_ = 0;
  std::vector<uint64_t> places_;  // of buffers, from the beginning
  std::vector<Address> starts_;
  std::vector<TensorMapBytes> maps_;
};

}  // namespace

Done execute(Device& device, Arena& arena, const Job& job) { return Session(device, arena, job).run(); }

}  // namespace ptxlab::gpu
