// Bank conflicts of shared memory: lanes of one request that want different words of one bank are served one after the
// other. How the passes are counted stands in simt/traffic.h.
#include <algorithm>

#include "checkers/remark.h"
#include "checkers/traffic_lines.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kBankConflicts = "CHK0040";

bool is_atomic(const ptx::Instruction& instruction) {
  return instruction.words[0] == "atom" || instruction.words[0] == "red";
}

bool is_wide(const ptx::Instruction& instruction) {
  return std::any_of(instruction.words.begin(), instruction.words.end(),
                     [](const std::string& word) { return word == ".v2" || word == ".v4"; });
}

std::string hint_for(const ptx::Instruction& instruction) {
  if (is_atomic(instruction))
    return "lanes that update one word take turns: give each warp its own copy, or combine values in the warp first";
  return is_wide(instruction)
             ? "lanes of a warp reach different words of one bank (32 banks of 4 bytes): pad the row by 16 bytes, or "
               "exchange columns by xor with the row (swizzle)"
             : "lanes of a warp reach different words of one bank (32 banks of 4 bytes): pad the row by 4 bytes (33 "
               "words instead of 32), or exchange columns by xor with the row (swizzle)";
}

}  // namespace

base::Findings bank_conflicts(const ptx::Module& module, const analysis::Profile& profile) {
  return traffic_notes(
      module, profile, {&analysis::StatementCounts::shared_wavefronts, &analysis::StatementCounts::ideal_wavefronts},
      {kBankConflicts, "bank conflicts", "takes {:.1f} passes", "would do", "passes over shared memory", hint_for});
}

}  // namespace ptxlab::checkers
