#include "judge/line_profile.h"

#include <map>
#include <utility>

namespace ptxlab::judge {

record::LineProfile line_profile(const ptx::Module& module, const analysis::Profile& profile, std::string of) {
  std::map<uint32_t, record::LineProfile::Counts> lines;
  for (const auto& counts : profile.functions) {
    const ptx::Function* function = module.function(counts.function);
    if (!function) continue;
    for (size_t i = 0; i < function->body.size(); ++i) {
      const ptx::Instruction* instruction = function->body[i].instruction();
      if (!instruction) continue;
      auto& line = lines[instruction->line];
      line.line = instruction->line;
      if (i >= counts.statements.size()) continue;
      const auto& from = counts.statements[i];
      line.warps += from.warps;
      line.threads += from.threads;
      line.requests += from.requests;
      line.sectors += from.sectors;
      line.ideal_sectors += from.ideal_sectors;
      line.passes += from.shared_wavefronts;
      line.ideal_passes += from.ideal_wavefronts;
    }
  }
  record::LineProfile made;
  made.of = std::move(of);
  for (const auto& [number, counts] : lines) made.lines.push_back(counts);
  return made;
}

}  // namespace ptxlab::judge
