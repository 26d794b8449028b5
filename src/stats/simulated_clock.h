// For tests: a GPU's clock that is played. Times of two kernels with a true ratio, and what real machines do to them: noise,
// spikes, drift, epochs that resemble their neighbours, throttling, steps of the clock, a kernel that changes its mind.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/looks.h"

namespace ptxlab::stats {

struct Machine {
  double time = 20;          // of A, microseconds
  double ratio = 1;          // tA / tB
  double noise = 0.01;       // relative, of a single launch
  double epoch_noise = 0;    // relative, of an epoch's ratio: placement
  double neighbours = 0;     // correlation of an epoch's ratio with the one before it
  double spikes = 0;         // share of launches that take up to ten times as long
  bool heavy = false;        // noise with Cauchy's tails
  double drift = 0;          // both kernels grow slower by so much an epoch
  double ratio_drift = 0;    // and B alone
  double step = 0;           // of the clock, microseconds
  double throttled = 0;      // share of epochs
  double clocks_apart = 0;   // share of epochs in which B runs at 97 % of A's clock
  size_t changes_after = 0;  // epochs, then B's ratio is `later`
  double later = 1;
  size_t pairs = 24;
};

class SimulatedClock {
 public:
  SimulatedClock(const Machine& machine, uint64_t seed) : machine_(machine), random_(seed) {}

  EpochTimes epoch() {
    const Machine& m = machine_;
    EpochTimes made;
    made.throttled = random_.uniform() < m.throttled;
    made.mhz_a = made.mhz_b = 1980;
    common_ = m.neighbours * common_ + std::sqrt(1 - m.neighbours * m.neighbours) * random_.normal();
    const auto n = static_cast<double>(count_);
    double ratio = m.changes_after > 0 && count_ >= m.changes_after ? m.later : m.ratio;
    double a = m.time * (1 + m.drift * n) * (made.throttled ? 1.3 : 1);
    double b = a / ratio * std::exp(m.epoch_noise * common_) * (1 + m.ratio_drift * n);
    if (random_.uniform() < m.clocks_apart) {
      made.mhz_b = 1920;
      b *= 1980.0 / 1920;
    }
    for (size_t i = 0; i < m.pairs; ++i) {
      made.a.push_back(launch(a));
      made.b.push_back(launch(b));
    }
    ++count_;
    return made;
  }

 private:
  double launch(double time) {
    double noise = random_.normal();
    if (machine_.heavy) {
      const double below = random_.normal();
      noise /= std::fabs(below) > 1e-3 ? below : 1e-3;
    }
    time *= std::exp(machine_.noise * std::max(-20.0, std::min(20.0, noise)));
    if (random_.uniform() < machine_.spikes) time *= 1 + 9 * random_.uniform();
    if (machine_.step > 0) time = std::max(1.0, std::nearbyint(time / machine_.step)) * machine_.step;
    return time;
  }

  Machine machine_;
  base::Random random_;
  double common_ = 0;
  size_t count_ = 0;
};

// A whole contest: looks until one settles it.
inline Decision contest(const Machine& machine, uint64_t seed, const Rule& rule) {
  SimulatedClock clock(machine, seed);
  Sample sample;
  Decision decision;
  for (size_t look = 0; look < kLooks.size(); ++look) {
    while (sample.epochs() < kLooks[look].epochs) add(sample, clock.epoch());
    decision = decide(sample, look, rule);
    if (decision.settled()) break;
  }
  return decision;
}

}  // namespace ptxlab::stats
