// The digest by which a timed launch's outputs are compared with those of the launch that was looked at: of each 8-byte word
// (the last filled up with zeros) a hash with the key and the word's number, summed modulo 2^64, so that any order of
// summing and any cut into pieces comes to the same. kernels.ptx has it for the GPU.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ptxlab::gpu {

inline uint64_t digest(std::string_view bytes, uint64_t first, uint64_t key) {
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at < 8 ? bytes.size() - at : 8);
    // Two rounds of SplitMix64's finaliser (Steele, Lea, Flood 2014).
    uint64_t hash = key + first + at / 8;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = ((hash ^ (hash >> 27)) * 0x94d049bb133111ebu) ^ word;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    sum += hash ^ (hash >> 31);
  }
  return sum;
}

}  // namespace ptxlab::gpu
