#include "judge/baseline.h"

#include <fmt/format.h>

#include "base/file.h"
#include "judge/judge_finding.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

base::Result<std::string> read_ptx(const task::Task& task, const isa::Target& target) {
  if (task.ptx) return base::read_file(*task.ptx);
  toolchain::CompileOptions options;
  options.target = target;
  options.flags = task.compile.flags;
  for (const auto& folder : task.compile.include) options.flags.push_back("-I" + folder.string());
  options.appended = task.compile.instantiate;
  return toolchain::compile_to_ptx(task.kernel, options);
}

std::map<std::string, std::string> digests_of(const toolchain::Assembled& assembled) {
  std::map<std::string, std::string> digests;
  for (const auto& entry : assembled.entries) {
    auto digest = toolchain::code_digest(assembled.cubin, entry.entry);
    if (digest) digests[entry.entry] = *digest;
  }
  return digests;
}

base::Result<toolchain::Assembled> assemble(const toolchain::Tool& ptxas, const Baseline& baseline) {
  toolchain::AssembleOptions options;
  options.target = baseline.target;
  return toolchain::assemble(ptxas, baseline.ptx, baseline.ptx_file, options);
}

void assemble_baseline(Baseline& baseline, const toolchain::Tool* ptxas) {
  if (!ptxas) return;
  auto assembled = assemble(*ptxas, baseline);
  if (!assembled) {
    baseline.findings.push_back(judge_finding("JDG0014", base::Severity::warning,
                                              fmt::format("the baseline does not assemble for {}: {}",
                                                          baseline.target.name(), assembled.findings().front().message),
                                              "judge for a target that the baseline runs on"));
    return;
  }
  baseline.resources = assembled->entries;
  baseline.digests = digests_of(*assembled);
  baseline.ptxas = ptxas->version;
  baseline.cubin = std::move(assembled->cubin);
}

}  // namespace

base::Result<Baseline> read_baseline(const task::Task& task, const isa::Target& target, const Assemblers& assemblers) {
  Baseline baseline;
  baseline.target = target;
  auto ptx = read_ptx(task, target);
  if (!ptx) return ptx.findings();
  auto plan_text = base::read_file(task.plan);
  if (!plan_text) return plan_text.findings();
  baseline.ptx = std::move(*ptx);
  baseline.plan_text = std::move(*plan_text);
  baseline.ptx_file = (task.ptx ? *task.ptx : task.kernel).string();
  baseline.plan_file = task.plan.string();
  if (task.kernel.extension() == ".cu") {
    if (auto source = base::read_file(task.kernel)) baseline.source = std::move(*source);
  }
  auto checked = ptx::check(baseline.ptx, baseline.ptx_file);
  if (!checked.ok()) return checked.findings;
  baseline.module = std::move(checked.module);
  baseline.findings = std::move(checked.findings);
  auto plan = launch::read_plan(baseline.plan_text, baseline.plan_file);
  if (!plan) return plan.findings();
  baseline.plan = std::move(*plan);
  assemble_baseline(baseline, assemblers.taking(baseline.module.version));
  return baseline;
}

base::Result<Baseline> read_rival(const task::Task& task, size_t i, const isa::Target& target,
                                  const Assemblers& assemblers) {
  task::Task as_first = task;
  as_first.ptx = task.folder / task.baselines[i].file;
  as_first.plan = task.folder / task.baselines[i].plan;
  return read_baseline(as_first, target, assemblers);
}

Rivals read_rivals(const task::Task& task, const isa::Target& target, const Assemblers& assemblers) {
  Rivals made;
  for (size_t i = 1; i < task.baselines.size(); ++i) {
    auto read = read_rival(task, i, target, assemblers);
    if (read) {
      made.baselines.push_back(std::move(*read));
    } else {
      made.findings.push_back(
          judge_finding("JDG0051", base::Severity::warning,
                        fmt::format("{}: not timed: {}", task.baselines[i].file, read.findings().front().message)));
    }
  }
  return made;
}

std::map<std::string, std::string> digests_by(const toolchain::Tool& ptxas, const Baseline& baseline) {
  auto assembled = assemble(ptxas, baseline);
  return assembled ? digests_of(*assembled) : std::map<std::string, std::string>();
}

}  // namespace ptxlab::judge
