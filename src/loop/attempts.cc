#include "loop/attempts.h"

#include <algorithm>
#include <cassert>

namespace ptxlab::loop {

record::Verdict verdict_of_findings(const record::Candidate& candidate, const std::string& task,
                                    const isa::Target& target) {
  record::Verdict verdict;
  verdict.outcome = record::OutcomeName::malformed;
  verdict.task = task;
  verdict.target = target.name();
  auto error = std::find_if(candidate.findings.begin(), candidate.findings.end(),
                            [](const auto& finding) { return finding.severity == base::Severity::error; });
  assert(error != candidate.findings.end());
  verdict.reason = error->message;
  verdict.gate(record::GateName::check).status = record::GateStatus::failed;
  return verdict;
}

record::Verdict verdict_of_trouble(const base::Findings& trouble, const std::string& task, const isa::Target& target) {
  assert(!trouble.empty());
  record::Verdict verdict;
  verdict.outcome = record::OutcomeName::infrastructure;
  verdict.task = task;
  verdict.target = target.name();
  verdict.reason = trouble.front().message;
  verdict.gate(record::GateName::check).findings = trouble;
  return verdict;
}

void add_proposer_findings(record::Verdict& verdict, const record::Candidate& candidate) {
  auto& findings = verdict.gate(record::GateName::check).findings;
  findings.insert(findings.begin(), candidate.findings.begin(), candidate.findings.end());
}

record::Earlier as_earlier(const record::Candidate& candidate, const record::Verdict& verdict) {
  record::Earlier earlier{candidate, verdict};
  earlier.candidate.prompt.clear();
  earlier.candidate.findings.clear();
  if (!earlier.candidate.ptx.empty()) earlier.candidate.answer.clear();
  return earlier;
}

}  // namespace ptxlab::loop
