#include "llm/prompt.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "llm/fake_server.h"
#include "llm/proposer.h"
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
       {"## 1: fast, unverified", "Estimated 1.25 times", "// the code of fast", "## 2: broken, malformed",
        "error[PTX0301]: it is <wrong> & \"odd\"", "// the code of broken", "hint: mend it"})
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

}  // namespace
}  // namespace ptxlab::llm
