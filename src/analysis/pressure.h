// Whether a kernel has to keep more values at once than a thread has registers for.
#pragma once
#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::analysis {

// A warning (PTX0703) for each kernel with a loop that carries more values from turn to turn than .maxnreg, or the 255
// registers of a thread, can hold: ptxas then has to spill. Values that are merely alive it moves or computes anew.
base::Findings register_overflow(const ptx::Module& module);

}  // namespace ptxlab::analysis
