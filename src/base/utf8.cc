#include "base/utf8.h"

#include <cstdint>

namespace ptxlab::base {

std::optional<size_t> first_ill_formed(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    uint8_t lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i <= more) return i;
    // The second byte's range says no to overlong forms, surrogates and what lies beyond the last code point.
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(i + 1) < low || byte(i + 1) > high) return i;
    for (size_t k = 2; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    }
    i += more + 1;
  }
  return std::nullopt;
}

}  // namespace ptxlab::base
