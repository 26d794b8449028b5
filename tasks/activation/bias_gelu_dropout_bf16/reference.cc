// y = 0 where the element's random word is below `drop`, else scale g(v) with v = x + bias and the tanh form of GELU,
// g = v (1 + t) / 2, t = tanh(z), z = c (v + a v^3). The word is the column mod 4th of the block that Philox 4x32-10
// makes of the counter (column / 4, row, offset) and the key `seed`. Inexact intermediate values: v (|g'| |v|), the steps
// to z (cube, two products, sum: each |v (1 - t^2) z / 2|), t (|v t / 2|), 1 + t and three products (|g| each).
#include "task/reference.h"

static void philox(const uint32_t (&counter)[4], uint32_t key0, uint32_t key1, uint32_t (&word)[4]) {
  for (int i = 0; i < 4; ++i) word[i] = counter[i];
  for (uint32_t round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53} * word[0], third = uint64_t{0xcd9e8d57} * word[2];
    const uint32_t k0 = key0 + round * 0x9e3779b9u, k1 = key1 + round * 0xbb67ae85u;
    word[0] = static_cast<uint32_t>(third >> 32) ^ word[1] ^ k0;
    word[1] = static_cast<uint32_t>(third);
    word[2] = static_cast<uint32_t>(first >> 32) ^ word[3] ^ k1;
    word[3] = static_cast<uint32_t>(first);
  }
}

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &x = c.input("x"), &bias = c.input("bias");
  const int64_t n = c.size("n");
  // Seed and offset stay below 2^53, so that they are exact as doubles.
  const auto seed = static_cast<uint64_t>(c.scalar("seed")), offset = static_cast<uint64_t>(c.scalar("offset"));
  const auto drop = static_cast<uint32_t>(c.scalar("drop"));
  const double scale = c.scalar("scale");
  const double root = 0.79788456080286535588, cubic = 0.044715;
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    const int64_t row = index / n, column = index % n;
    const uint32_t counter[4] = {static_cast<uint32_t>(column / 4), static_cast<uint32_t>(row),
                                 static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)};
    uint32_t word[4];
    philox(counter, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), word);
    e.value = e.magnitude = 0;
    if (word[column % 4] < drop) continue;
    const double v = x[index] + bias[column], z = root * (v + cubic * v * v * v), t = std::tanh(z);
    const double g = 0.5 * v * (1 + t), slope = 0.5 * v * (1 - t * t);
    const double derivative = 0.5 * (1 + t) + slope * root * (1 + 3 * cubic * v * v);
    e.value = scale * g;
    e.magnitude =
        scale * (std::fabs(derivative * v) + 4 * std::fabs(slope * z) + std::fabs(0.5 * v * t) + 4 * std::fabs(g));
  }
}
