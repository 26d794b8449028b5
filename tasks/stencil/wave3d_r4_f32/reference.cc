// p = 2 u - p + v s with s = the sum over the star of coefficient times u; the halo keeps its p. Inexact intermediate
// values: the 25 products and their sums (|v| times the sum of |c u|), v s, and the sum of the three.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &u = c.input("u"), &v = c.input("v"), &p = c.input("p"), &coefficients = c.input("coefficients");
  const int64_t nx = c.size("nx"), ny = c.size("ny"), nz = c.size("nz"), pitch = nx + 8, slice = pitch * (ny + 8);
  for (auto& e : elements) {
    const auto at = static_cast<int64_t>(e.index);
    const int64_t x = at % pitch - 4, y = at % slice / pitch - 4, z = at / slice - 4;
    e.value = p[at];
    e.magnitude = 0;
    if (x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz) continue;
    double sum = coefficients[0] * u[at], sizes = std::fabs(sum);
    for (int64_t r = 1; r <= 4; ++r) {
      for (const int64_t step : {int64_t{1}, pitch, slice}) {
        for (const int64_t side : {-r, r}) {
          const double term = coefficients[r] * u[at + side * step];
          sum += term;
          sizes += std::fabs(term);
        }
      }
    }
    e.value = 2 * u[at] - p[at] + v[at] * sum;
    e.magnitude = std::fabs(v[at]) * sizes + std::fabs(v[at] * sum) + std::fabs(2 * u[at]) + std::fabs(p[at]);
  }
}
