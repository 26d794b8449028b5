// y_i = exp(x_i - h) / S with h the row's maximum and S = sum of exp(x_j - h). Inexact intermediate values: x - h (exp
// turns its error d into a factor 1 + d: |y| |x - h|), the exponentials (|y|), the terms of S with those same errors
// (|y| sum p_j (1 + |x_j - h|)), the quotient (|y|).
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto& x = c.input("x");
  const int64_t n = c.size("n");
  int64_t row = -1;
  double highest = 0, sum = 0, weighted = 0;
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    if (index / n != row) {
      row = index / n;
      highest = x[row * n];
      bool nan = false;
      for (int64_t i = 0; i < n; ++i) {
        nan = nan || std::isnan(x[row * n + i]);
        highest = std::fmax(highest, x[row * n + i]);
      }
      sum = weighted = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double d = x[row * n + i] - highest, term = std::exp(d);
        sum += term;
        if (term > 0) weighted += term * (1 + std::fabs(d));
      }
      if (nan) sum = std::nan("");
    }
    const double d = x[index] - highest;
    e.value = std::exp(d) / sum;
    e.magnitude = e.value > 0 ? e.value * (2 + std::fabs(d) + weighted / sum) : 0;
  }
}
