#include "stats/tables.h"

#include <algorithm>
#include <cmath>

namespace ptxlab::stats {
namespace {

double log_choose(uint64_t n, uint64_t k) {
  const auto x = static_cast<double>(n), y = static_cast<double>(k);
  return std::lgamma(x + 1) - std::lgamma(y + 1) - std::lgamma(x - y + 1);
}

}  // namespace

double mcnemar_p(uint64_t first, uint64_t second) {
  const uint64_t n = first + second, few = std::min(first, second);
  double tail = 0;
  for (uint64_t i = 0; i <= few; ++i) tail += std::exp(log_choose(n, i) - static_cast<double>(n) * M_LN2);
  return std::min(1.0, 2 * tail);
}

double fisher_p(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t row = a + b, column = a + c, all = a + b + c + d;
  const double log_all = log_choose(all, column);
  const auto probability = [&](uint64_t x) {
    return std::exp(log_choose(row, x) + log_choose(all - row, column - x) - log_all);
  };
  // Rounding must not make a table that is as likely as this one less or more likely.
  const double limit = probability(a) * (1 + 1e-9);
  double sum = 0;
  const uint64_t least = column > all - row ? column - (all - row) : 0;
  for (uint64_t x = least; x <= std::min(row, column); ++x) {
    if (const double p = probability(x); p <= limit) sum += p;
  }
  return std::min(1.0, sum);
}

}  // namespace ptxlab::stats
