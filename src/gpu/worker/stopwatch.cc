#include "gpu/worker/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "base/random.h"
#include "gpu/worker/stage.h"

namespace ptxlab::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBatchBelow = 20;    // microseconds: kernels under this are timed in batches
constexpr double kBatchLength = 96;   // microseconds that a batch should last
constexpr uint32_t kBatchMost = 32;   // executions
constexpr uint32_t kSetsMost = 8;     // where no batch asks for more
constexpr double kMemoryShare = 0.4;  // of the free device memory
constexpr size_t kProjectionKeys = 4;
// Two launches within their elements' bounds are further apart in a projection than this many times the bounds' root of
// squares less than once in 10^8: each may be off by the bounds, hence the root of two.
constexpr double kSigmas = 8.5;        // 6 sqrt(2)
constexpr size_t kKeys = 16;           // digests are kept under so many keys
constexpr uint64_t kTimedGuard = 512;  // bytes between buffers while time is taken; looks have the contest's guard
constexpr auto kWarmUp = std::chrono::milliseconds(30);
// Timed launches find the first in their outputs; what they leave unwritten is then the same each time.
constexpr uint8_t kPoisons[] = {0xa5, 0x5a};
constexpr uint32_t kNoPair = UINT32_MAX;  // a mismatch outside the timed pairs

// Thrown through the few levels of this file, never out of it: who failed, and how.
struct Failure {
  Done::End end;
  Arm arm;
  std::string message;
};

void must(const Trouble& trouble, Done::End end, Arm arm = Arm::a) {
  if (trouble) throw Failure{end, arm, *trouble};
}

