// The proposer "agent:CMD": any program that reads what is asked as one JSON object on its standard input and writes candidates as
// one JSON object to its standard output (docs/models.md has both). It runs under limits, once for each turn.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/finding.h"
#include "llm/budget.h"
#include "llm/model.h"
#include "llm/prompt.h"
#include "record/proposer.h"

namespace ptxlab::llm {

// A command that holds a key or a password would take it into the archive. Error: LLM0043; the finding does not show it.
base::Findings secrets_in(std::string_view command);

// `command` is run by the shell, as the user would, and held to `budget`: to its seconds always, between turns to the rest, as far as the
// program says what it has used. Errors of a proposal: LLM0014 the budget is used up, LLM0040 the program failed or ran into a limit, LLM0041 what it wrote
// is no answer; LLM0042, of a candidate or a warning: what is wrong with that one.
std::unique_ptr<record::Proposer> make_agent_proposer(std::string command, Settings settings, Template prompt,
                                                      Limits budget = {});

}  // namespace ptxlab::llm
