#include "loop/brief.h"

namespace ptxlab::loop {

record::Brief make_brief(const task::Task& task, const judge::Baseline& baseline,
                         const record::Constraints& constraints, uint64_t seed) {
  record::Brief brief;
  brief.task = task;
  brief.target = baseline.target;
  brief.baseline_ptx = baseline.ptx;
  brief.baseline_plan = baseline.plan_text;
  brief.source = baseline.source;
  brief.baseline_resources = baseline.resources;
  if (const auto& nvdisasm = toolchain::installed().nvdisasm; nvdisasm && !baseline.cubin.empty()) {
    // What it cannot read is left out, as where it is absent.
    if (auto facts = toolchain::sass_facts(*nvdisasm, baseline.cubin)) brief.baseline_sass = std::move(*facts);
  }
  brief.constraints = constraints;
  brief.seed = seed;
  return brief;
}

}  // namespace ptxlab::loop
