// Seeded, portable random numbers: the same seed gives the same stream on every machine and library (std's
// distributions do not promise that). Generator: SplitMix64 (Steele, Lea, Flood 2014).
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ptxlab::base {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound > 0; without modulo bias (Lemire's multiply and reject).
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Standard normal, Marsaglia's polar method.
  double normal();

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// A seed for a named purpose derived from another, so that streams do not overlap.
uint64_t derive_seed(uint64_t seed, std::string_view purpose);

}  // namespace ptxlab::base
