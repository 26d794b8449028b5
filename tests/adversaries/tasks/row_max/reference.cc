// The first of the largest.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string& output, std::vector<ptxlab::Element>& elements) {
  const auto& x = c.input("x");
  const int64_t n = c.size("n");
  for (auto& e : elements) {
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i)
      if (x[e.index * n + i] > x[e.index * n + at]) at = i;
    e.value = x[e.index * n + at];
    e.magnitude = 0;
    if (output == "at") e.integer = at;
  }
}
