// Whether two modules are the same, places in the text apart: what printing and reading again must keep.
#pragma once
#include <string>

#include "ptx/module.h"

namespace ptxlab::ptx {

// The first difference in words ("function k, statement 12: operands"), or "" where there is none.
std::string difference(const Module& a, const Module& b);

}  // namespace ptxlab::ptx
