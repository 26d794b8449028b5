#include "judge/assemble_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "judge/judge_finding.h"
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

// ptxas gave no cubin: whose fault is it?
AssembleResult refused(const base::Findings& findings, const toolchain::Tool& ptxas, const AssembleInput& input) {
  bool no_such_target = std::any_of(findings.begin(), findings.end(), [](const base::Finding& f) {
    return f.message.find("is not defined for option 'gpu-name'") != std::string::npos;
  });
  if (no_such_target)
    return skipped(fmt::format("ptxas {} does not know {}", ptxas.version, input.baseline.target.name()));
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
bool same_launches(const AssembleInput& input, const std::map<std::string, std::string>& baselines,
                   const std::map<std::string, std::string>& digests) {
  if (baselines.empty() || input.baseline_plans.empty() || input.baseline_plans.size() != input.plans.size())
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
    auto own = with_code(input.plans[i], digests), theirs = with_code(input.baseline_plans[i], baselines);
    if (!own || !theirs || *own != *theirs) return false;
  }
  return true;
}

base::Result<toolchain::Assembled> assemble_by(const toolchain::Tool& ptxas, const AssembleInput& input) {
  toolchain::AssembleOptions how;
  how.target = input.baseline.target;
  return toolchain::assemble(ptxas, input.ptx, input.file, how);
}

std::string registers_of(const std::vector<toolchain::Resources>& entries) {
  std::vector<std::string> all;
  for (const auto& one : entries) {
    std::string spills =
        one.spill_loads + one.spill_stores ? fmt::format(", {} bytes spilled", one.spill_loads + one.spill_stores) : "";
    all.push_back(fmt::format("{} registers{}, {} bytes of code", one.registers, spills, one.code_bytes));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

// What a second ptxas says of the same text, beside what the first one made of it (null: it refused). Never decides.
void hear_witness(const AssembleInput& input, const toolchain::Tool& first, const toolchain::Assembled* made,
                  base::Findings& findings) {
  if (!input.assemblers.witness || input.assemblers.witness->version == first.version) return;
  const toolchain::Tool& witness = *input.assemblers.witness;
  auto say = [&](base::Severity severity, std::string message, std::string hint) {
    findings.push_back(judge_finding("JDG0026", severity, fmt::format("witness ptxas {}: {}", witness.version, message),
                                     std::move(hint)));
  };
  if (witness.ptx_version != 0 && input.module.version > witness.ptx_version) {
    return say(base::Severity::note,
               fmt::format("takes PTX ISA up to {}.{} only", witness.ptx_version / 10, witness.ptx_version % 10), "");
  }
  auto heard = assemble_by(witness, input);
  if (!heard) {
    std::string why = first_error(heard.findings());
    if (!made) return say(base::Severity::note, "refuses it too: " + why, "");
    return say(base::Severity::warning, fmt::format("refuses what {} takes: {}", first.version, why),
               "one of them is wrong: ask the manual before you ship it");
  }
  std::string theirs = registers_of(launched(input, heard->entries));
  if (!made)
    return say(base::Severity::note, fmt::format("takes it ({})", theirs),
               "the refusal may be a fault of the older one");
  std::string ours = registers_of(launched(input, made->entries));
  say(base::Severity::note,
      ours == theirs ? "takes it with the same resources"
                     : fmt::format("takes it ({}; {}: {})", theirs, first.version, ours),
      "");
}

}  // namespace

AssembleResult run_assemble_gate(const AssembleInput& input) {
  const toolchain::Tool* ptxas = input.assemblers.taking(input.module.version);
  if (!ptxas) return skipped(input.assemblers.why_none(input.module.version));
  auto assembled = assemble_by(*ptxas, input);
  if (!assembled) {
    AssembleResult result = refused(assembled.findings(), *ptxas, input);
    hear_witness(input, *ptxas, nullptr, result.findings);
    return result;
  }
  AssembleResult result;
  result.findings = assembled->findings;
  if (ptxas->version != input.assemblers.preferred->version) {
    result.findings.push_back(judge_finding(
        "JDG0025", base::Severity::note,
        fmt::format("assembled by ptxas {}: {} does not take PTX ISA {}.{}", ptxas->version,
                    input.assemblers.preferred->version, input.module.version / 10, input.module.version % 10),
        "a driver loads such a cubin, and the PTX itself only where it is as new"));
  }
  hear_witness(input, *ptxas, &*assembled, result.findings);
  result.resources = launched(input, assembled->entries);
  result.cubin = assembled->cubin;
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
  if (same_launches(
          input, ptxas->version == input.baseline.ptxas ? input.baseline.digests : digests_by(*ptxas, input.baseline),
          digests)) {
    result.outcome = OutcomeName::same;
    result.outcome_reason = "no effect: machine code and launches are the baseline's";
  }
  return result;
}

}  // namespace ptxlab::judge
