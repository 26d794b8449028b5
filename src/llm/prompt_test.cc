#include "llm/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "llm/fake_server.h"
#include "llm/proposer.h"
#include "llm/sections.h"
#include "llm/strategies.h"
#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

record::Brief brief_of(const std::string& name) {
  record::Brief brief;
  auto task = task::find_task(name, "tasks");
  EXPECT_TRUE(task.ok()) << name;
  brief.task = *task;
  brief.target = *isa::target_named("sm_90a");
  auto folder = task->folder;
  brief.baseline_ptx = *base::read_file(folder / "baseline.ptx");
  brief.baseline_plan = *base::read_file(folder / "baseline.plan.toml");
  brief.source = *base::read_file(folder / "kernel.cu");
  toolchain::Resources resources;
  resources.entry = "rmsnorm";
  resources.registers = 32;
  brief.baseline_resources = {resources};
  return brief;
}

record::Earlier earlier(std::string name, record::OutcomeName outcome, std::optional<double> speedup) {
  record::Earlier made;
  made.candidate.name = std::move(name);
  made.candidate.ptx = "// the code of " + made.candidate.name + "\n";
  made.verdict.outcome = outcome;
  made.verdict.reason = "because of " + made.candidate.name;
  made.verdict.estimated_speedup = speedup;
  return made;
}

Template project_template() {
  auto read = Template::read("prompts/optimize");
  EXPECT_TRUE(read.ok()) << base::render(read.findings(), "");
  return *read;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Prompt, CarriesTheWholeBrief) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  brief.constraints.max_registers = 64;
  auto question = project_template().fill(brief, 100'000);
  ASSERT_TRUE(question.ok()) << base::render(question.findings(), "");
  for (const char* part : {"norm/rmsnorm_bf16", "x: input buffer of bf16[m, n]", "eps: scalar f32", "sm_90a",
                           "at most 64 registers a thread", "approximate instructions", "__global__", "loop 0",
                           "registers live at its start", "bytes on each time around", "32 registers a thread",
                           "(m = 16384, n = 4096)", "2 sectors"})
    EXPECT_TRUE(has(question->user, part)) << part << "\n" << question->user;
  EXPECT_TRUE(has(question->system, "```ptx"));
  // Nothing of this machine, nothing unfilled, no debug lines.
  for (const char* part : {PTXLAB_SOURCE_DIR, "/tmp", "{{", "&lt;", "&quot;", ".loc", ".file", "Earlier attempts"})
    EXPECT_FALSE(has(question->user + question->system, part)) << part;
}

