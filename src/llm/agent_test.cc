// The proposer "agent:CMD": programs that answer, that lie, hang, flood, grow, crash and tell secrets.
#include "llm/agent.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "llm/key.h"

namespace ptxlab::llm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = ".version 8.0\n.target sm_80\n.address_size 64\n";

record::Brief brief() {
  record::Brief made;
  fs::path folder = "tasks/elementwise/vector_add_f32";
  auto task = task::read_task(folder / "task.toml");
  EXPECT_TRUE(task.ok());
  made.task = *task;
  made.target = *isa::target_named("sm_90a");
  made.baseline_ptx = *base::read_file(folder / "baseline.ptx");
  made.baseline_plan = *base::read_file(folder / "baseline.plan.toml");
  return made;
}

class Agent : public testing::Test {
 protected:
  record::Proposer::Proposal propose(const std::string& command, int count = 2, const std::string& settings = "") {
    auto proposer = make_agent_proposer(command, *parse_settings(settings), *Template::read("prompts/optimize"));
    auto proposal = proposer->propose(brief(), count);
    EXPECT_TRUE(proposal.ok());
    return proposal ? *proposal : record::Proposer::Proposal();
  }
  // A file with this answer, and the command that prints it.
  std::string says(const nlohmann::json& answer) {
    auto file = folder_.path() / "answer.json";
    EXPECT_TRUE(base::write_file(file, answer.dump()).empty());
    return "cat >/dev/null; cat " + file.string();
  }
  static std::string all_of(const record::Proposer::Proposal& proposal) {
    std::string all = base::render(proposal.findings, "") + proposal.note;
    for (const auto& candidate : proposal.candidates)
      all += candidate.ptx + candidate.answer + candidate.idea + base::render(candidate.findings, "");
    for (const auto& exchange : proposal.exchanges) all += exchange.request + exchange.response;
    return all;
  }
  base::TemporaryFolder folder_{"agent"};
};

TEST_F(Agent, IsAskedInJsonAndAnswersInJson) {
  auto kept = folder_.path() / "asked.json";
  auto answer = says({{"schema", "ptxlab.answer/1"},
                      {"note", "one idea only"},
                      {"candidates",
                       {{{"name", "wide"}, {"idea", "wider loads"}, {"ptx", kModule}, {"plan", "x = 1"}},
                        {{"answer", std::string("In prose.\n```ptx\n") + kModule + "```\n"}}}},
                      {"usage", {{"requests", 2}, {"tokens_asked", 100}, {"tokens_answered", 50}, {"dollars", 0.25}}}});
  auto proposal = propose("tee " + kept.string() + " >/dev/null; " + answer.substr(answer.find(';') + 1));
  EXPECT_TRUE(proposal.findings.empty()) << base::render(proposal.findings, "");
  EXPECT_EQ(proposal.note, "one idea only");
  ASSERT_EQ(proposal.candidates.size(), 2u);
  EXPECT_EQ(proposal.candidates[0].name, "wide");
  EXPECT_EQ(proposal.candidates[0].idea, "wider loads");
  EXPECT_EQ(proposal.candidates[0].ptx, kModule);
  EXPECT_EQ(proposal.candidates[0].plan, "x = 1");
  EXPECT_EQ(proposal.candidates[1].ptx, kModule);
  EXPECT_EQ(proposal.candidates[1].idea, "In prose.");
  EXPECT_EQ(proposal.candidates[1].proposer, "agent:tee");
  ASSERT_TRUE(proposal.usage);
  EXPECT_EQ(proposal.usage->cost(), 0.25);
  auto asked = nlohmann::json::parse(*base::read_file(kept));
  EXPECT_EQ(asked["schema"], "ptxlab.ask/1");
  EXPECT_EQ(asked["count"], 2);
  EXPECT_EQ(asked["turn"], 1);
  EXPECT_EQ(asked["brief"]["schema"], "ptxlab.brief/1");
  EXPECT_NE(asked["question"]["user"].get<std::string>().find("elementwise/vector_add_f32"), std::string::npos);
}

