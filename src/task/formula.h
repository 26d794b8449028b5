// The formulas of floating-point scalars: doubles with + - * / and sqrt, exp, exp2, log, log2, min, max over a task's
// params, such as "1/sqrt(n)".
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ptxlab::task {

using FormulaNames = std::function<std::optional<double>(std::string_view)>;

// Errors: TASK0003, its place relative to `origin`, the place of the text's first byte (`line` 0: none).
base::Result<double> evaluate_formula(std::string_view text, const FormulaNames& names, const base::Place& origin = {});

}  // namespace ptxlab::task
