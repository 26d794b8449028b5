// Conversions that are too rare to be vectorised: any type to any other, with every rounding and saturation.
#pragma once
#include "simt/binding.h"
#include "simt/memory.h"

namespace ptxlab::simt {

Lanewise select_any_conversion(const Modifiers& modifiers);

// Where a space's window lies among generic addresses.
uint64_t window_base(isa::Space space);

}  // namespace ptxlab::simt
