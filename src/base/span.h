// A half-open range of bytes in a source text, and the line and column that people read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ptxlab::base {

struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
  friend bool operator==(const Span&, const Span&) = default;
};

// Line and column count from 1; the column counts bytes. Line 0 says "no place".
struct Place {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;  // how many bytes the caret underlines
  friend bool operator==(const Place&, const Place&) = default;
};

// The place of `span` in `source`, whose name is `file`. O(size of source): for findings, not for hot paths.
Place place_of(std::string_view source, Span span, std::string_view file);

}  // namespace ptxlab::base
