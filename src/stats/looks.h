// What decides a contest between two kernels that were timed side by side: an estimate for each epoch, which epochs count,
// and looks at the data after 12, 24 and 48 of them. An epoch's estimate is the median of log(tA / tB) over its pairs: A is
// what is compared with, so that more than 0 says B is faster. Epochs, not pairs, are the sample: modules and buffers are
// made anew for each, and what is common to an epoch (where its code lies, the state of clocks) is no evidence twice.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stats/student.h"

namespace ptxlab::stats {

struct EpochTimes {
  std::vector<double> a, b;     // by pair, in any one unit; a pair that is not finite and positive is left out
  double mhz_a = 0, mhz_b = 0;  // clocks during the launches of each; 0: not readable
  bool throttled = false;
};

enum class Counted : uint8_t { yes, throttled, clocks_apart, no_times };
inline constexpr double kClocksApart = 0.01;  // relative
Counted counts(const EpochTimes& epoch);

// The epoch's median of log(tA / tB). At least one pair is usable (counts() is not no_times).
double estimate_of(const EpochTimes& epoch);

// The epochs so far, as numbers.
struct Sample {
  std::vector<double> estimates;  // of the epochs that count, in order
  size_t throttled = 0, clocks_apart = 0, no_times = 0;
  size_t dropped() const { return throttled + clocks_apart + no_times; }
  size_t epochs() const { return estimates.size() + dropped(); }
};
Sample sample_of(std::span<const EpochTimes> epochs);
void add(Sample& sample, const EpochTimes& epoch);

// --- looks ----------------------------------------------------------------------------------------------------------------
// An error of 1 % in all, two-sided, spent over three looks. Nobody looks in between.
struct Look {
  size_t epochs;
  double alpha;
};
inline constexpr std::array<Look, 3> kLooks = {{{12, 0.002}, {24, 0.003}, {48, 0.005}}};
inline constexpr double kMostDropped = 0.2;  // of the epochs
inline constexpr double kSame = 0.01;        // what differs by less is the same, where it is known to

enum class Call : uint8_t { faster, slower, same, unstable };
std::string_view name_of(Call call);

struct Rule {
  double delta = 0;       // log ratios that identical kernels reach on this machine (the 99th percentile of |A/A|)
  double resolution = 0;  // relative step of the clock; no interval is narrower than half of it to each side
};

// The interval at a look: Student's over epochs, wider where neighbouring epochs resemble each other more than chance
// allows, and no narrower than the clock's steps. The sample has at least two estimates.
Interval interval_at(const Sample& sample, const Look& look, const Rule& rule);

// What an interval says by itself.
Call call_of(const Interval& interval, const Rule& rule);

struct Decision {
  Call call = Call::unstable;
  Interval interval;         // of the log ratio; all of [-inf, inf] where too few epochs count
  std::string_view trouble;  // why unstable, where it is not the interval's width: what was dropped
  size_t look = 0;           // index into kLooks
  bool last = false;         // of the looks
  bool settled() const { return call != Call::unstable || last; }
};

// The decision at look `look`, whose epochs `sample` holds: all of them, those that do not count too.
Decision decide(const Sample& sample, size_t look, const Rule& rule);

// Several contests (the sizes of one task) as one: the weighted mean of the log ratios, and an interval that holds whatever
// they have in common. Weights are positive.
Interval pooled(std::span<const Interval> intervals, std::span<const double> weights);

}  // namespace ptxlab::stats
