// What optimise and bench do alike with a candidate around its judging.
#pragma once
#include "record/record.h"

namespace ptxlab::loop {

// The verdict of a candidate that its own proposer found an error with: there is nothing to run, and it is malformed. What was
// found stands in its check gate. `candidate` has an error among its findings.
record::Verdict verdict_of_findings(const record::Candidate& candidate, const std::string& task,
                                    const isa::Target& target);

// The verdict where the machine had trouble before there was anything to judge: never the candidate's fault.
record::Verdict verdict_of_trouble(const base::Findings& trouble, const std::string& task, const isa::Target& target);

// Puts what the proposer says of a candidate before what the judge found in check.
void add_proposer_findings(record::Verdict& verdict, const record::Candidate& candidate);

// For the next turn's brief: without the question, which held the brief before it, without what the verdict says too, and without
// an answer whose PTX is there.
record::Earlier as_earlier(const record::Candidate& candidate, const record::Verdict& verdict);

}  // namespace ptxlab::loop
