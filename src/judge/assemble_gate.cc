#include "judge/assemble_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "judge/policy.h"

namespace ptxlab::judge {
namespace {

using record::GateStatus;
using record::OutcomeName;

AssembleResult skipped(std::string reason) {
  AssembleResult result;
  result.status = GateStatus::skipped;
  result.reason = std::move(reason);
  return result;
}

std::string first_error(const base::Findings& findings) {
  auto at =
      std::find_if(findings.begin(), findings.end(), [](const auto& f) { return f.severity == base::Severity::error; });
  return at == findings.end() ? findings.front().message : at->message;
}

AssembleResult failed(OutcomeName outcome, std::string reason, base::Findings findings) {
  AssembleResult result;
  result.status = GateStatus::failed;
  result.outcome = outcome;
  result.outcome_reason = std::move(reason);
  result.findings = std::move(findings);
  return result;
}

std::string version_text(isa::PtxVersion version) { return fmt::format("{}.{}", version / 10, version % 10); }

// ptxas gave no cubin: whose fault is it?
AssembleResult refused(const base::Findings& findings, const AssembleInput& input) {
  bool no_such_target = std::any_of(findings.begin(), findings.end(), [](const base::Finding& f) {
    return f.message.find("is not defined for option 'gpu-name'") != std::string::npos;
  });
  if (no_such_target)
    return skipped(fmt::format("ptxas {} does not know {}", input.ptxas->version, input.baseline.target.name()));
  const std::string& code = findings.front().code;
  std::string message = first_error(findings);
  if (code == "ASM0006") return failed(OutcomeName::infrastructure, message, findings);
  auto errors = std::count_if(findings.begin(), findings.end(),
                              [](const auto& f) { return f.severity == base::Severity::error; });
  if (code == "ASM0002" || errors > 1)
    message = fmt::format("ptxas refuses it with {} error{}; the first: {}", errors, errors == 1 ? "" : "s", message);
  return failed(OutcomeName::rejected, message, findings);
}

std::vector<toolchain::Resources> launched(const AssembleInput& input, const std::vector<toolchain::Resources>& all) {
  std::vector<toolchain::Resources> some;
  for (const auto& one : all) {
    bool used = std::any_of(input.plan.launches.begin(), input.plan.launches.end(), [&](const launch::Launch& launch) {
      const ptx::Function* entry = input.module.entry(launch.entry);
      return entry && entry->name == one.entry;
    });
    if (used) some.push_back(one);
  }
  return some;
}

// Whether every resolved launch is the baseline's, entries compared by their code and not by their name.
bool same_launches(const AssembleInput& input, const std::map<std::string, std::string>& digests) {
  if (input.baseline.digests.empty() || input.baseline_plans.empty() ||
      input.baseline_plans.size() != input.plans.size())
    return false;
  auto with_code = [](launch::ResolvedPlan plan,
                      const std::map<std::string, std::string>& code) -> std::optional<launch::ResolvedPlan> {
    for (auto& launch : plan.launches) {
      auto digest = code.find(launch.entry);
      if (digest == code.end()) return std::nullopt;
      launch.entry = digest->second;
    }
    return plan;
  };
  for (size_t i = 0; i < input.plans.size(); ++i) {
    auto own = with_code(input.plans[i], digests), theirs = with_code(input.baseline_plans[i], input.baseline.digests);
    if (!own || !theirs || *own != *theirs) return false;
  }
  return true;
}

}  // namespace

AssembleResult run_assemble_gate(const AssembleInput& input) {
  if (!input.ptxas) return skipped("there is no ptxas on this machine (tools/setup fetches one)");
  if (input.ptxas->ptx_version != 0 && input.module.version > input.ptxas->ptx_version) {
    return skipped(fmt::format("ptxas {} takes PTX ISA up to {}, the module says {}", input.ptxas->version,
                               version_text(input.ptxas->ptx_version), version_text(input.module.version)));
  }
  toolchain::AssembleOptions how;
  how.target = input.baseline.target;
  auto assembled = toolchain::assemble(*input.ptxas, input.ptx, input.file, how);
  if (!assembled) return refused(assembled.findings(), input);
  AssembleResult result;
  result.findings = assembled->findings;
  result.resources = launched(input, assembled->entries);
  auto more = check_resources(result.resources, input.plans, input.baseline.target, input.constraints);
  result.findings.insert(result.findings.end(), more.begin(), more.end());
  if (base::has_error(more)) {
    result.status = GateStatus::failed;
    result.outcome = OutcomeName::rejected;
    result.outcome_reason = first_error(more);
    return result;
  }
  result.status = GateStatus::passed;
  std::map<std::string, std::string> digests;
  std::string all;
  for (const auto& one : result.resources) {
    auto digest = toolchain::code_digest(assembled->cubin, one.entry);
    if (!digest) return result;  // no digest, so nothing is called the same
    digests[one.entry] = *digest;
    all += *digest;
  }
  result.code_digest = digests.size() == 1 ? all : base::sha256(all);
  if (same_launches(input, digests)) {
    result.outcome = OutcomeName::same;
    result.outcome_reason = "no effect: machine code and launches are the baseline's";
  }
  return result;
}

}  // namespace ptxlab::judge
