// Whether what a kernel does, not only what it computes, depends on the contents of memory: an address or a branch that
// comes from a loaded value. Most kernels' ways are the same on all data, and their buffers need not be filled to be
// counted; a gather, a histogram or an early exit need the data that the task would give them.
#pragma once
#include "ptx/module.h"

namespace ptxlab::estimate {

// Never false where it does depend; true also where the analysis cannot tell.
bool depends_on_data(const ptx::Module& module);

}  // namespace ptxlab::estimate
