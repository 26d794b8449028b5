// The values of --ptxas and --witness: which assemblers a judgement uses.
#pragma once
#include <string>

#include "base/result.h"
#include "judge/assemblers.h"

namespace ptxlab::cli {

constexpr const char* kPtxasHelp = "The ptxas that assembles: a version that doctor lists, or an executable";
constexpr const char* kWitnessHelp = "A second ptxas; what it says of the candidate is told, and decides nothing";

// Empty words: what this machine prefers, and no witness. Errors: ASM0011, ASM0012.
base::Result<judge::Assemblers> choose_assemblers(const std::string& ptxas, const std::string& witness);

}  // namespace ptxlab::cli
