// The proposer that needs no model: applies rules to the baseline, and rules to what rules made.
#pragma once
#include <memory>

#include "record/proposer.h"

namespace ptxlab::rewrite {

// With an evaluator the candidates come best first by its estimate, and the best are the ones that get rewritten
// further; it has to outlive the proposer. Without one, in the rules' own order. No two candidates have the same code
// and plan, and none has the baseline's: compared by what ptxas makes of them where it is there, else by their text
// without comments.
std::unique_ptr<record::Proposer> make_rules_proposer(record::Evaluator* evaluator = nullptr);

}  // namespace ptxlab::rewrite
