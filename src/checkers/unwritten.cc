#include "checkers/unwritten.h"

#include <algorithm>
#include <cassert>

namespace ptxlab::checkers {

std::optional<Unwritten> unwritten_elements(const simt::Allocation& buffer, uint64_t element_bytes, uint64_t elements) {
  assert(element_bytes > 0);
  if (buffer.defined.empty()) return std::nullopt;
  const uint64_t fit = buffer.bytes / element_bytes;
  elements = elements == 0 ? fit : std::min(elements, fit);
  Unwritten out;
  for (uint64_t i = 0; i < elements; ++i) {
    auto begin = buffer.defined.begin() + static_cast<std::ptrdiff_t>(i * element_bytes);
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(element_bytes), [](uint8_t d) { return d == 0xff; }))
      continue;
    if (out.count++ == 0) out.first = i;
    out.last = i;
  }
  if (out.count == 0) return std::nullopt;
  return out;
}

}  // namespace ptxlab::checkers
