// Uncoalesced accesses to global memory: requests that touch more 32-byte sectors than their bytes would fill if they lay
// side by side.
#include "checkers/remark.h"
#include "checkers/traffic_lines.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kUncoalesced = "CHK0041";

std::string hint_for(const ptx::Instruction& instruction) {
  if (instruction.words[0] == "atom" || instruction.words[0] == "red")
    return "lanes update places far apart: gather the updates of a CTA in shared memory first";
  return "let neighbouring lanes reach neighbouring elements: let the lane's number be the fastest index, or go "
         "through "
         "shared memory";
}

}  // namespace

base::Findings uncoalesced(const ptx::Module& module, const analysis::Profile& profile) {
  return traffic_notes(
      module, profile, {&analysis::StatementCounts::sectors, &analysis::StatementCounts::ideal_sectors},
      {kUncoalesced, "uncoalesced", "touches {:.1f} sectors of 32 bytes", "would hold its bytes", "sectors", hint_for});
}

}  // namespace ptxlab::checkers
