// The value of --target, which several commands take.
#pragma once
#include <string>

#include "base/result.h"
#include "isa/target.h"

namespace ptxlab::cli {

// Error: CLI0023, with the nearest known target.
base::Result<isa::Target> parse_target(const std::string& word);

}  // namespace ptxlab::cli
