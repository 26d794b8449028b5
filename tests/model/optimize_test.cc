// ptxlab optimize with a model, from the command line to the archive: the server answers from recorded texts that hold a
// good candidate, a malformed one, a wrong one and others, and misbehaves in between.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "archive/archive.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "llm/fake_server.h"
#include "toolchain/toolchain.h"

namespace ptxlab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecret = "sk-secret-5f0e1d2c3b4a";

std::map<std::string, std::string> recorded_answers() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : fs::directory_iterator("tests/model/answers"))
    texts[entry.path().stem().string()] = *base::read_file(entry.path());
  return texts;
}

// A folder with the kernel, in which the command runs.
class Optimize : public testing::Test {
 protected:
  Optimize() {
    for (const char* name : {"add.ptx", "add.task.toml", "add.plan.toml"})
      fs::copy_file(fs::path("tests/model/add") / name, folder_.path() / name);
  }

  base::Outcome optimize(std::vector<std::string> more) {
    base::Command command;
    command.argv = {PTXLAB_PROGRAM, "optimize", "add.ptx", "--archive", "a.db"};
    command.argv.insert(command.argv.end(), more.begin(), more.end());
    command.cwd = folder_.path();
    command.environment = {{"PTXLAB_API_KEY", kSecret}, {"OPENAI_API_KEY", "sk-other-000000000000"}};
    return base::run(command);
  }

  static std::vector<std::string> outcomes(const nlohmann::json& result) {
    std::vector<std::string> names;
    for (const auto& attempt : result["attempts"]) names.push_back(attempt["verdict"]["outcome"]);
    return names;
  }

  // Every byte that the run left behind, compressed texts of the archive included.
  std::string everything_written() {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) all += *base::read_file(entry.path());
    }
    auto archive = archive::Archive::open(folder_.path() / "a.db");
    EXPECT_TRUE(archive.ok());
    auto rows = (*archive)->attempts({});
    for (const auto& row : *rows) {
      auto attempt = (*archive)->attempt(row.id);
      EXPECT_TRUE(attempt.ok());
      all += attempt->candidate.ptx + attempt->candidate.prompt + attempt->candidate.answer + attempt->brief_json +
             attempt->verdict.reason;
    }
    return all;
  }

  base::TemporaryFolder folder_{"ptxlab-model"};
};

