// The variance as the mean square of the differences, in double precision: what the kernel's one pass approximates.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &x = c.input("x"), &gamma = c.input("gamma");
  const int64_t n = c.size("n");
  const double eps = c.scalar("eps");
  int64_t at = -1;
  double mean = 0, root = 0, size = 0;
  for (auto& e : elements) {
    const int64_t row = static_cast<int64_t>(e.index) / n, col = static_cast<int64_t>(e.index) % n;
    if (row != at) {
      at = row;
      mean = size = 0;
      for (int64_t i = 0; i < n; ++i) {
        mean += x[row * n + i] / n;
        size += std::fabs(x[row * n + i]) / n;
      }
      double square = 0;
      for (int64_t i = 0; i < n; ++i) square += (x[row * n + i] - mean) * (x[row * n + i] - mean) / n;
      root = 1 / std::sqrt(square + eps);
    }
    const double difference = x[row * n + col] - mean, scale = root * std::fabs(gamma[col]);
    e.value = difference * root * gamma[col];
    e.magnitude = scale * (2 * std::fabs(difference) + size);
  }
}
