// y = q s. The product of 8 and 11 bits is exact in double (and in f32), so rounding it once to f16 has one right answer.
#include "task/reference.h"

void reference(const ptxlab::Case& c, const std::string&, std::vector<ptxlab::Element>& elements) {
  const auto &q = c.input("q"), &scale = c.input("scale");
  const int64_t k = c.size("k"), group = c.size("group"), groups = (k + group - 1) / group;
  for (auto& e : elements) {
    const auto index = static_cast<int64_t>(e.index);
    e.value = static_cast<double>(q.integer(index)) * scale[index / k * groups + index % k / group];
  }
}