TEST(Prompt, LinesAreThoseOfTheTextShown) {
  auto question = project_template().fill(brief_of("norm/rmsnorm_bf16"), 100'000);
  ASSERT_TRUE(question.ok());
  const auto& text = question->user;
  size_t begin = text.find("in PTX\n```\n") + 11;
  std::vector<std::string> lines;
  std::istringstream in(text.substr(begin));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  size_t at = 0, checked = 0;
  while ((at = text.find("- line ", at)) != text.npos) {
    size_t number = std::stoul(text.substr(at + 7));
    size_t instruction = text.find(": ", at) + 2;
    auto shown = text.substr(instruction, text.find(';', instruction) - instruction);
    ASSERT_LE(number, lines.size());
    EXPECT_TRUE(has(lines[number - 1], shown)) << number << ": " << lines[number - 1] << " is not " << shown;
    ++checked;
    at = instruction;
  }
  EXPECT_GT(checked, 4u);
}

TEST(Prompt, EarlierAttemptsComeWithTheirFindings) {
  auto brief = brief_of("elementwise/vector_add_f32");
  brief.earlier = {earlier("fast", record::OutcomeName::unverified, 1.25),
                   earlier("broken", record::OutcomeName::malformed, {})};
  base::Finding finding{
      "PTX0301", base::Severity::error, {"candidate.ptx", 1, 4, 3}, "it is <wrong> & \"odd\"", "mend it", {}};
  brief.earlier[1].verdict.gate(record::GateName::check).findings = {finding};
  auto question = project_template().fill(brief, 100'000);
  ASSERT_TRUE(question.ok());
  for (const char* part :
       {"## 1: fast, unverified", "Estimated, not measured: 1.25 times", "// the code of fast",
        "## 2: broken, malformed", "error[PTX0301]: it is <wrong> & \"odd\"", "// the code of broken", "hint: mend it"})
    EXPECT_TRUE(has(question->user, part)) << part << "\n" << question->user;
}

TEST(Prompt, DropsTheLeastTellingAttemptsUntilItFits) {
  auto brief = brief_of("elementwise/vector_add_f32");
  auto alone = project_template().fill(brief, 100'000);
  ASSERT_TRUE(alone.ok());
  int64_t tokens = estimated_tokens(alone->user) + estimated_tokens(alone->system);
  for (int i = 0; i < 5; ++i) {
    brief.earlier.push_back(earlier("wrong" + std::to_string(i), record::OutcomeName::wrong, {}));
    brief.earlier.back().candidate.ptx += std::string(2000, ';');
  }
  brief.earlier.push_back(earlier("best", record::OutcomeName::unverified, 1.5));
  brief.earlier.push_back(earlier("slow", record::OutcomeName::unverified, 0.5));
  auto question = project_template().fill(brief, tokens + 2500);
  ASSERT_TRUE(question.ok());
  EXPECT_LE(estimated_tokens(question->user) + estimated_tokens(question->system), tokens + 2500);
  EXPECT_TRUE(has(question->user, ": best,"));
  EXPECT_TRUE(has(question->user, ": slow,"));
  EXPECT_FALSE(has(question->user, ": wrong0,"));
  EXPECT_TRUE(has(question->user, ": wrong4,"));  // the newest failure
  EXPECT_TRUE(has(question->user, "4 more are not shown."));
  auto too_long = project_template().fill(brief, tokens / 2);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.findings().front().code, "LLM0005");
}

TEST(Prompt, ATemplateThatIsNoneIsAFinding) {
  EXPECT_EQ(Template::read("prompts/none").findings().front().code, "LLM0004");
  base::TemporaryFolder folder("prompt");
  ASSERT_TRUE(base::write_file(folder.path() / "system.mustache", "You write PTX.").empty());
  ASSERT_TRUE(base::write_file(folder.path() / "user.mustache", "{{#open}} never closed").empty());
  auto read = Template::read(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.findings().front().code, "LLM0004");
  ASSERT_TRUE(base::write_file(folder.path() / "user.mustache", "Only {{task}} for {{target}}").empty());
  auto question = Template::read(folder.path())->fill(brief_of("elementwise/vector_add_f32"), 1000);
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->user, "Only elementwise/vector_add_f32 for sm_90a");
}

std::unique_ptr<record::Proposer> proposer_of(const std::string& url, const std::string& settings = "",
                                              Limits limits = {}) {
  auto client = std::make_unique<Client>(*parse_model(openai_dialect(), "org/m@" + url), Key("sk-0123456789"),
                                         *parse_settings(settings), limits);
  client->sleep = [](std::chrono::milliseconds) {};
  return make_model_proposer(std::move(client), project_template());
}

TEST(ModelProposer, AsksSeveralAtOnceAndNamesThemInOrder) {
  FakeServer server({"slow good"}, {{"good", "An idea.\n```ptx\n.version 8.0\n.target sm_80\n```\n"}});
  auto proposer = proposer_of(server.url(), "parallel=3");
  EXPECT_TRUE(proposer->learns());
  auto proposal = proposer->propose(brief_of("elementwise/vector_add_f32"), 6);
  ASSERT_TRUE(proposal.ok());
  ASSERT_EQ(proposal->candidates.size(), 6u);
  EXPECT_EQ(proposal->candidates[5].name, "answer-6");
  EXPECT_EQ(proposal->candidates[0].proposer, "openai:org/m");
  EXPECT_EQ(proposal->candidates[0].idea, "An idea.");
  EXPECT_TRUE(has(proposal->candidates[0].prompt, "You write PTX"));
  EXPECT_TRUE(has(proposal->candidates[0].answer, "An idea."));
  EXPECT_EQ(proposal->exchanges.size(), 6u);
  EXPECT_EQ(server.most_at_once(), 3u);
  ASSERT_TRUE(proposal->usage);
  EXPECT_EQ(proposal->usage->requests, 6);
  EXPECT_TRUE(proposal->findings.empty());
  auto more = proposer->propose(brief_of("elementwise/vector_add_f32"), 1);
  EXPECT_EQ(more->candidates.at(0).name, "answer-7");
  EXPECT_EQ(more->usage->requests, 1);
}

TEST(ModelProposer, TheSameTroubleIsToldOnce) {
  FakeServer server({"status 401"}, {});
  auto proposal = proposer_of(server.url())->propose(brief_of("elementwise/vector_add_f32"), 5);
  ASSERT_TRUE(proposal.ok());
  EXPECT_TRUE(proposal->candidates.empty());
  ASSERT_EQ(proposal->findings.size(), 1u);
  EXPECT_EQ(proposal->findings[0].code, "LLM0011");
  EXPECT_TRUE(has(proposal->note, "5 of 5 questions were not answered"));
  EXPECT_EQ(proposal->exchanges.size(), 5u);
}

TEST(ModelProposer, WarnsOfAKeyThatTravelsUnencrypted) {
  auto codes = [](const std::string& url) {
    auto proposal =
        proposer_of(url, "tries=1,connect=0.2,timeout=0.3")->propose(brief_of("elementwise/vector_add_f32"), 1);
    std::string all;
    for (const auto& finding : proposal->findings) all += finding.code + " ";
    return all;
  };
  EXPECT_TRUE(has(codes("http://192.0.2.1:9/v1"), "LLM0006"));  // an address for documentation: nobody is there
  EXPECT_FALSE(has(codes("http://127.0.0.1:1/v1"), "LLM0006"));
}

Template all_jobs() {
  auto read = Template::read("prompts");
  EXPECT_TRUE(read.ok()) << base::render(read.findings(), "");
  return *read;
}

Filled filled(const record::Brief& brief, const record::Ask& ask, int64_t tokens = 100'000) {
  auto made = all_jobs().fill(brief, ask, tokens);
  EXPECT_TRUE(made.ok()) << base::render(made.findings(), "");
  return made ? *made : Filled{};
}

record::Timing timing() {
  record::TimedSize size;
  size.size = "m=16384 n=4096";
  size.baseline = "baseline.ptx";
  size.baseline_us = 120;
  size.candidate_us = 100;
  size.speedup = 1.2;
  size.low = 1.19;
  size.high = 1.21;
  record::Timing timing;
  timing.device = "NVIDIA H200";
  timing.speedup = 1.2, timing.low = 1.19, timing.high = 1.21;
  timing.sizes = {size};
  return timing;
}

TEST(Prompt, WhatWasMeasuredIsShownAndNoEstimateBesideIt) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  brief.baseline_estimate = record::Estimate{.nanoseconds = 1e5, .size = "m=16384 n=4096", .size_ns = 1e5};
  EXPECT_TRUE(has(filled(brief, {}).question.user, "# Its time, estimated and not measured"));
  EXPECT_TRUE(has(filled(brief, {}).question.user, "- m=16384 n=4096: about 100.0 us on "));
  brief.baseline_estimate->size.clear();
  EXPECT_TRUE(has(filled(brief, {}).question.user, "- about 100.0 us on ")) << "the only size goes without a name";
  brief.earlier = {earlier("wide", record::OutcomeName::faster, 3.5)};
  brief.earlier[0].verdict.timing = timing();
  brief.earlier[0].verdict.resources.push_back({.entry = "tile", .registers = 40, .code_bytes = 5120});
  auto user = filled(brief, {}).question.user;
  for (const char* part : {"Measured: 1.200 times as fast (1.190 to 1.210) on NVIDIA H200",
                           "at m=16384 n=4096 100.0 us against 120.0 us of baseline.ptx",
                           "What ptxas made of it: tile: 40 registers a thread, nothing spilled",
                           "# Its time, measured on NVIDIA H200", "m=16384 n=4096: 120.0 us (baseline.ptx"})
    EXPECT_TRUE(has(user, part)) << part << "\n" << user;
  for (const char* part : {"3.50", "stimated, not measured", "estimated and not measured"})
    EXPECT_FALSE(has(user, part)) << part;
  // What was measured is more telling than what is only said to be faster.
  brief.earlier.push_back(earlier("dream", record::OutcomeName::unverified, 9));
  auto prompt = all_jobs();
  EXPECT_TRUE(has(prompt.fill(brief, 100'000)->user, ": dream,"));
  auto shown = filled(brief, {}, filled(brief, {}).tokens - 1);
  EXPECT_EQ(shown.attempts, 1u);
  EXPECT_TRUE(has(shown.question.user, ": wide,"));
}

TEST(Prompt, EachSectionSwitchesOffAlone) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  brief.hardware = {{"device", "a wonder"}};
  brief.baseline_profile = record::LineProfile{"everything", {{.line = 60, .warps = 5}}};
  brief.baseline_estimate = record::Estimate{.nanoseconds = 1};
  brief.earlier = {earlier("one", record::OutcomeName::wrong, {})};
  record::Ask ask;
  ask.strategy = "vectorise";
  ask.advice = "wider";
  const auto whole = filled(brief, ask);
  size_t tried = 0;
  for (const auto& section : sections()) {
    if (!section.switches_off) continue;
    const std::string name(section.name);
    ASSERT_NE(std::find(whole.sections.begin(), whole.sections.end(), name), whole.sections.end()) << name;
    auto prompt = all_jobs();
    ASSERT_TRUE(prompt.leave_out({name}).empty());
    auto made = prompt.fill(brief, ask, 100'000);
    ASSERT_TRUE(made.ok());
    auto left = whole.sections;
    std::erase(left, name);
    EXPECT_EQ(made->sections, left);
    EXPECT_LT(made->tokens, whole.tokens) << name;
    ++tried;
  }
  EXPECT_EQ(tried, 12u);
  auto prompt = all_jobs();
  EXPECT_EQ(prompt.leave_out({"structur"}).at(0).hint, "did you mean 'structure'?");
  EXPECT_EQ(prompt.leave_out({"answer"}).at(0).code, "LLM0018");
}

TEST(Prompt, SectionsGoInTheStatedOrder) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  brief.hardware = {{"device", "a wonder"}};
  brief.baseline_profile = record::LineProfile{"everything", {{.line = 60, .warps = 5}}};
  brief.baseline_estimate = record::Estimate{.nanoseconds = 1};
  brief.earlier = {earlier("one", record::OutcomeName::wrong, {}), earlier("two", record::OutcomeName::wrong, {})};
  record::Ask ask;
  ask.strategy = "vectorise";
  ask.advice = "wider";
  auto made = filled(brief, ask);
  EXPECT_EQ(made.attempts, 2u);
  std::vector<std::string> gone;
  // One token too few each time: one thing more goes.
  for (size_t i = 0;; ++i) {
    auto next = all_jobs().fill(brief, ask, made.tokens - 1);
    if (!next) {
      EXPECT_EQ(next.findings().at(0).code, "LLM0005");
      break;
    }
    ASSERT_LT(next->tokens, made.tokens);
    made = *next;
    gone = made.left_out;
    if (i == 0) {
      EXPECT_EQ(made.attempts, 1u);
      EXPECT_TRUE(gone.empty());
    }
  }
  EXPECT_EQ(gone, std::vector<std::string>(cut_order().begin(), cut_order().end()));
}

// Whatever the kernel, the job, what is switched off and the room there is: the question keeps to its budget, what went is a beginning of
// the stated order, and nothing went that there was room for.
TEST(Prompt, ABudgetIsKeptAndTakesNoMoreThanItMust) {
  base::Random random(20261130);
  size_t tried = 0, refused = 0;
  for (const char* name : {"norm/rmsnorm_bf16", "softmax/softmax_f32", "elementwise/vector_add_f32"}) {
    auto brief = brief_of(name);
    for (int i = 0; i < 9; ++i) {
      auto outcome = i % 2 ? record::OutcomeName::wrong : record::OutcomeName::unverified;
      brief.earlier.push_back(earlier("attempt" + std::to_string(i), outcome, 0.5 + random.uniform()));
      brief.earlier.back().candidate.ptx += std::string(random.below(900), ';');
    }
    brief.hardware = {{"device", "a wonder"}};
    brief.baseline_estimate = record::Estimate{.nanoseconds = 1};
    for (record::Job job : {record::Job::optimize, record::Job::write, record::Job::repair, record::Job::reflect}) {
      auto prompt = all_jobs();
      std::vector<std::string> off;
      for (const auto& section : sections())
        if (section.switches_off && random.below(4) == 0) off.emplace_back(section.name);
      ASSERT_TRUE(prompt.leave_out(off).empty());
      record::Ask ask{.job = job, .strategy = "vectorise", .advice = "wider"};
      if (job == record::Job::repair || job == record::Job::reflect) ask.about = random.below(9);
      // All that the question can shrink to, the longest first.
      std::vector<Filled> shorter;
      for (int64_t room = 1'000'000;; room = shorter.back().tokens - 1) {
        auto made = prompt.fill(brief, ask, room);
        if (!made) break;
        shorter.push_back(*std::move(made));
      }
      ASSERT_FALSE(shorter.empty());
      for (size_t i = 1; i < shorter.size(); ++i) {
        const auto &before = shorter[i - 1], &now = shorter[i];
        // One thing went: an attempt, or a section, with the last attempt in it perhaps.
        const size_t attempts = before.attempts - now.attempts, gone = before.sections.size() - now.sections.size();
        ASSERT_LE(attempts, 1u);
        ASSERT_LE(gone, 1u);
        ASSERT_GE(attempts + gone, 1u);
        if (attempts + gone == 2) {
          EXPECT_EQ(now.left_out.back(), "attempts");
        }
        if (!now.left_out.empty()) {
          EXPECT_LE(now.attempts, 1u) << "attempts go first";
        }
      }
      auto order = cut_order().begin();
      for (const auto& gone : shorter.back().left_out) {
        while (order != cut_order().end() && *order != gone) ++order;
        ASSERT_NE(order, cut_order().end()) << gone << " went out of its turn";
        EXPECT_EQ(std::find(off.begin(), off.end(), gone), off.end());
        EXPECT_NE(std::find(shorter[0].sections.begin(), shorter[0].sections.end(), gone), shorter[0].sections.end());
      }
      for (int i = 0; i < 12; ++i) {
        auto room = static_cast<int64_t>(random.below(static_cast<uint64_t>(shorter[0].tokens) + 100));
        auto made = prompt.fill(brief, ask, room);
        auto fits = std::find_if(shorter.begin(), shorter.end(), [&](const auto& one) { return one.tokens <= room; });
        ++tried;
        if (fits == shorter.end()) {
          ASSERT_FALSE(made.ok());
          EXPECT_EQ(made.findings()[0].code, "LLM0005");
          ++refused;
          continue;
        }
        ASSERT_TRUE(made.ok());
        EXPECT_EQ(made->question.user, fits->question.user);
        EXPECT_EQ(made->tokens, estimated_tokens(made->question.system) + estimated_tokens(made->question.user));
        EXPECT_LE(made->tokens, room);
        for (const auto& gone : made->left_out)
          EXPECT_EQ(std::find(made->sections.begin(), made->sections.end(), gone), made->sections.end());
      }
    }
  }
  EXPECT_EQ(tried, 144u);
  EXPECT_GT(refused, 10u);
  EXPECT_LT(refused, 134u);
}

TEST(Prompt, EachJobAsksForItsOwn) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  brief.earlier = {earlier("broken", record::OutcomeName::wrong, {}),
                   earlier("other", record::OutcomeName::unverified, 1.1)};
  auto write = filled(brief, {.job = record::Job::write});
  EXPECT_TRUE(has(write.question.user, ".visible .entry _Z7rmsnorm"));
  EXPECT_TRUE(has(write.question.user, "RMS normalisation of"));
  EXPECT_FALSE(has(write.question.user, "$L__BB0"));
  EXPECT_FALSE(has(write.question.user, "__global__"));
  auto repair = filled(brief, {.job = record::Job::repair, .about = 0});
  EXPECT_TRUE(has(repair.question.user, "# The attempt this is about: 1: broken, wrong"));
  EXPECT_TRUE(has(repair.question.user, "## 2: other, unverified"));
  EXPECT_FALSE(has(repair.question.user, "## 1: broken"));
  auto reflect = filled(brief, {.job = record::Job::reflect, .about = 1});
  EXPECT_TRUE(has(reflect.question.user, "# The attempt this is about: 2: other, unverified"));
  EXPECT_EQ(all_jobs().fill(brief, {.job = record::Job::repair, .about = 7}, 9999).findings().at(0).code, "LLM0031");
  EXPECT_EQ(all_jobs().fill(brief, {.job = record::Job::reflect}, 9999).findings().at(0).code, "LLM0031");
  brief.language = record::Language::cuda;
  auto cuda = filled(brief, {});
  EXPECT_TRUE(has(cuda.question.system, "begins with ```cuda"));
  EXPECT_FALSE(has(cuda.question.system, "```ptx"));
}

TEST(Prompt, HotLinesAreThoseOfTheTextShown) {
  auto brief = brief_of("norm/rmsnorm_bf16");
  std::istringstream in(brief.baseline_ptx);
  uint32_t number = 0, load = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!load && has(line, "ld.global")) load = number;
  }
  brief.baseline_profile = record::LineProfile{
      "everything", {{.line = load, .warps = 10, .requests = 10, .sectors = 320, .ideal_sectors = 40}}};
  auto user = filled(brief, {}).question.user;
  EXPECT_TRUE(has(user, "32.0 sectors a request where 4.0 would do")) << user;
  const size_t at = user.find("# Where the work is");
  const auto line = std::stoul(user.substr(user.find("- line ", at) + 7));
  size_t begin = user.find("in PTX\n```\n") + 11;
  std::istringstream shown(user.substr(begin));
  std::string text;
  for (size_t i = 0; i < line; ++i) std::getline(shown, text);
  EXPECT_TRUE(has(text, "ld.global")) << line << ": " << text;
  EXPECT_NE(line, load);  // lines of the compiler's notes are gone
}