// Pairs an epoch for kernels of this time: measured on an H200, more of them made no interval narrower that mattered
// (docs/measuring.md), and a comparison stays under half a second.
uint32_t pairs_for(double microseconds) {
  if (microseconds <= 300) return 12;
  if (microseconds <= 700) return 6;
  return microseconds <= 20'000 ? 3 : 2;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

class Stopwatch::Contestants {
 public:
  Contestants(Device& device, Contest contest)
      : device_(device), contest_(std::move(contest)), stage_(device, contest_), random_(contest_.seed) {
    for (auto& key : keys_) key = uint64_t{unforeseen_()} << 32 | unforeseen_();
    for (uint32_t i = 0; i < contest_.shared; ++i) {
      const auto& buffer = stage_.shared()[i];
      if (buffer.role != launch::ResolvedBuffer::Role::in && buffer.bytes > 0) outputs_.push_back(i);
    }
    l2_ = std::max<uint64_t>(device_.l2_bytes(), 1 << 20);
  }
  ~Contestants() {
    if (flushed_) device_.release(flushed_);
  }

  Opened open() {
    try {
      for (Arm arm : {Arm::a, Arm::b}) must(stage_.load(arm), Done::End::refused, arm);
      must(device_.allocate(2 * l2_, flushed_), Done::End::out_of_memory);
      must(stage_.upload(), Done::End::out_of_memory);
      look_at_all();
      choose_sizes();
      opened_.end = Done::End::executed;
    } catch (const Failure& failure) {
      opened_ = {};
      opened_.end = failure.end;
      opened_.arm = failure.arm;
      opened_.message = failure.message;
    }
    Opened told = std::move(opened_);
    opened_.looks = {};
    opened_.batch = told.batch, opened_.sets = told.sets, opened_.pairs = told.pairs;
    return told;
  }

  Measured measure(const MeasureRequest& request) {
    Measured measured;
    apart_ = request.apart;
    try {
      for (uint32_t e = 0; e < request.epochs; ++e) measured.epochs.push_back(epoch(e, measured));
      measured.end = Done::End::executed;
    } catch (const Failure& failure) {
      measured.end = failure.end;
      measured.arm = failure.arm;
      measured.message = failure.message;
    }
    return measured;
  }

 private:
  struct Timing {
    double microseconds = 0, mhz = 0;
  };
  size_t variants() const { return contest_.change.bytes.empty() ? 1 : kVariants; }

  // --- looking -----------------------------------------------------------------------------------------------------------
  void look_at_all() {
    must(stage_.lay_out(1, contest_.guard, random_), Done::End::out_of_memory);
    for (uint8_t v = 0; v < variants(); ++v) {
      for (Arm arm : {Arm::a, Arm::b}) look(arm, v);
    }
  }

  // Two executions by their digests, the second on another poison; then one that should repeat the first, whose outputs come
  // back whole with their guards: timed launches are held against this one.
  void look(Arm arm, uint8_t variant) {
    auto& look = opened_.looks.at(static_cast<size_t>(arm)).at(variant);
    look_once(arm, variant, kPoisons[0], look);
    std::vector<uint64_t> first = digests(arm, keys_[0]);
    look_once(arm, variant, kPoisons[1], look);
    std::vector<uint64_t> elsewhere = digests(arm, keys_[0]);
    look_once(arm, variant, kPoisons[0], look);
    std::vector<uint64_t> again = digests(arm, keys_[0]);
    for (uint32_t i : outputs_) {
      if (first[i] == again[i]) {
        look.poisoned |= elsewhere[i] != first[i];
      } else {
        look.unsteady.push_back(i);
        unsteady_.at(static_cast<size_t>(arm)).insert(i);
      }
    }
    auto& expected = expected_.at(static_cast<size_t>(arm)).at(variant);
    for (size_t k = 0; k < kKeys; ++k) expected.digests.at(k) = digests(arm, keys_.at(k));
    for (uint32_t i : outputs_) {
      if (stage_.element(i) == Element::exact) continue;
      for (size_t k = 0; k < kProjectionKeys; ++k)
        must(stage_.project(0, i, keys_.at(k), expected.projections[i].at(k)), Done::End::faulted, arm);
    }
    look_at_guards(look, arm);
    look.as_a = arm == Arm::b && expected.digests == expected_[0].at(variant).digests;
    if (contest_.outputs && !look.as_a) fetch(look, arm);
  }

  void look_once(Arm arm, uint8_t variant, uint8_t poison, Opened::Look& look) {
    must(stage_.fill_all(poison), Done::End::trouble, arm);
    must(stage_.place_inputs(0), Done::End::trouble, arm);
    must(stage_.prepare(arm, 0, variant, poison), Done::End::trouble, arm);
    const uint64_t before = inputs_digest(0, keys_[0]);
    inputs_expected_.at(variant) = before;
    run(arm, 0);
    if (inputs_digest(0, keys_[0]) != before) note_changed(look, arm, variant);
  }

  void note_changed(Opened::Look& look, Arm arm, uint8_t variant) {
    look.changed.clear();
    for (uint32_t i = 0; i < contest_.shared; ++i) {
      const auto& buffer = stage_.shared()[i];
      if (buffer.role != launch::ResolvedBuffer::Role::in || contest_.contents[i].empty()) continue;
      std::string now(buffer.bytes, '\0'), content(contest_.contents[i]);
      must(device_.read(stage_.shared_at(0, i), now), Done::End::faulted, arm);
      if (variant == 1 && i == contest_.change.buffer)
        content.replace(contest_.change.offset, contest_.change.bytes.size(), contest_.change.bytes);
      if (now != content) look.changed.push_back(i);
    }
  }

  void look_at_guards(Opened::Look& look, Arm arm) {
    const auto& buffers = stage_.side(arm).plan.buffers;
    std::string zone(contest_.guard, '\0');
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      Overrun overrun{i, 0, 0};
      const int64_t starts[] = {-static_cast<int64_t>(contest_.guard), static_cast<int64_t>(buffers[i].bytes)};
      for (int64_t start : starts) {
        must(device_.read(stage_.buffer_at(arm, 0, i) + static_cast<uint64_t>(start), zone), Done::End::faulted, arm);
        for (size_t at = 0; at < zone.size(); ++at) {
          if (static_cast<uint8_t>(zone[at]) == kPoisons[0]) continue;
          if (overrun.bytes++ == 0) overrun.offset = start + static_cast<int64_t>(at);
        }
      }
      if (overrun.bytes > 0) look.overruns.push_back(overrun);
    }
  }

  void fetch(Opened::Look& look, Arm arm) {
    look.contents.resize(contest_.shared);
    for (size_t i = 0; i < contest_.shared; ++i) {
      const auto& buffer = stage_.shared()[i];
      if (buffer.role == launch::ResolvedBuffer::Role::in) continue;
      Trouble why;
      auto content = base::Blob::made(buffer.bytes, [&](std::span<char> into) {
        why = device_.read(stage_.shared_at(0, i), into);
        return !why;
      });
      must(why, Done::End::faulted, arm);
      if (!content) must("there is no memory for what '" + buffer.name + "' holds", Done::End::trouble, arm);
      look.contents[i] = std::move(*content);
    }
  }

  void run(Arm arm, uint32_t set) {
    uint32_t failed = 0;
    must(stage_.execute(arm, set, failed), Done::End::faulted, arm);
    must(device_.wait(), Done::End::faulted, arm);
  }

  // Of set 0, by shared buffer; 0 for inputs.
  std::vector<uint64_t> digests(Arm arm, uint64_t key) {
    std::vector<uint64_t> sums(contest_.shared);
    for (uint32_t i : outputs_) {
      must(device_.begin_digest(), Done::End::faulted, arm);
      must(stage_.add_digest(0, i, key), Done::End::faulted, arm);
      must(device_.end_digest(sums[i]), Done::End::faulted, arm);
    }
    return sums;
  }
  uint64_t inputs_digest(uint32_t set, uint64_t key) {
    uint64_t sum = 0;
    must(device_.begin_digest(), Done::End::faulted, Arm::b);
    must(stage_.digest_inputs(set, key), Done::End::faulted, Arm::b);
    must(device_.end_digest(sum), Done::End::faulted, Arm::b);
    return sum;
  }

  // --- sizes -------------------------------------------------------------------------------------------------------------
  void choose_sizes() {
    auto until = Clock::now() + kWarmUp;
    do {
      for (Arm arm : {Arm::a, Arm::b}) {
        must(stage_.prepare(arm, 0, 0, kPoisons[0]), Done::End::trouble, arm);
        run(arm, 0);
      }
    } while (Clock::now() < until);
    opened_.event_overhead = overhead();
    const uint32_t only[] = {0};
    for (Arm arm : {Arm::a, Arm::b}) {
      std::vector<double> times;
      for (int n = 0; n < 3; ++n) times.push_back(timed(arm, only, 0).microseconds);
      opened_.microseconds.at(static_cast<size_t>(arm)) = median(times);
    }
    const double shorter = std::min(opened_.microseconds[0], opened_.microseconds[1]);
    const double longer = std::max(opened_.microseconds[0], opened_.microseconds[1]);
    const uint64_t set_bytes = std::max<uint64_t>(stage_.bytes_of_set(kTimedGuard), 1);
    const double room = kMemoryShare * static_cast<double>(device_.free_memory() + set_bytes);
    const auto fitting = static_cast<uint32_t>(std::clamp(room / static_cast<double>(set_bytes), 1.0, 64.0));
    auto sets = static_cast<uint32_t>(std::clamp<uint64_t>(2 * l2_ / set_bytes + 1, 2, kSetsMost));
    uint32_t batch = 1;
    bool alone = std::any_of(contest_.sides.begin(), contest_.sides.end(),
                             [](const auto& side) { return side.reload || !side.plan.symbols.empty(); });
    if (shorter < kBatchBelow && !alone) {
      batch =
          static_cast<uint32_t>(std::clamp(std::ceil(kBatchLength / std::max(shorter, 1.0)), 4.0, 1.0 * kBatchMost));
      batch = std::min(batch, fitting);
      sets = std::max(batch, sets);
    }
    opened_.batch = batch;
    opened_.sets = std::min(sets, fitting);
    opened_.pairs = contest_.pairs ? contest_.pairs : pairs_for(longer);
    opened_.reserved_bytes = static_cast<double>(opened_.sets) * static_cast<double>(set_bytes);
  }

  double overhead() {
    std::vector<double> times;
    for (int n = 0; n < 5; ++n) {
      must(device_.hold(), Done::End::trouble);
      must(device_.mark(Device::Mark::begin), Done::End::trouble);
      must(device_.mark(Device::Mark::end), Done::End::trouble);
      device_.go();
      must(device_.wait(), Done::End::trouble);
      times.push_back(device_.microseconds());
    }
    return median(times);
  }

  // --- time --------------------------------------------------------------------------------------------------------------
  // One timed batch: an execution on each of `sets`.
  Timing timed(Arm arm, std::span<const uint32_t> sets, uint8_t variant) {
    for (uint32_t set : sets) must(stage_.prepare(arm, set, variant, kPoisons[0]), Done::End::trouble, arm);
    must(device_.forget_persisting(), Done::End::trouble, arm);
    must(device_.fill(flushed_, kPoisons[1], 2 * l2_), Done::End::trouble, arm);
    must(device_.hold(), Done::End::trouble, arm);
    must(device_.mark(Device::Mark::begin), Done::End::trouble, arm);
    uint32_t failed = 0;
    Trouble refused;
    for (uint32_t set : sets) {
      if (!refused) refused = stage_.execute(arm, set, failed);
    }
    Trouble rest = device_.mark(Device::Mark::end);
    if (!rest) rest = device_.read_clock();
    device_.go();  // whatever was refused: the queue must not stand still
    must(refused, Done::End::faulted, arm);
    must(rest, Done::End::faulted, arm);
    must(device_.wait(), Done::End::faulted, arm);
    auto clocks = device_.readings();
    if (!clocks)
      throw Failure{Done::End::trouble, arm, "the launches were not queued in time: this machine is too busy"};
    Timing timing;
    timing.microseconds = device_.microseconds() / static_cast<double>(sets.size());
    const auto& [begin, end] = *clocks;
    if (begin.sm == end.sm && end.nanoseconds > begin.nanoseconds)
      timing.mhz = 1e3 * static_cast<double>(end.cycles - begin.cycles) /
                   static_cast<double>(end.nanoseconds - begin.nanoseconds);
    return timing;
  }

  // True: every execution of the batch put out what the looked-at one did. Unsteady outputs are not looked at.
  bool same_bits(Arm arm, std::span<const uint32_t> sets, uint8_t variant) {
    const auto& unsteady = unsteady_.at(static_cast<size_t>(arm));
    size_t k = draw() % kKeys;
    uint64_t sum = 0, expected = 0;
    must(device_.begin_digest(), Done::End::faulted, arm);
    for (uint32_t i : outputs_) {
      if (unsteady.contains(i)) continue;
      expected += sets.size() * expected_.at(static_cast<size_t>(arm)).at(variant).digests.at(k)[i];
      for (uint32_t set : sets) must(stage_.add_digest(set, i, keys_.at(k)), Done::End::faulted, arm);
    }
    must(device_.end_digest(sum), Done::End::faulted, arm);
    return sum == expected;
  }

  // True: the unsteady outputs of every execution lie as near as `apart` allows. False in `any` where none could be judged.
  bool near(Arm arm, std::span<const uint32_t> sets, uint8_t variant, bool& any) {
    size_t k = draw() % kProjectionKeys;
    for (uint32_t i : unsteady_.at(static_cast<size_t>(arm))) {
      const double apart = i < apart_.size() ? apart_[i] : 0;
      if (stage_.element(i) == Element::exact || !(apart > 0)) continue;
      any = true;
      const auto& expected = expected_.at(static_cast<size_t>(arm)).at(variant).projections.at(i).at(k);
      for (uint32_t set : sets) {
        Projection now;
        must(stage_.project(set, i, keys_.at(k), now), Done::End::faulted, arm);
        if (now.unusual != expected.unusual) return false;
        for (size_t s = 0; s < Projection::kSums; ++s) {
          if (!(std::fabs(now.sums.at(s) - expected.sums.at(s)) <= kSigmas * apart)) return false;
        }
      }
    }
    return true;
  }

  // Not by the contest's seed: nobody may foresee which key is next.
  size_t draw() { return static_cast<size_t>(unforeseen_()); }

  void check(Arm arm, std::span<const uint32_t> sets, uint8_t variant, uint32_t epoch, uint32_t pair,
             Measured& measured) {
    const auto& unsteady = unsteady_.at(static_cast<size_t>(arm));
    bool some_steady = unsteady.size() < outputs_.size(), projected = false;
    bool right = (!some_steady || same_bits(arm, sets, variant)) && near(arm, sets, variant, projected);
    if (!right) measured.mismatches.push_back({arm, epoch, pair, variant, false});
    if (some_steady || projected) measured.checked += sets.size();
    if (projected) measured.projected += sets.size();
  }

  Epoch epoch(uint32_t number, Measured& measured) {
    auto start = Clock::now();
    Epoch epoch;
    epoch.before = device_.sensors();
    begin_epoch();
    std::vector<uint32_t> all(stage_.sets());
    for (uint32_t s = 0; s < all.size(); ++s) all[s] = s;
    for (Arm arm : {Arm::a, Arm::b}) {  // the first launch of a module loads its code
      must(stage_.prepare(arm, 0, 0, kPoisons[0]), Done::End::trouble, arm);
      run(arm, 0);
      check(arm, std::span(all).first(1), 0, number, kNoPair, measured);
    }
    for (uint32_t p = 0; p < opened_.pairs; ++p) {
      // The batch is the first so many of a shuffled list.
      for (size_t i = 0; i < opened_.batch; ++i) std::swap(all[i], all[i + random_.below(all.size() - i)]);
      std::span<const uint32_t> sets = std::span(all).first(opened_.batch);
      Pair pair;
      pair.first = random_.below(2) == 0 ? Arm::a : Arm::b;
      pair.variant = static_cast<uint8_t>(random_.below(variants()));
      pair.set = static_cast<uint16_t>(sets[0]);
      for (size_t n = 0; n < kArms; ++n) {
        Arm arm = (n == 0) == (pair.first == Arm::a) ? Arm::a : Arm::b;
        Timing timing = timed(arm, sets, pair.variant);
        pair.microseconds.at(static_cast<size_t>(arm)) = static_cast<float>(timing.microseconds);
        pair.mhz.at(static_cast<size_t>(arm)) = static_cast<float>(timing.mhz);
        check(arm, sets, pair.variant, number, p, measured);
      }
      epoch.pairs.push_back(pair);
    }
    check_inputs(number, measured);
    epoch.after = device_.sensors();
    epoch.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return epoch;
  }

  void begin_epoch() {
    const bool swapped = random_.below(2) == 1;
    for (Arm arm : {Arm::a, Arm::b}) {
      Arm one = (arm == Arm::a) == swapped ? Arm::b : Arm::a;
      must(stage_.load(one), Done::End::refused, one);
    }
    must(stage_.lay_out(opened_.sets, kTimedGuard, random_), Done::End::out_of_memory);
    must(stage_.fill_all(kPoisons[0]), Done::End::trouble);
    for (uint32_t s = 0; s < stage_.sets(); ++s) must(stage_.place_inputs(s), Done::End::trouble);
  }

  void check_inputs(uint32_t number, Measured& measured) {
    for (uint32_t s = 0; s < stage_.sets(); ++s) {
      // Both variants of a set differ in the changed word alone: as prepared for variant 0 all sets are equal.
      must(stage_.prepare(Arm::a, s, 0, kPoisons[0]), Done::End::trouble, Arm::a);
      if (inputs_digest(s, keys_[0]) == inputs_expected_[0]) continue;
      measured.mismatches.push_back({Arm::b, number, kNoPair, 0, true});
      return;
    }
  }

  Device& device_;
  const Contest contest_;
  Stage stage_;
  base::Random random_;
  std::random_device unforeseen_;
  std::array<uint64_t, kKeys> keys_{};
  struct Expected {
    std::array<std::vector<uint64_t>, kKeys> digests;                         // by shared buffer
    std::map<uint32_t, std::array<Projection, kProjectionKeys>> projections;  // of outputs of floats
  };
  std::array<std::array<Expected, kVariants>, kArms> expected_;
  std::array<uint64_t, kVariants> inputs_expected_{};
  std::array<std::set<uint32_t>, kArms> unsteady_;  // outputs that differ from launch to launch
  std::vector<uint32_t> outputs_;                   // of the shared buffers
  std::vector<double> apart_;
  uint64_t l2_ = 0;
  Address flushed_ = 0;  // twice L2
  Opened opened_;        // its sizes
};

Stopwatch::Stopwatch(Device& device, Contest contest)
    : contestants_(std::make_unique<Contestants>(device, std::move(contest))) {}
Stopwatch::~Stopwatch() = default;
Opened Stopwatch::open() { return contestants_->open(); }
Measured Stopwatch::measure(const MeasureRequest& request) { return contestants_->measure(request); }

}  // namespace ptxlab::gpu
