// How much of one module's code stands in another: winnowed fingerprints of instruction sequences, blind to names of
// registers and labels, to numbers and to layout. For saying where a text comes from, not for judging it.
#pragma once
#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::analysis {

// Sorted, each once. A sequence of kSequence + kWindow - 1 instructions that two modules share gives both a common one.
using Fingerprints = std::vector<uint64_t>;
inline constexpr size_t kSequence = 6, kWindow = 4;

Fingerprints fingerprints(const ptx::Module& module);

// Those of `all` that are not in `without`.
Fingerprints except(const Fingerprints& all, const Fingerprints& without);

// The share of `part` that is in `whole`; 0 where `part` is empty.
double share_of(const Fingerprints& part, const Fingerprints& whole);

}  // namespace ptxlab::analysis
