#include "cli/proposers.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "loop/files_proposer.h"
#include "loop/transcript.h"
#include "rewrite/proposer.h"

namespace ptxlab::cli {
namespace {

struct Provider {
  std::string_view name;
  std::string_view detail;  // what stands after the colon; empty: nothing does
  std::string_view summary;
  std::unique_ptr<record::Proposer> (*make)(std::string_view detail, record::Evaluator* evaluator);
};

constexpr Provider kProviders[] = {
    {"rules", "", "rewrite rules; needs no model",
     [](std::string_view, record::Evaluator* evaluator) { return rewrite::make_rules_proposer(evaluator); }},
    {"files", "DIR", "every .ptx in a folder, with its .plan.toml",
     [](std::string_view folder, record::Evaluator*) { return loop::make_files_proposer(std::string(folder)); }},
    {"replay", "DIR", "what --record DIR kept of an earlier run",
     [](std::string_view folder, record::Evaluator*) { return loop::make_replay_proposer(std::string(folder)); }},
};

base::Finding unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& provider : kProviders) known.emplace_back(provider.name);
  auto near = base::nearest(name, known);
  return {"CLI0050",
          base::Severity::error,
          {},
          fmt::format("there is no proposer '{}'", name),
          near.empty() ? fmt::format("there are:\n{}", proposer_help()) : fmt::format("did you mean '{}'?", near),
          {}};
}

base::Result<std::unique_ptr<record::Proposer>> make(std::string_view item, record::Evaluator* evaluator) {
  size_t colon = item.find(':');
  auto name = item.substr(0, colon);
  auto detail = colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1);
  for (const auto& provider : kProviders) {
    if (provider.name != name) continue;
    if (provider.detail.empty() != detail.empty()) {
      return base::Finding{"CLI0051",
                           base::Severity::error,
                           {},
                           provider.detail.empty() ? fmt::format("'{}' takes nothing after a colon", name)
                                                   : fmt::format("'{0}' needs a {1}: {0}:{1}", name, provider.detail),
                           "",
                           {}};
    }
    return provider.make(detail, evaluator);
  }
  return unknown(name);
}

}  // namespace

std::string proposer_help() {
  std::string text;
  for (const auto& p : kProviders) {
    text += fmt::format("  {:<12} {}\n",
                        p.detail.empty() ? std::string(p.name) : fmt::format("{}:{}", p.name, p.detail), p.summary);
  }
  return text;
}

base::Result<std::vector<std::unique_ptr<record::Proposer>>> make_proposers(std::string_view list,
                                                                            record::Evaluator* evaluator) {
  std::vector<std::unique_ptr<record::Proposer>> proposers;
  while (true) {
    size_t comma = list.find(',');
    auto proposer = make(list.substr(0, comma), evaluator);
    if (!proposer) return proposer.findings();
    proposers.push_back(std::move(*proposer));
    if (comma == std::string_view::npos) return proposers;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace ptxlab::cli
