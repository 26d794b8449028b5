// The strings of .pragma: what is known, since when, where, and what wants an argument. Inside functions ptxas ignores what
// it does not know, with a warning, so a misspelt pragma is silently without effect; outside it refuses.
#pragma once
#include <cstdint>
#include <string_view>

#include "isa/target.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

enum class PragmaPlace : uint8_t { module, heading, body };

// The directive as written, with its strings; its word stands at `span`. `version` 0: nothing is gated.
void check_pragma(std::string_view directive, base::Span span, PragmaPlace place, isa::PtxVersion version,
                  Report& report);

}  // namespace ptxlab::ptx
