#include "checkers/traffic_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace ptxlab::checkers {
namespace {

// What belongs together: the source line where there is one, else the instruction itself; loads and stores apart.
using Key = std::tuple<const ptx::Function*, uint32_t, uint32_t, uint32_t, std::string>;

Key key_of(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction) {
  if (instruction.loc == 0 || instruction.loc > module.locations.size())
    return {&function, 0, instruction.line, 0, instruction.words.front()};
  const ptx::Loc& loc = module.locations[instruction.loc - 1];
  return {&function, loc.file, loc.line, 1, instruction.words.front()};
}

}  // namespace

WorstLines worst_lines(const ptx::Module& module, const analysis::Profile& profile, TrafficKind kind) {
  WorstLines out;
  std::map<Key, TrafficLine> groups;
  for (const auto& counts : profile.functions) {
    const ptx::Function* function = module.function(counts.function);
    if (!function) continue;
    for (size_t i = 0; i < std::min(function->body.size(), counts.statements.size()); ++i) {
      const ptx::Instruction* instruction = function->body[i].instruction();
      const analysis::StatementCounts& c = counts.statements[i];
      if (!instruction || instruction->words.empty() || c.*kind.units == 0) continue;
      out.total += c.*kind.units;
      TrafficLine& line = groups[key_of(module, *function, *instruction)];
      ++line.instructions;
      line.requests += c.requests;
      line.units += c.*kind.units;
      line.ideal += std::min(c.*kind.ideal, c.*kind.units);
      // Ten copies of an unrolled loop's access differ by an accident of order: the first of those that cost much stands
      // for all.
      const uint64_t excess = c.*kind.units - std::min(c.*kind.ideal, c.*kind.units);
      if (line.instruction && excess <= 2 * line.excess_of_instruction) continue;
      line.instruction = instruction;
      line.excess_of_instruction = excess;
    }
  }
  for (const auto& [key, line] : groups)
    if (2 * line.units >= 3 * line.ideal && 20 * line.excess() >= out.total && line.excess() >= kLeastExcess)
      out.lines.push_back(line);
  std::stable_sort(out.lines.begin(), out.lines.end(),
                   [](const TrafficLine& a, const TrafficLine& b) { return a.excess() > b.excess(); });
  if (out.lines.size() > kWorstLines) {
    out.left_out = out.lines.size() - kWorstLines;
    out.lines.resize(kWorstLines);
  }
  return out;
}

std::string access_name(const ptx::Module& module, const ptx::Instruction& instruction) {
  const std::string& word = instruction.words.front();
  const char* what = word == "ld" || word == "ldu" ? "load" : word == "st" ? "store" : nullptr;
  std::string out = fmt::format("{} at line {}", what ? what : word, instruction.line);
  if (instruction.loc == 0 || instruction.loc > module.locations.size()) return out;
  const ptx::Loc& loc = module.locations[instruction.loc - 1];
  for (const auto& [number, name] : module.files)
    if (number == loc.file) return fmt::format("{} ({}:{})", out, name.substr(name.find_last_of('/') + 1), loc.line);
  return out;
}

base::Findings traffic_notes(const ptx::Module& module, const analysis::Profile& profile, TrafficKind kind,
                             const TrafficWords& words) {
  base::Findings out;
  const WorstLines worst = worst_lines(module, profile, kind);
  for (const TrafficLine& line : worst.lines) {
    base::Finding finding;
    finding.code = words.code;
    finding.severity = base::Severity::note;
    finding.place.file = module.file;
    finding.place.line = line.instruction->line;
    const auto requests = static_cast<double>(line.requests);
    const std::string more =
        line.instructions > 1 ? fmt::format(" and {} more of its source line", line.instructions - 1) : "";
    finding.message = fmt::format("{}: the {}{} {} a request where {:.1f} {}, {:.0f} % of all {}; {} requests",
                                  words.subject, access_name(module, *line.instruction), more,
                                  fmt::format(fmt::runtime(words.takes), static_cast<double>(line.units) / requests),
                                  static_cast<double>(line.ideal) / requests, words.at_best,
                                  100.0 * static_cast<double>(line.units) / static_cast<double>(worst.total),
                                  words.of_all, line.requests);
    finding.hint = words.hint(*line.instruction);
    out.push_back(std::move(finding));
  }
  if (worst.left_out)
    out.back().message +=
        fmt::format("; {} other place{} left out", worst.left_out, worst.left_out == 1 ? " is" : "s are");
  return out;
}

}  // namespace ptxlab::checkers
