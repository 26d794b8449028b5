// The names that --proposer takes. Adding a provider is a line in proposers.cc.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/model.h"
#include "llm/price.h"
#include "llm/prompt.h"
#include "record/proposer.h"

namespace ptxlab::cli {

// What proposers are made with.
struct ProposerParts {
  record::Evaluator* evaluator = nullptr;  // guides those that search; outlives them
  std::string model_settings, budget;      // as --model-settings and --budget say; the budget is each model's
  std::string prompt;                      // a folder of templates; empty: the project's own
  std::vector<std::string> without;        // sections that no question has
};

using Proposers = std::vector<std::unique_ptr<record::Proposer>>;

// "rules,files:DIR" to proposers, in that order; an agent's command may hold commas. To be called before the process has threads: a model's key is taken out of
// the environment. Errors: CLI0050 unknown name (with the nearest), CLI0051 the part after the colon is missing or not
// wanted, LLM0001 to LLM0004, LLM0007 to LLM0009 and LLM0032 of a model, LLM0043 of an agent.
base::Result<Proposers> make_proposers(std::string_view list, const ProposerParts& parts);

// What is known of a proposer before it is asked anything: whether it is a model, and what that costs.
struct ProposerFacts {
  bool learns = false;
  bool model = false;  // it has a server, with a price or without a known one
  std::optional<llm::Price> price;
  llm::Settings settings;
};
// Errors: those of make_proposers; CLI0056 where `item` stands for several proposers.
base::Result<ProposerFacts> proposer_facts(std::string_view item, const ProposerParts& parts);

// One line for each, for --help.
std::string proposer_help();

// The templates of what models are asked, without the sections that `parts` leave out. Errors: LLM0004, LLM0018.
base::Result<llm::Template> read_prompt(const ProposerParts& parts);

}  // namespace ptxlab::cli
