#include "cli/proposers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/interrupt.h"
#include "base/nearest.h"
#include "cli/files.h"
#include "llm/agent.h"
#include "llm/dialect.h"
#include "llm/price.h"
#include "llm/proposer.h"
#include "loop/files_proposer.h"
#include "loop/transcript.h"
#include "rewrite/proposer.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

struct Provider {
  std::string name;
  std::string detail;  // what stands after the colon; empty: nothing does
  std::string summary;
  std::function<base::Result<Proposers>(std::string_view detail, const ProposerParts& parts)> make;
};

Proposers only(std::unique_ptr<record::Proposer> proposer) {
  Proposers one;
  one.push_back(std::move(proposer));
  return one;
}

base::Result<std::optional<llm::Price>> price_of(const llm::Model& model, const llm::Settings& settings) {
  auto prices = llm::Prices::read(root() / "models" / "prices.toml");
  if (!prices) return prices.findings();
  return llm::price_of(model, settings, *prices);
}

base::Result<Proposers> make_model(const llm::Dialect& dialect, std::string_view detail, const ProposerParts& parts) {
  auto model = llm::parse_model(dialect, detail);
  if (!model) return model.findings();
  const auto server = model->url.host == dialect.vendor_host()    ? llm::KeyFor::vendor
                      : model->url.https || model->url.loopback() ? llm::KeyFor::another
                                                                  : llm::KeyFor::in_open;
  auto key = llm::key_for(dialect.key_variables(), server);
  if (!key) return key.findings();
  // A local server may want none; a vendor's own never answers without, and would get the kernel all the same.
  if (key->empty() && model->url.host == dialect.vendor_host()) {
    return base::Finding{"LLM0009",
                         base::Severity::error,
                         {},
                         fmt::format("{} wants a key, and none is set", model->url.host),
                         fmt::format("{} or PTXLAB_API_KEY holds it", fmt::join(dialect.key_variables(), " or ")),
                         {}};
  }
  auto settings = llm::parse_settings(parts.model_settings);
  if (!settings) return settings.findings();
  auto budget = llm::parse_limits(parts.budget);
  if (!budget) return budget.findings();
  auto price = price_of(*model, *settings);
  if (!price) return price.findings();
  if (budget->dollars && !*price) {
    return base::Finding{
        "LLM0008",
        base::Severity::error,
        {},
        fmt::format("a budget in dollars needs a price, and none is known of {} at {}", model->name, model->url.host),
        "--model-settings price_asked=N,price_answered=N says it, in dollars for a million tokens",
        {}};
  }
  auto prompt = read_prompt(parts);
  if (!prompt) return prompt.findings();
  auto client = std::make_unique<llm::Client>(*std::move(model), *std::move(key), *settings, *budget, *price);
  client->stop = base::interrupted;
  return only(llm::make_model_proposer(std::move(client), *std::move(prompt)));
}

base::Result<Proposers> make_agent(std::string_view command, const ProposerParts& parts) {
  auto settings = llm::parse_settings(parts.model_settings);
  if (!settings) return settings.findings();
  auto budget = llm::parse_limits(parts.budget);
  if (!budget) return budget.findings();
  if (auto wrong = llm::secrets_in(command); !wrong.empty()) return wrong;
  auto prompt = read_prompt(parts);
  if (!prompt) return prompt.findings();
  return only(llm::make_agent_proposer(std::string(command), *settings, *std::move(prompt), *budget));
}

const std::vector<Provider>& providers() {
  static const std::vector<Provider> kAll = [] {
    std::vector<Provider> all = {
        {"rules", "", "rewrite rules; needs no model",
         [](std::string_view, const ProposerParts& parts) {
           return only(rewrite::make_rules_proposer(parts.evaluator));
         }},
        {"files", "DIR", "every .ptx in a folder, with its .plan.toml",
         [](std::string_view folder, const ProposerParts&) {
           return only(loop::make_files_proposer(std::string(folder)));
         }},
        {"replay", "DIR", "what --record DIR kept of an earlier run",
         [](std::string_view folder, const ProposerParts&) {
           return loop::make_replay_proposers(std::string(folder));
         }},
        {"agent", "CMD", "any program: the brief as JSON on its stdin, candidates on its stdout", make_agent},
    };
    for (const llm::Dialect* dialect : llm::dialects()) {
      all.push_back({std::string(dialect->name()), dialect->home().empty() ? "MODEL@URL" : "MODEL[@URL]",
                     fmt::format("{}; key: {}", dialect->summary(), fmt::join(dialect->key_variables(), ", ")),
                     [dialect](std::string_view detail, const ProposerParts& parts) {
                       return make_model(*dialect, detail, parts);
                     }});
    }
    return all;
  }();
  return kAll;
}

base::Finding unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& provider : providers()) known.emplace_back(provider.name);
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
  for (const auto& provider : providers()) {
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

base::Result<llm::Template> read_prompt(const ProposerParts& parts) {
  auto prompt = llm::Template::read(parts.prompt.empty() ? root() / "prompts" : fs::path(parts.prompt));
  if (!prompt) return prompt;
  if (auto wrong = prompt->leave_out(parts.without); !wrong.empty()) return wrong;
  return prompt;
}

std::string proposer_help() {
  std::string text;
  for (const auto& p : providers()) {
    text += fmt::format("  {:<21} {}\n",
                        p.detail.empty() ? std::string(p.name) : fmt::format("{}:{}", p.name, p.detail), p.summary);
  }
  return text;
}

base::Result<ProposerFacts> proposer_facts(std::string_view item, const ProposerParts& parts) {
  auto made = make(item, parts);
  if (!made) return made.findings();
  if (made->size() != 1) {
    return base::Finding{"CLI0056",
                         base::Severity::error,
                         {},
                         fmt::format("'{}' stands for {} proposers", item, made->size()),
                         "name a folder for each",
                         {}};
  }
  ProposerFacts facts;
  facts.learns = made->front()->learns();
  auto settings = llm::parse_settings(parts.model_settings);
  if (!settings) return settings.findings();
  facts.settings = *settings;
  size_t colon = item.find(':');
  for (const llm::Dialect* dialect : llm::dialects()) {
    if (colon == item.npos || dialect->name() != item.substr(0, colon)) continue;
    auto model = llm::parse_model(*dialect, item.substr(colon + 1));
    if (!model) return model.findings();
    auto price = price_of(*model, *settings);
    if (!price) return price.findings();
    facts.model = true;
    facts.price = *price;
  }
  return facts;
}

namespace {

// Where the first item of the list ends. A command may hold commas: of an agent's only one in front of another proposer's name ends it.
size_t end_of_item(std::string_view list) {
  size_t comma = list.find(',');
  if (!list.starts_with("agent:")) return comma;
  for (; comma != list.npos; comma = list.find(',', comma + 1)) {
    auto name = list.substr(comma + 1);
    name = name.substr(0, name.find_first_of(":,"));
    const auto& all = providers();
    if (std::any_of(all.begin(), all.end(), [&](const Provider& known) { return known.name == name; })) break;
  }
  return comma;
}

}  // namespace

base::Result<Proposers> make_proposers(std::string_view list, const ProposerParts& parts) {
  Proposers proposers;
  while (true) {
    size_t comma = end_of_item(list);
    auto made = make(list.substr(0, comma), parts);
    if (!made) return made.findings();
    for (auto& proposer : *made) proposers.push_back(std::move(proposer));
    if (comma == std::string_view::npos) return proposers;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace ptxlab::cli