TEST_F(Optimize, JudgesWhatAModelProposesAndTellsItWhatWasFound) {
  llm::FakeServer server({"answer good", "status 500", "answer malformed", "answer wrong",      // turn 1
                          "answer prose", "answer mended", "answer host_code", "answer good"},  // turn 2
                         recorded_answers());
  auto run = optimize({"--proposer", "openai:test/model@" + server.url(), "--candidates", "7", "--turns", "2",
                       "--model-settings", "parallel=1,wait=0", "--record", "kept", "--json"});
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  auto result = nlohmann::json::parse(run.output);
  EXPECT_EQ(outcomes(result),
            (std::vector<std::string>{"unverified", "malformed", "wrong", "malformed", "unverified", "malformed"}))
      << run.output;
  // The last answer is a copy of the first: seven answers, six attempts.
  std::string notes = result["notes"].dump();
  EXPECT_NE(notes.find("1 candidates were copies"), std::string::npos) << notes;
  EXPECT_NE(notes.find("2 of 4 answers held no candidate (1 LLM0020, 1 LLM0023)"), std::string::npos) << notes;
  ASSERT_EQ(result["usage"].size(), 1u);
  EXPECT_EQ(result["usage"][0]["proposer"], "openai:test/model");
  EXPECT_EQ(result["usage"][0]["requests"], 8);
  EXPECT_EQ(result["usage"][0]["estimated"], false);
  EXPECT_EQ(result["attempts"][0]["idea"],
            "Two elements a thread, a block apart, so that each thread has two pairs of loads in flight.");
  EXPECT_EQ(result["attempts"][3]["verdict"]["gates"][0]["findings"][0]["code"], "LLM0020");

  auto bodies = server.bodies();
  ASSERT_EQ(bodies.size(), 8u);
  auto asked = [&](size_t i) { return nlohmann::json::parse(bodies[i])["messages"][1]["content"].get<std::string>(); };
  // The first question: kernel, structure, sizes; no attempts yet. All of one turn are alike but for what they are to try.
  for (const char* part : {"ld.global.f32 %f1, [%rd8];", "next to each other: 4 sectors", "n = 4098",
                           "c: output buffer of f32[n]", "32-bit registers live at once", "ceildiv(n, 256)"})
    EXPECT_NE(asked(0).find(part), std::string::npos) << part << "\n" << asked(0);
  EXPECT_EQ(asked(0).find("Earlier attempts"), std::string::npos);
  auto before_strategy = [&](size_t i) { return asked(i).substr(0, asked(i).find("# What to try this time")); };
  EXPECT_EQ(before_strategy(0), before_strategy(3));
  EXPECT_NE(asked(3), before_strategy(3)) << "one of several samples is told what to try";
  EXPECT_EQ(bodies[1], bodies[2]) << "what a server failed at is asked again";
  // The second: what was found wrong, in the words of the gates, with the line.
  for (const char* part : {"Earlier attempts", "answer-2, malformed", "%f9", "answer-3, wrong"})
    EXPECT_NE(asked(4).find(part), std::string::npos) << part << "\n" << asked(4);
  if (toolchain::installed().ptxas) {
    EXPECT_EQ(result["ranking"].size(), 2u) << run.output;
    EXPECT_FALSE(result["attempts"][0]["verdict"]["estimated_speedup"].is_null());
    EXPECT_NE(asked(0).find("registers a thread, 0 bytes spilled"), std::string::npos) << asked(0);
  }
}

TEST_F(Optimize, AReplayIsTheSameWithoutTheServer) {
  std::vector<std::string> settings = {"--candidates",      "4",     "--turns", "2", "--model-settings",
                                       "parallel=1,wait=0", "--json"};
  auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), settings.begin(), settings.end());
    return words;
  };
  nlohmann::json first, second;
  {
    llm::FakeServer server({"answer wrong", "ill-formed", "answer good", "answer mended"}, recorded_answers());
    auto run = optimize(with({"--proposer", "rules,openai:m@" + server.url(), "--record", "kept"}));
    ASSERT_EQ(run.code, 0) << run.output << run.errors;
    first = nlohmann::json::parse(run.output);
  }
  auto run = optimize(with({"--proposer", "replay:kept"}));
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  second = nlohmann::json::parse(run.output);
  EXPECT_EQ(outcomes(first), outcomes(second));
  EXPECT_TRUE(second["findings"].empty()) << second["findings"].dump();
  auto archive = archive::Archive::open(folder_.path() / "a.db");
  ASSERT_TRUE(archive.ok());
  ASSERT_EQ(first["attempts"].size(), second["attempts"].size());
  ASSERT_EQ(first["attempts"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    auto a = (*archive)->attempt(first["attempts"][i]["id"]), b = (*archive)->attempt(second["attempts"][i]["id"]);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->candidate.ptx, b->candidate.ptx);
    EXPECT_EQ(a->candidate.plan, b->candidate.plan);
    EXPECT_EQ(a->candidate.answer, b->candidate.answer);
    EXPECT_EQ(a->candidate.prompt, b->candidate.prompt);
    EXPECT_EQ(a->candidate.name, b->candidate.name);
  }
}

