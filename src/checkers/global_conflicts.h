// Conflicting accesses to global memory within one launch that nothing orders.
#pragma once
#include <memory>

#include "simt/observer.h"

namespace ptxlab::checkers {

// CHK0003: between CTAs. CHK0004: between threads of one CTA. CHK0005: lanes of one instruction store different values
// in the same place. CHK0006: strong accesses whose scope does not take the other thread in.
// CHK0008: strong accesses of different sizes, a warning.
std::unique_ptr<simt::Observer> make_global_conflicts();
// The same as if one barrier of the kernel were not there.
std::unique_ptr<simt::Observer> make_global_conflicts_without(const ptx::Instruction& barrier);

}  // namespace ptxlab::checkers
