// What the engine counted, by line of the PTX text: what reports and briefs show beside the code.
#pragma once
#include <string>

#include "analysis/profile.h"
#include "ptx/module.h"
#include "record/record.h"

namespace ptxlab::judge {

// What a line profile at the timed sizes is of.
inline constexpr const char* kTimedCtas = "a few CTAs of every launch at the timed sizes";

// Lines with instructions of the functions in the profile, in order; those that never ran have zeros. `of` says what ran.
record::LineProfile line_profile(const ptx::Module& module, const analysis::Profile& profile, std::string of);

}  // namespace ptxlab::judge
