// The heading of a function: its parameters, and the directives behind them with what they need and exclude.
#pragma once
#include <string_view>

#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

// The directive function.directives[index], whose word stands at `span`. `version` 0: nothing is gated.
void check_function_directive(const Function& function, size_t index, Span span, isa::PtxVersion version,
                              const isa::Target& target, Report& report);

void check_signature(const Function& function, Report& report);

}  // namespace ptxlab::ptx
