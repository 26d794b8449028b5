#include "analysis/pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "analysis/registers.h"
#include "isa/target.h"
#include "ptx/codes.h"

namespace ptxlab::analysis {
namespace {

// All registers that a function uses, in units of 32 bits: below the limit nothing has to be computed.
uint64_t units_in(const ptx::Function& function) {
  uint64_t units = 0;
  for (const ptx::Register& reg : function.registers) units += static_cast<uint64_t>(units_of(reg));
  return units;
}

// What a loop hands from one turn to the next: alive at its header and written inside. The assembler can neither move such
// a value nor compute it anew, as it can those that are merely alive.
uint32_t carried(const ptx::Function& function, const Cfg& cfg, const Liveness& liveness, const Loop& loop) {
  std::vector<bool> counted(function.registers.size());
  uint32_t units = 0;
  for (uint32_t block : loop.blocks) {
    for (uint32_t i = cfg.blocks()[block].begin; i < cfg.blocks()[block].end; ++i) {
      const ptx::Instruction* instruction = function.body[i].instruction();
      if (!instruction) continue;
      for (uint32_t reg : register_use(*instruction).writes) {
        if (counted[reg] || !liveness.live_in(loop.header, reg)) continue;
        counted[reg] = true;
        units += static_cast<uint32_t>(units_of(function.registers[reg]));
      }
    }
  }
  return units;
}

uint32_t first_line(const ptx::Function& function, const Block& block) {
  for (uint32_t i = block.begin; i < block.end; ++i)
    if (const auto* instruction = function.body[i].instruction()) return instruction->line;
  return 0;
}

}  // namespace

base::Findings register_overflow(const ptx::Module& module) {
  base::Findings findings;
  for (const ptx::Function& function : module.functions) {
    if (!function.entry || !function.has_body) continue;
    auto most = static_cast<uint32_t>(isa::limits_of(module.target).max_registers_thread);
    std::vector<uint32_t> named = function.directive(".maxnreg");
    bool limited = !named.empty() && named[0] > 0 && named[0] < most;
    uint32_t limit = limited ? named[0] : most;
    if (units_in(function) <= limit) continue;
    Cfg cfg(function);
    Liveness liveness(function, cfg);
    if (!liveness.computed() || liveness.peak() <= limit) continue;
    uint32_t most_carried = 0, line = 0;
    for (const Loop& loop : cfg.loops()) {
      uint32_t units = carried(function, cfg, liveness, loop);
      if (units <= most_carried) continue;
      most_carried = units;
      line = first_line(function, cfg.blocks()[loop.header]);
    }
    if (most_carried <= limit) continue;
    base::Finding finding;
    finding.code = ptx::spelling(ptx::Code::register_overflow);
    finding.severity = base::Severity::warning;
    finding.place = base::place_of(module.source, function.name_span, module.file);
    finding.message = fmt::format("the loop at line {} carries {} registers of 32 bits round, a thread has {}{}", line,
                                  most_carried, limit, limited ? " by .maxnreg" : "");
    finding.hint = "ptxas keeps the rest in local memory, which is slow: keep fewer values, or raise the limit";
    if (!limited)
      finding.hint = "ptxas keeps the rest in local memory, which is slow: keep fewer values in each thread";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace ptxlab::analysis
