#include "base/span.h"

#include <algorithm>

namespace ptxlab::base {

Place place_of(std::string_view source, Span span, std::string_view file) {
  size_t begin = std::min<size_t>(span.begin, source.size());
  auto before = source.substr(0, begin);
  size_t line_start = before.rfind('\n');
  line_start = line_start == std::string_view::npos ? 0 : line_start + 1;
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return {std::string(file), static_cast<uint32_t>(line), static_cast<uint32_t>(begin - line_start + 1),
          std::max<uint32_t>(1, span.size())};
}

}  // namespace ptxlab::base
