// y = x s w with s = q^(-1/2), q = mean(x^2) + eps. The inexact intermediate values are the terms of the mean, eps
// added to it, the root and the products: each enters y with |dy/dt| |t| <= |y|, the mean's terms together with |y|
// mean / (2 q).
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &x = c.input("x"), &w = c.input("w");
  const int64_t n = c.size("n");
  const double eps = c.scalar("eps");
  int64_t row = -1;
  double mean = 0, q = 0;
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    if (index / n != row) {
      row = index / n;
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[row * n + i] * x[row * n + i];
      mean = sum / static_cast<double>(n);
      q = mean + eps;
    }
    e.value = x[index] / std::sqrt(q) * w[index % n];
    const double root = 1, products = 2, sum = std::isfinite(q) ? 0.5 * (mean / q + 1) : 0;
    e.magnitude = std::fabs(e.value) * (sum + root + products);
  }
}
