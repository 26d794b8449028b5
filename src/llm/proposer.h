// A model over HTTP as proposer, whatever its dialect: "openai:MODEL@URL" and its like. It is asked one question for each
// candidate, several at once. With every turn the question holds what the judge found wrong with the earlier ones.
#pragma once
#include <memory>

#include "llm/client.h"
#include "llm/prompt.h"
#include "record/proposer.h"

namespace ptxlab::llm {

// An answer without a usable candidate is a candidate with an error among its findings, so that it is kept and counted.
// What keeps a question from being answered is a finding of the proposal.
std::unique_ptr<record::Proposer> make_model_proposer(std::unique_ptr<Client> client, Template prompt);

}  // namespace ptxlab::llm
