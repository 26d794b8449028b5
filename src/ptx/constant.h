// Numbers and constant expressions (manual, "Constants", "Constant Expressions").
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/reader.h"

namespace ptxlab::ptx {

struct Constant {
  uint64_t bits = 0;  // two's complement, or the pattern of an f64
  bool floating = false;
  bool single_precision = false;  // a lone 0f literal
  bool is_unsigned = false;
  bool truncated = false;  // the literal had more than 64 bits
  double value() const;    // as a double, whichever it is
};

// One literal without sign; nothing where it is malformed.
std::optional<Constant> number_from(std::string_view text);

// Whether a constant expression can begin at the current token.
bool at_constant(const Reader& reader);
// Reads a constant expression; where it is malformed reports that and returns nothing.
std::optional<Constant> read_constant(Reader& reader);

}  // namespace ptxlab::ptx
