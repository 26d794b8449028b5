// (a, b) turns to (a c - b s, b c + a s). Inexact intermediate values: the two products and their sum.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string& output, std::vector<ptxlab::Element>& elements) {
  const auto &x = c.input(output), &table = c.input("table"), &positions = c.input("positions");
  const int64_t half = c.size("half"), width = 2 * half, heads = output == "q" ? c.size("hq") : c.size("hk");
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    const int64_t token = index / (heads * width), i = index % width, j = i % half;
    const int64_t angle = positions.integer(token) * width + j;
    const double cosine = table[angle], sine = table[angle + half];
    const double own = x[index] * cosine;
    const double other = i < half ? -x[index + half] * sine : x[index - half] * sine;
    e.value = own + other;
    e.magnitude = std::fabs(own) + std::fabs(other) + std::fabs(e.value);
  }
}
