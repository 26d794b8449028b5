// Uncoalesced accesses to global memory: requests that touch more 32-byte sectors than their bytes would fill if they lay
// side by side.
#include <fmt/format.h>

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
  base::Findings out;
  const WorstLines worst =
      worst_lines(module, profile, {&analysis::StatementCounts::sectors, &analysis::StatementCounts::ideal_sectors});
  for (const TrafficLine& line : worst.lines) {
    base::Finding finding;
    finding.code = kUncoalesced;
    finding.severity = base::Severity::note;
    finding.place.file = module.file;
    finding.place.line = line.instruction->line;
    const auto requests = static_cast<double>(line.requests);
    finding.message = fmt::format(
        "uncoalesced: the {}{} touches {:.1f} sectors of 32 bytes a request where {:.1f} would hold its bytes, {:.0f} "
        "% "
        "of all sectors; {} requests",
        access_name(module, *line.instruction),
        line.instructions > 1 ? fmt::format(" and {} more of its source line", line.instructions - 1) : "",
        static_cast<double>(line.units) / requests, static_cast<double>(line.ideal) / requests,
        100.0 * static_cast<double>(line.units) / static_cast<double>(worst.total), line.requests);
    finding.hint = hint_for(*line.instruction);
    out.push_back(std::move(finding));
  }
  if (worst.left_out)
    out.back().message +=
        fmt::format("; {} other place{} left out", worst.left_out, worst.left_out == 1 ? " is" : "s are");
  return out;
}

}  // namespace ptxlab::checkers
