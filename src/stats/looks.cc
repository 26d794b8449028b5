#include "stats/looks.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "stats/summary.h"

namespace ptxlab::stats {
namespace {

bool usable(double time) { return std::isfinite(time) && time > 0; }

size_t pairs_of(const EpochTimes& epoch) { return std::min(epoch.a.size(), epoch.b.size()); }

// How much longer the standard error of a mean is because neighbours resemble each other: the sum of a first-order process's
// correlations. One that chance explains (one-sided 5 %) is none: with a dozen epochs it is mostly noise.
double widening(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  const double center = mean(series);
  double products = 0, squares = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    const double own = series[i] - center;
    squares += own * own;
    if (i > 0) products += own * (series[i - 1] - center);
  }
  if (!(squares > 0)) return 1;
  const double lag = products / squares;
  if (lag <= 1.645 / std::sqrt(n) - 1 / n) return 1;
  // A short series' own correlation is biased low by about (1 + 3 lag) / n.
  const double mended = std::min(0.9, lag + (1 + 3 * lag) / n);
  return std::sqrt((1 + mended) / (1 - mended));
}

}  // namespace

Counted counts(const EpochTimes& epoch) {
  bool any = false;
  for (size_t i = 0; i < pairs_of(epoch) && !any; ++i) any = usable(epoch.a[i]) && usable(epoch.b[i]);
  if (!any) return Counted::no_times;
  if (epoch.throttled) return Counted::throttled;
  const double a = epoch.mhz_a, b = epoch.mhz_b;
  if (usable(a) && usable(b) && std::fabs(a - b) > kClocksApart * std::max(a, b)) return Counted::clocks_apart;
  return Counted::yes;
}

double estimate_of(const EpochTimes& epoch) {
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs_of(epoch); ++i)
    if (usable(epoch.a[i]) && usable(epoch.b[i])) ratios.push_back(std::log(epoch.a[i]) - std::log(epoch.b[i]));
  return median(ratios);
}

void add(Sample& sample, const EpochTimes& epoch) {
  switch (counts(epoch)) {
    case Counted::yes: sample.estimates.push_back(estimate_of(epoch)); break;
    case Counted::throttled: ++sample.throttled; break;
    case Counted::clocks_apart: ++sample.clocks_apart; break;
    case Counted::no_times: ++sample.no_times; break;
  }
}

Sample sample_of(std::span<const EpochTimes> epochs) {
  Sample sample;
  for (const auto& epoch : epochs) add(sample, epoch);
  return sample;
}

std::string_view name_of(Call call) {
  switch (call) {
    case Call::faster: return "faster";
    case Call::slower: return "slower";
    case Call::same: return "same";
    case Call::unstable: return "unstable";
  }
  return "";
}

Interval interval_at(const Sample& sample, const Look& look, const Rule& rule) {
  Interval interval = student_interval(sample.estimates, look.alpha);
  const double half =
      std::max((interval.high - interval.center) * widening(sample.estimates), std::max(0.0, rule.resolution) / 2);
  return {interval.center - half, interval.center + half, interval.center};
}

Call call_of(const Interval& interval, const Rule& rule) {
  const double delta = std::max(0.0, rule.delta);
  if (interval.low > delta) return Call::faster;
  if (interval.high < -delta) return Call::slower;
  if (interval.low >= std::log1p(-kSame) && interval.high <= std::log1p(kSame)) return Call::same;
  return Call::unstable;
}

Decision decide(const Sample& sample, size_t look, const Rule& rule) {
  assert(look < kLooks.size());
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Decision decision;
  decision.look = look;
  decision.last = look + 1 == kLooks.size();
  decision.interval = {-kInfinite, kInfinite, 0};
  if (sample.estimates.size() >= 2) decision.interval = interval_at(sample, kLooks[look], rule);
  if (static_cast<double>(sample.dropped()) > kMostDropped * static_cast<double>(sample.epochs())) {
    decision.trouble = sample.throttled >= std::max(sample.clocks_apart, sample.no_times) ? "the GPU was throttled"
                       : sample.clocks_apart >= sample.no_times ? "the two kernels ran at different clocks"
                                                                : "epochs without usable times";
  } else if (sample.epochs() < kLooks[look].epochs) {
    decision.trouble = "fewer epochs than were asked for";
  } else {
    decision.call = call_of(decision.interval, rule);
  }
  return decision;
}

Interval pooled(std::span<const Interval> intervals, std::span<const double> weights) {
  assert(!intervals.empty() && intervals.size() == weights.size());
  double total = 0;
  Interval sum;
  for (size_t i = 0; i < intervals.size(); ++i) {
    total += weights[i];
    sum.center += weights[i] * intervals[i].center;
    sum.low += weights[i] * intervals[i].low;
    sum.high += weights[i] * intervals[i].high;
  }
  return {sum.low / total, sum.high / total, sum.center / total};
}

}  // namespace ptxlab::stats