TEST_F(Agent, TheAnswerInTheDocumentIsOne) {
  auto text = *base::read_file("docs/models.md");
  size_t begin = text.find("{\"schema\": \"ptxlab.answer/1\"");
  ASSERT_NE(begin, text.npos);
  auto proposal = propose(says(nlohmann::json::parse(text.substr(begin, text.find("```", begin) - begin))));
  EXPECT_TRUE(proposal.findings.empty()) << base::render(proposal.findings, "");
  EXPECT_EQ(proposal.candidates.size(), 2u);
  EXPECT_EQ(proposal.usage->cost(), 0.01);
  auto own = propose("python3 examples/agent.py", 1);
  ASSERT_EQ(own.candidates.size(), 1u) << base::render(own.findings, "");
  EXPECT_EQ(own.candidates[0].ptx, brief().baseline_ptx);
}

TEST_F(Agent, WhatIsNoAnswerIsSaid) {
  struct Case {
    std::string command;
    const char *code, *words;
  };
  std::string schema = R"("schema":"ptxlab.answer/1")";
  auto print = [](const std::string& text) { return "cat >/dev/null; printf '%s' '" + text + "'"; };
  for (const auto& c : std::initializer_list<Case>{
           {"exit 3", "LLM0040", "exited with 3"},
           {"echo lost >&2; exit 1", "LLM0040", "lost"},
           {"kill -SEGV $$", "LLM0040", "signal 11"},
           {"no-such-program-anywhere", "LLM0040", "not found"},
           {"true", "LLM0041", "is empty"},
           {print("hello"), "LLM0041", "no JSON object"},
           {print("[]"), "LLM0041", "no JSON object"},
           {print("{}"), "LLM0041", "no ptxlab.answer/1"},
           {print("{" + schema + "}"), "LLM0041", "no list of candidates"},
           {"cat >/dev/null; printf '\\377\\376'", "LLM0041", "UTF-8"},
           {"cat >/dev/null; head -c 1000000 /dev/zero | tr '\\0' '['", "LLM0041", "no JSON object"},
       }) {
    auto proposal = propose(c.command);
    ASSERT_EQ(proposal.findings.size(), 1u) << c.command;
    EXPECT_EQ(proposal.findings[0].code, c.code) << c.command;
    EXPECT_NE(proposal.findings[0].message.find(c.words), std::string::npos) << proposal.findings[0].message;
    EXPECT_TRUE(proposal.candidates.empty());
    EXPECT_EQ(proposal.exchanges.size(), 1u);
  }
}

TEST_F(Agent, RunsUnderLimits) {
  auto start = std::chrono::steady_clock::now();
  auto late = propose("sleep 60", 1, "timeout=0.5");
  EXPECT_NE(late.findings.at(0).message.find("longer than"), std::string::npos) << late.findings[0].message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  auto flood = propose("yes", 1, "timeout=20");
  EXPECT_EQ(flood.findings.at(0).code, "LLM0040");
  EXPECT_LE(flood.exchanges.at(0).response.size(), size_t{17} << 20);
  auto fat = propose("python3 -c 'b = bytearray(3 << 30)'", 1, "memory=1,timeout=20");
  EXPECT_EQ(fat.findings.at(0).code, "LLM0040");
  EXPECT_NE(fat.findings[0].message.find("MemoryError"), std::string::npos) << fat.findings[0].message;
}

TEST_F(Agent, EachCandidateIsLookedAt) {
  auto proposal = propose(says({{"schema", "ptxlab.answer/1"},
                                {"candidates",
                                 {{{"idea", "nothing in it"}},
                                  {{"answer", "only prose"}},
                                  "a text",
                                  {{"ptx", 5}},
                                  {{"ptx", kModule}},
                                  {{"ptx", "one too many"}}}}}),
                          5);
  ASSERT_EQ(proposal.candidates.size(), 5u);
  const char* codes[] = {"LLM0042", "LLM0020", "LLM0042", "LLM0042"};
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_FALSE(proposal.candidates[i].findings.empty()) << i;
    EXPECT_EQ(proposal.candidates[i].findings[0].code, codes[i]) << i;
    EXPECT_TRUE(proposal.candidates[i].ptx.empty());
  }
  EXPECT_TRUE(proposal.candidates[4].findings.empty());
  ASSERT_EQ(proposal.findings.size(), 1u);
  EXPECT_EQ(proposal.findings[0].severity, base::Severity::warning);
  // What it did not count has no price, and a made-up one is none.
  auto odd = propose(says({{"schema", "ptxlab.answer/1"},
                           {"candidates", nlohmann::json::array()},
                           {"usage", {{"tokens_asked", -4}, {"tokens_answered", 10}, {"dollars", -1}}}}));
  ASSERT_TRUE(odd.usage);
  EXPECT_EQ(odd.usage->asked, 0);
  EXPECT_FALSE(odd.usage->cost());
}

