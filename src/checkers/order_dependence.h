// Whether a result depends on the order in which warps, lanes and CTAs happened to run.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/finding.h"

namespace ptxlab::checkers {

// One output after one run; `defined` may be empty: all of it is.
struct Outcome {
  std::span<const uint8_t> bytes, defined;
};

// CHK0007, a warning: the same inputs under two orders gave other bits, or a defined value under one of them only. Elements
// that both left undefined are not looked at. Nothing where both are the same.
std::optional<base::Finding> order_dependence(std::string_view output, const Outcome& one, const Outcome& other,
                                              uint64_t element_bytes);

}  // namespace ptxlab::checkers
