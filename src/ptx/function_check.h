// The heading of a function: its parameters, and the directives behind them with what they need and exclude.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

// The directive function.directives[index], whose word stands at `span`. `version` 0: nothing is gated.
void check_function_directive(const Function& function, size_t index, Span span, isa::PtxVersion version,
                              const isa::Target& target, Report& report);

// "did you mean" among the directives that may stand at this place, else `hint`. One letter off is a certain mend.
void report_unknown_directive(Report& report, std::string_view word, Span span, std::span<const std::string_view> known,
                              std::string_view hint);

// When a function's directive exists; nothing where PTX has no such directive.
std::optional<isa::Gate> directive_gate(std::string_view word);

void check_signature(const Function& function, Report& report);

}  // namespace ptxlab::ptx
