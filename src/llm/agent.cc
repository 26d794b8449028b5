#include "llm/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/bounded_json.h"
#include "base/finding_json.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "base/utf8.h"
#include "llm/dialect.h"
#include "llm/extract.h"
#include "llm/key.h"
#include "record/json.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

constexpr const char* kAnswer = "ptxlab.answer/1";
constexpr uint64_t kMostOutput = uint64_t{16} << 20;

base::Finding finding(const char* code, base::Severity severity, std::string message, std::string hint = "") {
  return {code, severity, {"agent"}, std::move(message), std::move(hint), {}};
}

constexpr std::string_view kSecretEnds[] = {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"};

bool names_a_secret(std::string_view name) {
  return std::any_of(std::begin(kSecretEnds), std::end(kSecretEnds), [&](auto end) { return name.ends_with(end); });
}

// Every secret that the program may know of from us or from its surroundings, so that none stands in what is kept.
std::vector<Key> secrets() {
  std::vector<Key> found;
  for (const auto& [name, value] : taken_keys()) found.emplace_back(value);
  for (char** variable = environ; variable && *variable; ++variable) {
    std::string_view text(*variable);
    size_t equals = text.find('=');
    if (equals == text.npos) continue;
    if (names_a_secret(text.substr(0, equals))) found.emplace_back(std::string(text.substr(equals + 1)));
  }
  return found;
}

std::string hidden(std::string text) {
  for (const auto& key : secrets()) text = key.hide(text);
  return text;
}

std::vector<std::string_view> words_of(std::string_view command) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < command.size();) {
    size_t begin = std::min(command.find_first_not_of(" \t\n", at), command.size());
    at = std::min(command.find_first_of(" \t\n", begin), command.size());
    if (at > begin) words.push_back(command.substr(begin, at - begin));
  }
  return words;
}

// The command's first word that is a program: "A=b env C=d python3 x.py" is called python3.
std::string program_of(std::string_view command) {
  for (auto word : words_of(command)) {
    if (word.find('=') == word.npos && word != "env" && word != "exec") return std::string(word);
  }
  return "command";
}

// The end of what it wrote to stderr, in one line.
std::string last_words(std::string_view errors) {
  constexpr size_t kMost = 300;
  bool more = errors.size() > kMost;
  if (more) errors.remove_prefix(errors.size() - kMost);
  std::string line = more ? "... " : "";
  for (char c : errors) line.push_back(static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c);
  while (line.ends_with(' ')) line.pop_back();
  for (size_t at = 0; auto bad = base::first_ill_formed(std::string_view(line).substr(at));) {
    at += *bad;
    line[at++] = '?';
  }
  return line;
}

