// The names that --proposer takes. Adding a provider is a line in proposers.cc.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/proposer.h"

namespace ptxlab::cli {

// "rules,files:DIR" to proposers, in that order. `evaluator` guides those that search, and outlives them. Errors: CLI0050
// unknown name (with the nearest), CLI0051 the part after the colon is missing or not wanted.
base::Result<std::vector<std::unique_ptr<record::Proposer>>> make_proposers(std::string_view list,
                                                                            record::Evaluator* evaluator);

// One line for each, for --help.
std::string proposer_help();

}  // namespace ptxlab::cli
