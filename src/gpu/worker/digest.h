// How a timed launch's outputs are held against those of the launch that was looked at, without either leaving the GPU;
// kernels.ptx has both for the GPU.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ptxlab::gpu {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) but for its last shift.
inline uint64_t mixed(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  return (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
}

// Equal bits: of each 8-byte word (the last filled up with zeros) a hash with the key and the word's number, summed modulo 2^64,
// so that any order of summing and any cut into pieces comes to the same.
inline uint64_t digest(std::string_view bytes, uint64_t first, uint64_t key) {
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at < 8 ? bytes.size() - at : 8);
    uint64_t hash = mixed(mixed(key + first + at / 8) ^ word);
    sum += hash ^ (hash >> 31);
  }
  return sum;
}

// How many whole 8-byte words do not consist of this byte.
inline uint64_t unlike(std::string_view bytes, uint8_t value) {
  const uint64_t word = 0x0101010101010101u * value;
  uint64_t count = 0, found = 0;
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&found, bytes.data() + at, 8);
    count += found != word;
  }
  return count;
}

// Nearly equal numbers: sixteen sums under signs drawn from the key. Where each element may be off by at most b_i, and errors
// know nothing of the signs, such a sum is off by no more than a few times sqrt(sum of b_i^2). What is infinite or NaN counts as 0
// there; where it lies is in `unusual`.
struct Projection {
  static constexpr size_t kSums = 16;
  std::array<double, kSums> sums{};
  uint64_t unusual = 0;
};

template <class ValueAt>
Projection project(uint64_t count, uint64_t key, const ValueAt& value_at) {
  Projection made;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t hash = mixed(key + i);
    hash ^= hash >> 31;
    double value = value_at(i);
    if (!std::isfinite(value)) {
      made.unusual += hash;
      continue;
    }
    for (size_t k = 0; k < Projection::kSums; ++k) made.sums.at(k) += (hash >> k & 1) != 0 ? -value : value;
  }
  return made;
}

}  // namespace ptxlab::gpu
