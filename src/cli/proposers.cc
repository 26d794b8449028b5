#include "cli/proposers.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/files.h"
#include "llm/proposer.h"
#include "loop/files_proposer.h"
#include "loop/transcript.h"
#include "rewrite/proposer.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

struct Provider {
  std::string_view name;
  std::string_view detail;  // what stands after the colon; empty: nothing does
  std::string_view summary;
  base::Result<Proposers> (*make)(std::string_view detail, const ProposerParts& parts);
};

Proposers only(std::unique_ptr<record::Proposer> proposer) {
  Proposers one;
  one.push_back(std::move(proposer));
  return one;
}

base::Result<Proposers> make_model(std::string_view detail, const ProposerParts& parts) {
  // The key first: whatever else is wrong, no process started later inherits it.
  auto key = llm::take_key();
  if (!key) return key.findings();
  auto model = llm::parse_model(detail);
  if (!model) return model.findings();
  auto settings = llm::parse_settings(parts.model_settings);
  if (!settings) return settings.findings();
  auto budget = llm::parse_limits(parts.budget);
  if (!budget) return budget.findings();
  auto prompt = llm::Template::read(parts.prompt.empty() ? root() / "prompts" / "optimize" : fs::path(parts.prompt));
  if (!prompt) return prompt.findings();
  auto client = std::make_unique<llm::Client>(*std::move(model), *std::move(key), *settings, *budget);
  return only(llm::make_model_proposer(std::move(client), *std::move(prompt)));
}

constexpr Provider kProviders[] = {
    {"rules", "", "rewrite rules; needs no model",
     [](std::string_view, const ProposerParts& parts) -> base::Result<Proposers> {
       return only(rewrite::make_rules_proposer(parts.evaluator));
     }},
    {"files", "DIR", "every .ptx in a folder, with its .plan.toml",
     [](std::string_view folder, const ProposerParts&) -> base::Result<Proposers> {
       return only(loop::make_files_proposer(std::string(folder)));
     }},
    {"replay", "DIR", "what --record DIR kept of an earlier run",
     [](std::string_view folder, const ProposerParts&) -> base::Result<Proposers> {
       return loop::make_replay_proposers(std::string(folder));
     }},
    {"openai", "MODEL@URL", "a model behind an OpenAI-compatible server; its key in PTXLAB_API_KEY", make_model},
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

base::Result<Proposers> make(std::string_view item, const ProposerParts& parts) {
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
    return provider.make(detail, parts);
  }
  return unknown(name);
}

}  // namespace

std::string proposer_help() {
  std::string text;
  for (const auto& p : kProviders) {
    text += fmt::format("  {:<17} {}\n",
                        p.detail.empty() ? std::string(p.name) : fmt::format("{}:{}", p.name, p.detail), p.summary);
  }
  return text;
}

base::Result<Proposers> make_proposers(std::string_view list, const ProposerParts& parts) {
  Proposers proposers;
  while (true) {
    size_t comma = list.find(',');
    auto made = make(list.substr(0, comma), parts);
    if (!made) return made.findings();
    for (auto& proposer : *made) proposers.push_back(std::move(proposer));
    if (comma == std::string_view::npos) return proposers;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace ptxlab::cli
