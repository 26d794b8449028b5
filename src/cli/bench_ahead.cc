#include "cli/bench_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "archive/bench.h"
#include "llm/prompt.h"
#include "llm/tokens.h"
#include "report/table.h"

namespace ptxlab::cli {
namespace {

using nlohmann::json;

// What earlier runs of bench in this archive took.
struct Experience {
  double judge_seconds = 0;
  size_t judged = 0;
  std::map<std::string, std::pair<double, size_t>> ask_seconds;  // by the arm's name
};

base::Result<Experience> experience(archive::Archive& archive, const loop::Lock& lock) {
  Experience known;
  auto benches = archive.benches();
  if (!benches) return benches.findings();
  for (const auto& bench : *benches) {
    auto answers = archive.answers(bench.run.id);
    if (!answers) return answers.findings();
    for (const auto& answer : *answers) {
      bool same = std::any_of(lock.tasks.begin(), lock.tasks.end(),
                              [&](const auto& task) { return task.task.name == answer.cell.task; });
      if (!same) continue;
      if (answer.attempt) known.judge_seconds += answer.judge_seconds, ++known.judged;
      auto& arm = known.ask_seconds[answer.cell.arm];
      arm.first += answer.seconds, ++arm.second;
    }
  }
  return known;
}

// The tokens of a task's first question, and of an answer as long as its baseline.
struct Tokens {
  int64_t asked = 0, answered = 0;
};
base::Result<Tokens> tokens_of(const llm::Template& prompt, record::Brief brief, record::Language language,
                               int64_t context) {
  brief.language = language;
  auto question = prompt.fill(brief, context);
  if (!question) return question.findings();
  const auto& like = language == record::Language::cuda && !brief.source.empty() ? brief.source : brief.baseline_ptx;
  return Tokens{llm::estimated_tokens(question->system) + llm::estimated_tokens(question->user),
                llm::estimated_tokens(like) + 200};
}

double dollars_of(const llm::Price& price, int64_t asked, int64_t answered) {
  record::Usage usage;
  usage.asked = asked, usage.answered = answered;
  return llm::cost_of(price, usage);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string count(int64_t n) {
  if (n < 10'000) return fmt::format("{}", n);
  return n < 10'000'000 ? fmt::format("{:.0f}k", static_cast<double>(n) / 1e3)
                        : fmt::format("{:.1f}M", static_cast<double>(n) / 1e6);
}

// A model's tokens and money over all tasks. A later turn's question holds the turns before it: the answer, and what was found.
base::Findings model_ahead(BenchSet& set, const loop::Lock& lock, const loop::ArmSpec& arm, const ProposerFacts& facts,
                           ArmAhead& out, std::vector<std::string>& notes) {
  constexpr int64_t kFindings = 400;
  auto prompt = llm::Template::read(BenchSet::proposer_parts(lock.spec, arm).prompt);
  if (!prompt) return prompt.findings();
  double dollars = 0;
  for (size_t task = 0; task < lock.tasks.size(); ++task) {
    auto brief = set.brief(lock, task);
    if (!brief) return brief.findings();
    auto tokens = tokens_of(*prompt, *brief, arm.language, facts.settings.context);
    if (!tokens) {
      notes.push_back(fmt::format("`{}` cannot be asked about {}: {}", arm.name, lock.tasks[task].task.name,
                                  tokens.findings().front().message));
      continue;
    }
    int64_t answered = tokens->answered;
    if (facts.settings.answer_tokens) answered = std::min(answered, *facts.settings.answer_tokens);
    for (int turn = 1; turn <= lock.spec.turns; ++turn) {
      int64_t asked = std::min(tokens->asked + (turn - 1) * (answered + kFindings), facts.settings.context);
      out.asked += asked * lock.spec.k;
      out.answered += answered * lock.spec.k;
      if (facts.price) dollars += lock.spec.k * dollars_of(*facts.price, asked, answered);
    }
  }
  if (facts.price) out.dollars = dollars;
  return {};
}

}  // namespace

base::Result<Ahead> look_ahead(BenchSet& set, const loop::Lock& lock, archive::Archive* archive) {
  Ahead ahead;
  Experience known;
  if (archive) {
    auto read = experience(*archive, lock);
    if (!read) return read.findings();
    known = *std::move(read);
  }
  if (known.judged > 0) {
    ahead.seconds_a_candidate = known.judge_seconds / static_cast<double>(known.judged);
    ahead.seconds_from = known.judged;
  }
  const auto tasks = static_cast<int64_t>(lock.tasks.size());
  for (const auto& arm : lock.spec.arms) {
    auto facts = proposer_facts(BenchSet::proposer_of(lock.spec, arm, {arm.name, "-", 1, 1}),
                                BenchSet::proposer_parts(lock.spec, arm));
    if (!facts) return facts.findings();
    ArmAhead one;
    one.name = arm.name;
    one.learns = facts->learns, one.model = facts->model;
    one.questions = tasks * (facts->learns ? int64_t{lock.spec.k} * lock.spec.turns : 1);
    ahead.judged += tasks * lock.spec.k * (facts->learns ? lock.spec.turns : 1);
    if (facts->model) {
      if (auto trouble = model_ahead(set, lock, arm, *facts, one, ahead.notes); !trouble.empty()) return trouble;
      if (!facts->price) ahead.notes.push_back(fmt::format("`{}`: the price of its model is not known", arm.name));
    }
    if (auto found = known.ask_seconds.find(arm.name); found != known.ask_seconds.end())
      one.seconds_a_question = found->second.first / static_cast<double>(found->second.second);
    ahead.arms.push_back(std::move(one));
  }
  return ahead;
}

std::string text(const Ahead& ahead, const loop::Lock& lock, size_t jobs) {
  std::string out = fmt::format("{}: {} tasks x {} arms x k = {} x {} turn{}: at most {} candidates to judge\n\n",
                                lock.spec.name, lock.tasks.size(), lock.spec.arms.size(), lock.spec.k, lock.spec.turns,
                                lock.spec.turns == 1 ? "" : "s", ahead.judged);
  std::vector<std::vector<std::string>> rows;
  double waiting = 0;
  bool waiting_known = true;
  for (size_t i = 0; i < ahead.arms.size(); ++i) {
    const auto& arm = ahead.arms[i];
    const auto& spec = lock.spec.arms[i];
    rows.push_back({arm.name, fmt::format("{}", arm.questions), arm.model ? count(arm.asked) : "-",
                    arm.model ? count(arm.answered) : "-",
                    !arm.model    ? "nothing"
                    : arm.dollars ? fmt::format("${:.2f}", *arm.dollars)
                                  : "unknown",
                    arm.seconds_a_question ? duration(*arm.seconds_a_question) : "unknown", spec.proposer});
    if (arm.seconds_a_question) {
      waiting += *arm.seconds_a_question * static_cast<double>(arm.questions) / (arm.learns ? spec.parallel : 1);
    } else {
      waiting_known = false;
    }
  }
  out += report::table({{"arm"},
                        {"questions", true},
                        {"tokens asked", true},
                        {"answered", true},
                        {"costs", true},
                        {"an answer takes", true},
                        {"proposer"}},
                       rows);
  out +=
      "\ntokens: estimated, if every turn is taken and an answer is as long as the baseline; thinking comes on top\n";
  if (ahead.seconds_a_candidate) {
    double judging = *ahead.seconds_a_candidate * static_cast<double>(ahead.judged) / static_cast<double>(jobs);
    out += fmt::format("judging: about {} with {} jobs, from {} candidates of earlier runs\n", duration(judging), jobs,
                       ahead.seconds_from);
  } else {
    out += "judging: no earlier run to go by; seconds a candidate for most tasks\n";
  }
  out += waiting_known ? fmt::format("answers: about {}, from earlier runs\n", duration(waiting))
                       : "answers: no earlier run of every arm to go by\n";
  for (const auto& note : ahead.notes) out += "note: " + note + "\n";
  return out;
}

json to_json(const Ahead& ahead, const loop::Lock& lock, size_t jobs) {
  json arms = json::array();
  for (const auto& arm : ahead.arms) {
    arms.push_back({{"name", arm.name},
                    {"questions", arm.questions},
                    {"tokens_asked", arm.model ? json(arm.asked) : json(nullptr)},
                    {"tokens_answered", arm.model ? json(arm.answered) : json(nullptr)},
                    {"dollars", arm.model ? arm.dollars ? json(*arm.dollars) : json(nullptr) : json(0)},
                    {"seconds_a_question", arm.seconds_a_question ? json(*arm.seconds_a_question) : json(nullptr)}});
  }
  json tasks = json::array();
  for (const auto& task : lock.tasks) tasks.push_back(task.task.name);
  return {{"schema", "ptxlab.bench.ahead/1"},
          {"name", lock.spec.name},
          {"tasks", std::move(tasks)},
          {"k", lock.spec.k},
          {"turns", lock.spec.turns},
          {"jobs", jobs},
          {"candidates", ahead.judged},
          {"seconds_a_candidate", ahead.seconds_a_candidate ? json(*ahead.seconds_a_candidate) : json(nullptr)},
          {"arms", std::move(arms)},
          {"notes", ahead.notes}};
}

}  // namespace ptxlab::cli
