#include "rewrite/finish.h"

#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::rewrite {

base::Result<Rewritten> finish(ptx::Module module, const launch::Plan* plan, Rewritten result) {
  auto& header = module.header.before;
  std::vector<std::string> lines{
      "// Rewritten by ptxlab, rule " + result.name + ": " + result.idea + ".",
      "// Test it before production: a rewriting is right only where it has been checked to be."};
  header.insert(header.begin(), lines.begin(), lines.end());
  result.ptx = ptx::print(module);
  if (plan) result.plan = launch::print(*plan);
  auto checked = ptx::check(result.ptx, result.name + ".ptx");
  if (checked.ok()) return result;
  auto fault = refusal("RW0099", "rule " + result.name + " made PTX that check refuses",
                       "this is a fault in ptxlab, not in the kernel");
  base::Findings findings{fault};
  for (const auto& finding : checked.findings)
    if (finding.severity == base::Severity::error) findings.push_back(finding);
  return findings;
}

}  // namespace ptxlab::rewrite
