// What ptxas prints, as data: errors and warnings become findings with their place, the "-v" lines become resources.
#pragma once
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {

struct PtxasLog {
  base::Findings findings;         // ASM0002 errors, ASM0011 warnings, ASM0012 advice ("Potential Performance Loss")
  std::vector<Resources> entries;  // in the order of the log
  bool internal_error = false;     // ptxas says that it itself failed
  bool out_of_memory = false;
};

// `ptx` and `file` give the findings their column and name. Lines that it does not understand are left out.
PtxasLog read_ptxas_log(std::string_view log, std::string_view ptx, std::string_view file);

}  // namespace ptxlab::toolchain
