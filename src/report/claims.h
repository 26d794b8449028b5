// What a candidate's comments say that its code does, held against the code: "128-bit loads", "staged in shared memory", "unrolled
// by 4". A model whose comments are true knows what it writes; how often that goes with being right is a figure of its own.
#pragma once
#include <string_view>
#include <vector>

#include "report/run_data.h"

namespace ptxlab::report {

// In the order of the text; the same claim is made once. Works on PTX that does not parse, too; what needs its structure is then
// left out.
std::vector<Claimed> claims_of(std::string_view ptx);

}  // namespace ptxlab::report