TEST(Prompt, QuestionsDifferAsTheAsksDo) {
  auto brief = brief_of("elementwise/vector_add_f32");
  auto strategies = read_strategies("prompts/strategies.toml");
  ASSERT_TRUE(strategies.ok()) << base::render(strategies.findings(), "");
  EXPECT_EQ(strategies->size(), 8u);
  for (size_t i = 0; i < 2; ++i)
    brief.asks.push_back({.strategy = (*strategies)[i].name,
                          .advice = (*strategies)[i].advice,
                          .temperature = 0.2 + 0.5 * static_cast<double>(i)});
  auto questions = questions_of(all_jobs(), brief, 100'000, 3);
  ASSERT_TRUE(questions.ok());
  EXPECT_TRUE(has((*questions)[0].user, "vectorise: "));
  EXPECT_TRUE(has((*questions)[1].user, "asynchronous copies: "));
  EXPECT_EQ((*questions)[2].user, (*questions)[0].user);
  EXPECT_EQ((*questions)[1].temperature, 0.7);
  auto json = ask_json(brief, *questions, 2, 3);
  EXPECT_EQ(json["schema"], "ptxlab.ask/1");
  EXPECT_EQ(json["questions"].size(), 3u);
  EXPECT_EQ(json["brief"]["asks"][1]["strategy"], "asynchronous copies");
  EXPECT_EQ(read_strategies("prompts/optimize/user.mustache").findings().at(0).code, "LLM0019");
}

}  // namespace
}  // namespace ptxlab::llm