// Whatever the dialect: not in the archive, the transcripts, the output, the log, nor anything that a compiler was given.
TEST_F(Optimize, TheKeyIsNowhere) {
  for (auto [dialect, header, base] : {std::tuple{"openai", "Authorization", "/v1"},
                                       {"anthropic", "x-api-key", "/v1"},
                                       {"gemini", "x-goog-api-key", "/v1beta"}}) {
    llm::FakeServer server({"key", "status 401 key", "answer malformed", "ill-formed"}, recorded_answers());
    std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + base;
    for (std::vector<std::string> more : {std::vector<std::string>{"--record", "kept"}, {"--json"}}) {
      more.insert(more.end(), {"--proposer", std::string(dialect) + ":m@" + url, "--candidates", "4", "--turns", "1",
                               "--model-settings", "parallel=1"});
      auto run = optimize(more);
      std::string sent = server.headers().front().find(header)->second;
      EXPECT_TRUE(sent == kSecret || sent == std::string("Bearer ") + kSecret) << sent;
      std::string all = run.output + run.errors + everything_written();
      EXPECT_EQ(all.find(kSecret), std::string::npos) << dialect;
      EXPECT_EQ(all.find("sk-other-0000"), std::string::npos) << dialect;
      EXPECT_NE(all.find("LLM0011"), std::string::npos) << all;  // the 401, with the server's words
    }
    EXPECT_NE(everything_written().find("[key]"), std::string::npos) << dialect;
  }
  auto run = optimize({"--record", "agent", "--candidates", "2", "--turns", "1", "--proposer",
                       "agent:cat >/dev/null; env >&2; printf '{\"schema\":\"ptxlab.answer/1\"}' ; printf %s "
                       "$PTXLAB_API_KEY; env"});
  std::string all = run.output + run.errors + everything_written();
  EXPECT_NE(all.find("LLM0041"), std::string::npos) << all;
  EXPECT_EQ(all.find(kSecret), std::string::npos);
  EXPECT_EQ(all.find("sk-other-0000"), std::string::npos);
}

// What an answer says to the judge is prose; what it says in its plan is bounded.
TEST_F(Optimize, AnswersThatMeanItBadlyAreJudgedLikeAnyOther) {
  llm::FakeServer server({"answer wrong", "answer to_the_judge", "answer many_blocks", "answer two_blocks"},
                         recorded_answers());
  auto run = optimize({"--proposer", "openai:m@" + server.url(), "--candidates", "4", "--turns", "1",
                       "--model-settings", "parallel=1", "--json"});
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  auto result = nlohmann::json::parse(run.output);
  EXPECT_EQ(outcomes(result), (std::vector<std::string>{"wrong", "wrong", "faulted", "malformed"})) << run.output;
  EXPECT_NE(result["attempts"][3]["verdict"].dump().find("LLM0021"), std::string::npos);
  EXPECT_TRUE(result["ranking"].empty());
  EXPECT_EQ(result["original_kept"], true);
}

TEST_F(Optimize, ADeadServerLeavesTheOthersAtWork) {
  auto run = optimize({"--proposer", "rules,openai:m@http://127.0.0.1:1/v1", "--candidates", "2", "--model-settings",
                       "tries=1", "--json"});
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  auto result = nlohmann::json::parse(run.output);
  EXPECT_EQ(result["findings"][0]["code"], "LLM0010");
  EXPECT_FALSE(result["attempts"].empty());
  auto alone = optimize({"--proposer", "openai:m@http://127.0.0.1:1/v1", "--model-settings", "tries=1", "--json"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_EQ(nlohmann::json::parse(alone.output)["original_kept"], true);
}

TEST_F(Optimize, ABudgetOfRequestsHoldsForTheWholeRun) {
  llm::FakeServer server({"answer good", "answer mended", "answer wrong"}, recorded_answers());
  auto run = optimize({"--proposer", "openai:m@" + server.url(), "--candidates", "6", "--turns", "3", "--budget",
                       "requests=3", "--json"});
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  EXPECT_EQ(server.bodies().size(), 3u);
  auto result = nlohmann::json::parse(run.output);
  EXPECT_EQ(result["attempts"].size(), 3u);
  EXPECT_NE(result["findings"].dump().find("LLM0014"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab
