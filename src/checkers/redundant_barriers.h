// Barriers that the race checkers do not miss: with each one left out in turn, nothing races that did not race before.
#pragma once
#include <memory>

#include "simt/observer.h"

namespace ptxlab::checkers {

// CHK0042, a note. Evidence of the inputs that ran, no proof; and each barrier is looked at by itself, so of two that do
// the same work both are named. Costs the race checkers once for each barrier of the kernel.
std::unique_ptr<simt::Observer> make_redundant_barriers();

}  // namespace ptxlab::checkers
