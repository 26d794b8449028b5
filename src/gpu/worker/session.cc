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
  static constexpr uint32_t kUnknown = UINT32_MAX;            // faults come late: several launches were queued
  static constexpr uint64_t kInOnePiece = uint64_t{4} << 20;  // so much goes over and comes back as one

  PlacedPlan placed() const { return {job_.plan, starts_, maps_}; }

  // What a launch is answered with may be the fault of one before it, which the device then repeats.
  Done refused(const std::string& why, uint32_t launch) {
    if (auto fault = device_.wait()) return ended(Done::End::faulted, *fault, kUnknown);
    return ended(Done::End::unlaunched, why, launch);
  }

  Trouble prepare() {
    const bool one_piece = bytes_ <= kInOnePiece;
    std::string image(one_piece ? bytes_ : 0, static_cast<char>(job_.poison));
    for (size_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      if (buffer.bytes == 0 || buffer.init == ResolvedBuffer::Init::poison) continue;
      const bool data = buffer.init == ResolvedBuffer::Init::data;
      if (data && job_.contents[i].size() != buffer.bytes)
        return "the content of '" + buffer.name + "' has another size";
      if (one_piece) {
        if (data) job_.contents[i].copy(image.data() + places_[i], buffer.bytes);
        if (!data) std::memset(image.data() + places_[i], 0, buffer.bytes);
        continue;
      }
      if (auto why = data ? device_.write(starts_[i], job_.contents[i]) : device_.fill(starts_[i], 0, buffer.bytes))
        return why;
    }
    if (one_piece && bytes_ > 0) {
      if (auto why = device_.write(begin_, image)) return why;
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

  // Buffers with their guards come back whole: the ends of what is rounded up belong to the guard behind.
  Trouble collect(Done& done) {
    std::string image, one;
    if (bytes_ <= kInOnePiece && bytes_ > 0) {
      image.resize(bytes_);
      if (auto why = device_.read(begin_, image)) return why;
    }
    for (uint32_t i = 0; i < job_.plan.buffers.size(); ++i) {
      const auto& buffer = job_.plan.buffers[i];
      const uint64_t size = guard_ + aligned(buffer.bytes) + guard_;
      std::string_view whole;
      if (image.empty()) {
        one.resize(size);
        if (auto why = device_.read(starts_[i] - guard_, one)) return why;
        whole = one;
      } else {
        whole = std::string_view(image).substr(places_[i] - guard_, size);
      }
      look_at_guards(done, i, whole, buffer.bytes);
      done.contents.emplace_back(whole.substr(guard_, buffer.bytes));
    }
    return std::nullopt;
  }

  void look_at_guards(Done& done, uint32_t buffer, std::string_view whole, uint64_t bytes) const {
    Overrun overrun{buffer, 0, 0};
    for (auto [from, to] : {std::pair<uint64_t, uint64_t>{0, guard_}, {guard_ + bytes, whole.size()}}) {
      if (untouched(whole.substr(from, to - from), job_.poison)) continue;
      for (uint64_t at = from; at < to; ++at) {
        if (static_cast<uint8_t>(whole[at]) == job_.poison) continue;
        if (overrun.bytes++ == 0) overrun.offset = static_cast<int64_t>(at) - static_cast<int64_t>(guard_);
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
