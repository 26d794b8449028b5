// C = alpha A B + beta C; C is not read where beta is 0. Inexact intermediate values: the products and their sum (together
// |alpha| times the sum of |a b|), alpha times it, beta c, the result.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &a = c.input("a"), &b = c.input("b"), &old = c.input("c");
  const int64_t n = c.size("n"), k = c.size("k");
  const double alpha = c.scalar("alpha"), beta = c.scalar("beta");
  std::vector<double> right(static_cast<size_t>(k * n));  // B by columns, read once
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) right[static_cast<size_t>(j * k + i)] = b[i * n + j];
  std::vector<double> left(static_cast<size_t>(k));
  int64_t row = -1;
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    if (index / n != row) {
      row = index / n;
      for (int64_t i = 0; i < k; ++i) left[static_cast<size_t>(i)] = a[row * k + i];
    }
    const double* column = &right[static_cast<size_t>(index % n * k)];
    double sum = 0, sizes = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double product = left[static_cast<size_t>(i)] * column[i];
      sum += product;
      sizes += std::fabs(product);
    }
    const double kept = beta == 0 ? 0 : beta * old[index];
    e.value = alpha * sum + kept;
    e.magnitude = std::fabs(alpha) * sizes + std::fabs(alpha * sum) + std::fabs(kept) + std::fabs(e.value);
  }
}
