// The words of `ptxlab run`: --arg SPEC, and grid and block sizes.
//   SPEC   TYPE:VALUE | in:TYPE:V,V,... | in:TYPE:@FILE | out:TYPE:COUNT | inout:TYPE:V,V,... | inout:TYPE:@FILE | same:N | null
//          in:@FILE, inout:@FILE and out:BYTES where no type is known
//   TYPE   u8..u64, s8..s64, f16, bf16, f32, f64 with decimal values (0x... for integers; nan, inf for floats);
//          b8..b64 with values in hexadecimal
// With --plan a SPEC may be named, NAME=SPEC, so that the plan's arguments and expressions can refer to it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/type.h"
#include "launch/resolved.h"

namespace ptxlab::cli {

struct RunArgument {
  enum class Kind : uint8_t { scalar, in, out, inout, same };
  Kind kind = Kind::scalar;
  std::string name;                  // "" where none was given
  isa::Type type = isa::Type::none;  // of a scalar or of a buffer's elements; none for out:BYTES and @FILE
  std::vector<uint8_t> bytes;        // the scalar's value, or the buffer's content; out: zeros
  size_t same = 0;                   // Kind::same: the argument whose buffer this is
  int64_t integer = 0;               // integer scalars: the value, for a plan's expressions
  bool buffer() const { return kind != Kind::scalar; }
};

// Errors: CLI0010, with what is wrong and an example; FILE0001 for @FILE.
base::Result<RunArgument> parse_argument(std::string_view spec);

// All --arg in order; also that same:N names an earlier buffer. Errors name the argument.
base::Result<std::vector<RunArgument>> parse_arguments(const std::vector<std::string>& specs);

// "X", "X,Y" or "X,Y,Z", each at least 1. Error: CLI0011, naming `option`.
base::Result<launch::Dim3> parse_dim3(std::string_view text, std::string_view option);

// One element as text: 1.5, -3, 0x3f800000.
std::string element_text(const uint8_t* bytes, isa::Type type);

}  // namespace ptxlab::cli
