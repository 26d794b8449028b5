#include "llm/proposer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "base/thread_pool.h"
#include "llm/extract.h"
#include "ptx/grammar.h"

namespace ptxlab::llm {
namespace {

class ModelProposer final : public record::Proposer {
 public:
  ModelProposer(std::unique_ptr<Client> client, Template prompt)
      : client_(std::move(client)), prompt_(std::move(prompt)) {}
  std::string name() const override {
    return fmt::format("{}:{}", client_->model().dialect->name(), client_->model().name);
  }
  bool learns() const override { return true; }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    if (count <= 0) return Proposal{};
    ++turn_;
    auto questions = questions_of(prompt_, brief, client_->settings().context, count);
    if (!questions) return questions.findings();
    auto grammar = grammar_of(brief);
    for (auto& question : *questions) question.grammar = grammar;
    std::vector<std::optional<Client::Asked>> asked(static_cast<size_t>(count));
    base::parallel_for(asked.size(), client_->settings().parallel, [&](size_t i) {
      uint64_t seed = base::derive_seed(brief.seed, fmt::format("{} {} {}", name(), turn_, i));
      asked[i] = client_->ask((*questions)[i], seed);
    });
    Proposal proposal = gathered(asked, *questions, brief.language);
    const auto& url = client_->model().url;
    if (turn_ == 1 && !client_->key().empty() && !url.https && !url.loopback()) {
      proposal.findings.push_back({"LLM0006",
                                   base::Severity::warning,
                                   {url.text()},
                                   "the key and the kernel go to this server unencrypted",
                                   "https:// encrypts them; a server that wants no key needs none in PTXLAB_API_KEY",
                                   {}});
    }
    for (const auto& finding : client_->left_out()) {
      if (told_.insert(finding.message).second) proposal.findings.push_back(finding);
    }
    record::Usage used;
    for (const auto& exchange : proposal.exchanges) used.add(exchange.usage.value_or(record::Usage{}));
    proposal.usage = used;
    return proposal;
  }

 private:
  // Made once for a target; of CUDA there is none.
  std::string grammar_of(const record::Brief& brief) {
    auto use = client_->settings().grammar;
    if (use == GrammarUse::none || brief.language != record::Language::ptx) return "";
    if (grammar_.first != brief.target.name()) {
      bool tool = use == GrammarUse::custom;
      constexpr isa::PtxVersion kAny = 999;  // what is too new for its .version is a finding of check
      auto made = ptx::grammar_for(brief.target, kAny, tool ? ptx::GrammarRoot::module : ptx::GrammarRoot::answer);
      grammar_ = {brief.target.name(), tool ? ptx::lark(made) : ptx::gbnf(made)};
    }
    return grammar_.second;
  }

  Proposal gathered(std::vector<std::optional<Client::Asked>>& asked, const std::vector<Question>& questions,
                    record::Language language) {
    Proposal proposal;
    std::map<std::string, int> failures;  // by code
    int unanswered = 0, unusable = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      auto& one = asked[i];
      ++number_;
      if (one->exchange) proposal.exchanges.push_back(*std::move(one->exchange));
      if (one->exchange && one->reply) proposal.exchanges.back().candidate = proposal.candidates.size();
      if (!one->reply) {
        ++unanswered;
        for (const auto& finding : one->reply.findings()) say_once(proposal.findings, finding);
        continue;
      }
      auto candidate = candidate_of(*one->reply, questions[i], language);
      if (base::has_error(candidate.findings)) {
        ++unusable;
        for (const auto& finding : candidate.findings) {
          if (finding.severity == base::Severity::error) ++failures[finding.code];
        }
      }
      proposal.candidates.push_back(std::move(candidate));
    }
    if (unanswered) proposal.note = fmt::format("{} of {} questions were not answered", unanswered, asked.size());
    if (unusable) {
      std::vector<std::string> parts;
      for (const auto& [code, times] : failures) parts.push_back(fmt::format("{} {}", times, code));
      proposal.note += fmt::format("{}{} of {} answers held no candidate ({})", proposal.note.empty() ? "" : "; ",
                                   unusable, proposal.candidates.size(), fmt::join(parts, ", "));
    }
    return proposal;
  }

  // The same trouble with every question is one trouble.
  static void say_once(base::Findings& findings, const base::Finding& finding) {
    bool said = std::any_of(findings.begin(), findings.end(), [&](const auto& other) {
      return other.code == finding.code && (other.message == finding.message || finding.code == "LLM0014");
    });
    if (!said) findings.push_back(finding);
  }

  record::Candidate candidate_of(const Reply& reply, const Question& question, record::Language language) const {
    auto extracted = extract(reply, question, language);
    record::Candidate candidate;
    candidate.ptx = std::move(extracted.ptx);
    candidate.cuda = std::move(extracted.cuda);
    candidate.plan = std::move(extracted.plan);
    candidate.proposer = name();
    candidate.idea = extracted.idea.empty() ? "the model says nothing of it" : std::move(extracted.idea);
    candidate.name = fmt::format("answer-{}", number_);
    candidate.prompt = fmt::format("{}\n\n{}", question.system, question.user);
    candidate.answer = reply.text;
    candidate.findings = std::move(extracted.findings);
    return candidate;
  }

  std::unique_ptr<Client> client_;
  Template prompt_;
  std::pair<std::string, std::string> grammar_;  // of which target, and its text
  int turn_ = 0, number_ = 0;
  std::set<std::string> told_;  // of what the server does not get, said once
};

}  // namespace

std::unique_ptr<record::Proposer> make_model_proposer(std::unique_ptr<Client> client, Template prompt) {
  return std::make_unique<ModelProposer>(std::move(client), std::move(prompt));
}

}  // namespace ptxlab::llm
