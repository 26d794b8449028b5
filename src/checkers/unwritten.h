// Which elements of an output a run left without a defined value.
#pragma once
#include <cstdint>
#include <optional>

#include "simt/memory.h"

namespace ptxlab::checkers {

struct Unwritten {
  uint64_t count = 0;  // elements with at least one undefined byte
  uint64_t first = 0;  // index of the first and the last of them
  uint64_t last = 0;
};

// Looks at the first `elements` elements (0: as many as fit) of `element_bytes` each; nothing where all are defined.
std::optional<Unwritten> unwritten_elements(const simt::Allocation& buffer, uint64_t element_bytes,
                                            uint64_t elements = 0);

}  // namespace ptxlab::checkers
