// Races between the threads of a CTA in shared memory, found under every schedule.
#pragma once
#include <memory>

#include "simt/observer.h"

namespace ptxlab::checkers {

// CHK0001: two accesses that nothing orders, one of them a store. CHK0002: lanes of one instruction store different
// values in the same place.
std::unique_ptr<simt::Observer> make_shared_races();
// The same as if one barrier of the kernel were not there.
std::unique_ptr<simt::Observer> make_shared_races_without(const ptx::Instruction& barrier);

}  // namespace ptxlab::checkers
