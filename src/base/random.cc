#include "base/random.h"

namespace ptxlab::base {

uint64_t Random::below(uint64_t bound) {
  unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    uint64_t threshold = -bound % bound;
    while (static_cast<uint64_t>(product) < threshold) product = static_cast<unsigned __int128>(next()) * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u, v, s;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  double scale = std::sqrt(-2 * std::log(s) / s);
  spare_ = v * scale;
  has_spare_ = true;
  return u * scale;
}

uint64_t derive_seed(uint64_t seed, std::string_view purpose) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed;  // FNV-1a over the words, then one SplitMix step to spread the bits
  for (unsigned char c : purpose) hash = (hash ^ c) * 0x100000001b3u;
  return Random(hash).next();
}

}  // namespace ptxlab::base
