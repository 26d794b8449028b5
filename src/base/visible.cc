#include "base/visible.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/utf8.h"

namespace ptxlab::base {
namespace {

// Controls, zero-width and bidirectional ones, separators of lines and paragraphs, invisible fillers, tags.
bool hides(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0x115f || c == 0x1160 || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x3164 ||
         c == 0xfeff || c == 0xffa0 || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

uint32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  uint32_t value = bytes.size() == 1 ? lead : lead & (0x7fu >> bytes.size());
  for (char c : bytes.substr(1)) value = value << 6 | (static_cast<uint8_t>(c) & 0x3f);
  return value;
}

std::string shown(std::string_view text, bool lines) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t size = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    const auto bytes = text.substr(at, size);
    if (bytes.size() < size || !valid_utf8(bytes)) {
      out += fmt::format("\\x{:02x}", lead);
      ++at;
      continue;
    }
    const uint32_t c = code_point(bytes);
    if (c == '\t' || c == '\n') {
      out += lines ? static_cast<char>(c) : ' ';
    } else if (!hides(c)) {
      out += bytes;
    } else {
      out += c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{{{:x}}}", c);
    }
    at += size;
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) { return shown(text, false); }
std::string visible_lines(std::string_view text) { return shown(text, true); }

}  // namespace ptxlab::base