class AgentProposer final : public record::Proposer {
 public:
  AgentProposer(std::string command, Settings settings, Template prompt, const Limits& budget)
      : command_(std::move(command)), settings_(std::move(settings)), prompt_(std::move(prompt)), budget_(budget) {}
  std::string name() const override { return "agent:" + program_of(command_); }
  bool learns() const override { return true; }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    if (count <= 0) return Proposal{};
    if (auto why = budget_.used_up(std::chrono::steady_clock::now()))
      return finding("LLM0014", base::Severity::error, *why, "--budget sets it");
    ++turn_;
    auto questions = questions_of(prompt_, brief, settings_.context, count);
    if (!questions) return questions.findings();
    const json ask = ask_json(brief, *questions, turn_, count);
    base::Command run;
    run.argv = {"/bin/sh", "-c", command_};
    run.input = base::print_json(ask, -1) + "\n";
    run.environment = taken_keys();  // the program is the user's own, and may ask a model itself
    run.limits.wall = settings_.http.whole;
    // To the end of the millisecond, so that nothing of the budget is left then.
    if (auto left = budget_.left(std::chrono::steady_clock::now()))
      run.limits.wall = std::min(run.limits.wall, *left + std::chrono::milliseconds(1));
    run.limits.address_space = static_cast<uint64_t>(settings_.agent_gib * (1 << 30));
    run.limits.output = kMostOutput;
    run.stop = base::interrupted;
    auto outcome = base::run(run);
    language_ = brief.language;
    return read(outcome, hidden(std::move(run.input)), *questions, count);
  }

 private:
  Proposal read(const base::Outcome& outcome, std::string asked, const std::vector<Question>& questions, int count) {
    Proposal proposal;
    record::Exchange exchange;
    exchange.request = std::move(asked);
    exchange.response = hidden(outcome.output);
    exchange.tries.push_back({0, base::describe(outcome), outcome.wall, {}});
    auto errors = hidden(outcome.errors);
    if (!outcome.ok()) {
      proposal.findings.push_back(
          finding("LLM0040", base::Severity::error,
                  fmt::format("the agent's program {}{}{}", base::describe(outcome), errors.empty() ? "" : ": ",
                              last_words(errors)),
                  "--model-settings timeout=SECONDS,memory=GIB sets its limits; it may write 16 MiB"));
    } else {
      understand(exchange.response, questions, count, proposal);
    }
    exchange.usage = proposal.usage;
    if (proposal.usage) budget_.add(*proposal.usage);
    if (proposal.candidates.size() == 1) exchange.candidate = 0;
    proposal.exchanges.push_back(std::move(exchange));
    return proposal;
  }

  void understand(const std::string& text, const std::vector<Question>& questions, int count, Proposal& proposal) {
    auto refuse = [&](std::string what) {
      proposal.findings.push_back(finding("LLM0041", base::Severity::error, "the agent's answer " + std::move(what),
                                          "docs/models.md shows what one looks like"));
    };
    if (!base::valid_utf8(text)) return refuse("holds bytes that are not UTF-8");
    auto answer = base::parse_bounded(text);
    if (!answer.is_object()) return refuse(text.empty() ? "is empty" : "is no JSON object");
    if (text_in(answer, "schema") != kAnswer) return refuse(fmt::format("is no {}", kAnswer));
    if (!answer.contains("candidates") || !answer["candidates"].is_array()) return refuse("has no list of candidates");
    proposal.note = text_in(answer, "note");
    const auto& list = answer["candidates"];
    for (const auto& item : list) {
      if (proposal.candidates.size() == static_cast<size_t>(count)) {
        proposal.findings.push_back(
            finding("LLM0042", base::Severity::warning,
                    fmt::format("the agent hands in {} candidates where {} were asked for: the rest is left aside",
                                list.size(), count)));
        break;
      }
      proposal.candidates.push_back(candidate_of(item, questions[proposal.candidates.size()]));
    }
    if (answer.contains("usage")) proposal.usage = usage_of(answer["usage"]);
  }

  record::Candidate candidate_of(const json& item, const Question& question) {
    record::Candidate candidate;
    candidate.proposer = name();
    candidate.prompt = fmt::format("{}\n\n{}", question.system, question.user);
    auto named = text_in(item, "name");
    candidate.name = named.empty() ? fmt::format("answer-{}", ++number_) : named.substr(0, 80);
    candidate.answer = text_in(item, "answer");
    if (!text_in(item, "ptx").empty()) {
      candidate.ptx = text_in(item, "ptx");
      auto plan = text_in(item, "plan");
      if (!plan.empty()) candidate.plan = plan;
    } else if (language_ == record::Language::cuda && !text_in(item, "cuda").empty()) {
      candidate.cuda = text_in(item, "cuda");
      auto plan = text_in(item, "plan");
      if (!plan.empty()) candidate.plan = plan;
    } else if (!candidate.answer.empty()) {
      Reply reply;
      reply.text = candidate.answer;
      auto extracted = extract(reply, question, language_);
      candidate.ptx = std::move(extracted.ptx);
      candidate.cuda = std::move(extracted.cuda);
      candidate.plan = std::move(extracted.plan);
      candidate.idea = std::move(extracted.idea);
      candidate.findings = std::move(extracted.findings);
    } else {
      candidate.findings.push_back(finding("LLM0042", base::Severity::error,
                                           "the agent's candidate has neither 'ptx' nor 'answer'",
                                           "docs/models.md shows what one looks like"));
    }
    auto idea = text_in(item, "idea");
    if (!idea.empty()) candidate.idea = last_words(idea);
    if (candidate.idea.empty()) candidate.idea = "the agent says nothing of it";
    return candidate;
  }

  static record::Usage usage_of(const json& said) {
    record::Usage usage;
    auto count = [&](const char* key) { return count_in(said, key).value_or(0); };
    usage.requests = count("requests");
    usage.asked = count("tokens_asked");
    usage.answered = count("tokens_answered");
    usage.reasoning = std::min(count("tokens_reasoning"), usage.answered);
    usage.cached = std::min(count("tokens_cached"), usage.asked);
    usage.unpriced = usage.asked + usage.answered > 0;
    if (said.is_object() && said.contains("dollars") && said["dollars"].is_number()) {
      double dollars = said["dollars"].get<double>();
      usage.unpriced = !(dollars >= 0 && dollars < 1e9);
      if (!usage.unpriced) usage.dollars = dollars;
    }
    return usage;
  }

  std::string command_;
  Settings settings_;
  Template prompt_;
  Budget budget_;
  record::Language language_ = record::Language::ptx;
  int turn_ = 0, number_ = 0;
};

}  // namespace

base::Findings secrets_in(std::string_view command) {
  bool found = false;
  for (const auto& [name, value] : taken_keys()) found |= Key(value).hide(command) != command;
  std::string_view before;
  for (auto word : words_of(command)) {
    size_t equals = word.find('=');
    auto name = word.substr(0, equals);
    bool assigned = equals != word.npos && (names_a_secret(name) || name == "--api-key");
    auto value = assigned ? word.substr(equals + 1) : before == "--api-key" ? word : std::string_view();
    found |= !value.empty() && value.find('$') == value.npos;  // "$NAME" stands for it, and is no secret
    before = word;
  }
  if (!found) return {};
  return {finding("LLM0043", base::Severity::error, "the agent's command holds a key, which the archive would keep",
                  "set it in the environment: the agent's program gets all of that")};
}

std::unique_ptr<record::Proposer> make_agent_proposer(std::string command, Settings settings, Template prompt,
                                                      Limits budget) {
  return std::make_unique<AgentProposer>(std::move(command), std::move(settings), std::move(prompt), budget);
}

}  // namespace ptxlab::llm