TEST_F(Agent, GetsTheKeysOfItsUserAndNoneIsKept) {
  setenv("ANTHROPIC_API_KEY", "sk-agent-0123456789", 1);
  setenv("SOME_SERVICE_TOKEN", "tok-agent-9876543210", 1);
  take_keys();
  EXPECT_EQ(getenv("ANTHROPIC_API_KEY"), nullptr);
  auto proposal = propose(
      "cat >/dev/null; env >&2; printf '{\"schema\":\"ptxlab.answer/1\",\"note\":\"%s\",\"candidates\":[{\"ptx\":\"%s "
      "%s\"}]}' $ANTHROPIC_API_KEY $ANTHROPIC_API_KEY $SOME_SERVICE_TOKEN");
  ASSERT_EQ(proposal.candidates.size(), 1u) << base::render(proposal.findings, "");
  EXPECT_EQ(proposal.candidates[0].ptx, "[key] [key]");
  auto failed = propose("echo $ANTHROPIC_API_KEY; env >&2; exit 1");
  for (const auto& all : {all_of(proposal), all_of(failed)}) {
    EXPECT_EQ(all.find("sk-agent"), std::string::npos) << all;
    EXPECT_EQ(all.find("tok-agent"), std::string::npos) << all;
  }
  unsetenv("SOME_SERVICE_TOKEN");
}

TEST_F(Agent, IsHeldToABudget) {
  auto answer = says({{"schema", "ptxlab.answer/1"},
                      {"candidates", {{{"ptx", kModule}}}},
                      {"usage", {{"requests", 2}, {"tokens_asked", 100}, {"tokens_answered", 50}, {"dollars", 0.25}}}});
  for (const char* budget : {"requests=4", "tokens=300", "dollars=0.5"}) {
    auto proposer = make_agent_proposer(answer, {}, *Template::read("prompts"), *parse_limits(budget));
    EXPECT_EQ(proposer->propose(brief(), 1)->candidates.size(), 1u) << budget;
    EXPECT_EQ(proposer->propose(brief(), 1)->candidates.size(), 1u) << budget;
    auto over = proposer->propose(brief(), 1);
    ASSERT_FALSE(over.ok()) << budget;
    EXPECT_EQ(over.findings()[0].code, "LLM0014");
  }
  auto slow = make_agent_proposer("sleep 60", {}, *Template::read("prompts"), *parse_limits("seconds=1"));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(slow->propose(brief(), 1)->findings.at(0).code, "LLM0040");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(slow->propose(brief(), 1).findings().at(0).code, "LLM0014");
}

// The command is kept: in the archive, as the name of who proposed, in a benchmark's lock.
TEST_F(Agent, ACommandThatHoldsAKeyIsRefusedAndNamesAreProgramsOnly) {
  setenv("OPENAI_API_KEY", "sk-agent-0123456789", 1);
  take_keys();
  for (const char* command :
       {"OPENAI_API_KEY=sk-other-1 ./ask", "env X=1 HF_TOKEN=hf_abcdefgh python3 a.py", "curl -d sk-agent-0123456789 x",
        "sh -c \"MY_SECRET=hunter22 ./ask\"", "./ask --api-key=hunter22", "./ask --api-key hunter22"}) {
    auto findings = secrets_in(command);
    ASSERT_EQ(findings.size(), 1u) << command;
    EXPECT_EQ(findings[0].code, "LLM0043");
    for (const char* secret : {"sk-", "hf_", "hunter"})
      EXPECT_EQ(base::render(findings, "").find(secret), std::string::npos) << command;
  }
  for (const char* command : {"python3 examples/agent.py", "KEY_FILE=/etc/key ./ask", "OPENAI_API_KEY=$OTHER ./ask",
                              "./ask --max-tokens=500 --api-key $PTXLAB_API_KEY"})
    EXPECT_TRUE(secrets_in(command).empty()) << command;
  for (auto [command, name] : {std::pair{"A=b C=d python3 x.py", "agent:python3"},
                               {"env X=1 ./ask y", "agent:./ask"},
                               {"X=1", "agent:command"},
                               {"exec  ./ask", "agent:./ask"}})
    EXPECT_EQ(make_agent_proposer(command, {}, *Template::read("prompts"))->name(), name);
}

}  // namespace
}  // namespace ptxlab::llm
