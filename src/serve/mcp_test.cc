// The tool server without processes: an outcome of our own stands for what a command does.
#include "serve/mcp.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.h"

namespace ptxlab::serve {
namespace {

using nlohmann::json;

// A server whose messages are kept.
struct Talk {
  explicit Talk(Runner run, size_t at_once = 2, size_t waiting = 2) {
    McpServer::Setting setting;
    setting.version = "0";
    setting.calling.program = "/ptxlab";
    setting.run = std::move(run);
    setting.at_once = at_once;
    setting.waiting = waiting;
    server = std::make_unique<McpServer>(std::move(setting), [this](const std::string& message) {
      std::lock_guard lock(mutex);
      EXPECT_EQ(message.find('\n'), message.npos);
      messages.push_back(json::parse(message));
      came.notify_all();
    });
    ask(0, "initialize", {{"protocolVersion", "2025-11-25"}});
  }
  void ask(const json& id, const char* method, const json& params) {
    server->receive(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump());
  }
  void call(const json& id, const char* tool, const json& arguments) {
    ask(id, "tools/call", {{"name", tool}, {"arguments", arguments}});
  }
  json answer_to(const json& id) {
    std::unique_lock lock(mutex);
    json found;
    came.wait_for(lock, std::chrono::seconds(10), [&] {
      for (const auto& message : messages) {
        if (message.contains("id") && message["id"] == id) found = message;
      }
      return !found.is_null();
    });
    return found;
  }
  std::mutex mutex;
  std::condition_variable came;
  std::vector<json> messages;
  std::unique_ptr<McpServer> server;  // last: it uses the others
};

base::Outcome said(std::string output, int code = 0, std::string errors = "") {
  base::Outcome outcome;
  outcome.end = base::Outcome::End::exited;
  outcome.code = code;
  outcome.output = std::move(output);
  outcome.errors = std::move(errors);
  return outcome;
}

TEST(Mcp, HandsTextsOverAsFilesAndValuesAsWordsOfTheirOwn) {
  base::Command seen;
  std::string module, plan;
  Talk talk([&](const base::Command& command) {
    seen = command;
    module = *base::read_file(command.cwd / "kernel.ptx");
    plan = *base::read_file(command.cwd / "kernel.plan.toml");
    return said(R"({"schema":"ptxlab.run/1"})");
  });
  talk.call(1, "run",
            {{"ptx", "// a\n"},
             {"plan", "b = 1"},
             {"entry", "--out=0:/etc/passwd"},
             {"seed", 3},
             {"args", {"u32:1", "--json"}},
             {"timeout_seconds", 7}});
  auto answer = talk.answer_to(1)["result"];
  EXPECT_EQ(answer["structuredContent"]["schema"], "ptxlab.run/1");
  EXPECT_EQ(answer["isError"], false);
  EXPECT_EQ(module, "// a\n");
  EXPECT_EQ(plan, "b = 1");
  EXPECT_EQ(seen.argv,
            (std::vector<std::string>{"/ptxlab", "run", "--json", "--entry=--out=0:/etc/passwd", "--seed=3",
                                      "--plan=kernel.plan.toml", "--arg=u32:1", "--arg=--json", "kernel.ptx"}));
  EXPECT_EQ(seen.limits.wall, std::chrono::seconds(7));
  EXPECT_FALSE(std::filesystem::exists(seen.cwd));  // nothing stays behind
}

TEST(Mcp, TasksAreReadWhereTheUserSaysAndNowhereElse) {
  base::TemporaryFolder allowed("allowed"), other("other");
  for (const auto* folder : {&allowed, &other}) {
    std::filesystem::create_directories(folder->path() / "t");
    ASSERT_TRUE(base::write_file(folder->path() / "t" / "task.toml", "x").empty());
  }
  std::filesystem::create_directory_symlink(other.path() / "t", allowed.path() / "link");
  Calling calling;
  calling.program = "/ptxlab";
  calling.tasks = {std::filesystem::canonical(allowed.path())};
  auto judged = [&](const std::string& task) {
    std::vector<std::string> seen;
    auto answer = call(tools()[3], {{"ptx", "x"}, {"task", task}}, calling, [&](const base::Command& command) {
      seen = command.argv;
      return said("{}");
    });
    EXPECT_EQ(seen.empty(), answer.failed) << task;
    return answer.failed ? answer.content["findings"][0]["code"].get<std::string>() : seen[3];
  };
  ASSERT_EQ(tools()[3].name, "judge");
  EXPECT_EQ(judged("norm/rmsnorm_bf16"), "--task=norm/rmsnorm_bf16");
  const auto inside = (allowed.path() / "t").string(), outside = (other.path() / "t").string();
  EXPECT_EQ(judged(inside), "--task=" + inside);
  EXPECT_EQ(judged(inside + "/../t/task.toml"), "--task=" + inside + "/../t/task.toml");
  for (const auto& task :
       {outside, outside + "/task.toml", inside + "/../../" + other.path().filename().string() + "/t",
        (allowed.path() / "link").string(), std::string("/"), std::string("/no/such/place"),
        std::string("../../no/such"), std::string("norm/../../../no/such"), allowed.path().string() + "x"})
    EXPECT_EQ(judged(task), "MCP0005") << task;
}

TEST(Mcp, FindingsOnStderrComeBackAsFindings) {
  Talk talk([](const base::Command&) {
    return said("", 2,
                "kernel.ptx:7:5: error[PTX0300]: there is no such thing\n   7 | x\n       hint: another\n"
                "warning[RUN0009]: slow\nnoise\n");
  });
  talk.call(1, "check", {{"ptx", "x"}});
  auto answer = talk.answer_to(1)["result"];
  EXPECT_EQ(answer["isError"], true);
  auto findings = answer["structuredContent"]["findings"];
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0]["code"], "PTX0300");
  EXPECT_EQ(findings[0]["file"], "kernel.ptx");
  EXPECT_EQ(findings[0]["line"], 7);
  EXPECT_EQ(findings[0]["hint"], "another");
  EXPECT_EQ(findings[1]["severity"], "warning");
}

TEST(Mcp, ACommandThatDiesIsAFinding) {
  for (auto end : {base::Outcome::End::signalled, base::Outcome::End::output_limit, base::Outcome::End::not_started,
                   base::Outcome::End::exited}) {
    Talk talk([&](const base::Command&) {
      auto outcome = said("{\"half\":", 11, "Segmentation fault\n");
      outcome.end = end;
      return outcome;
    });
    talk.call(1, "check", {{"ptx", "x"}});
    auto answer = talk.answer_to(1)["result"];
    EXPECT_EQ(answer["structuredContent"]["findings"][0]["code"], "MCP0004");
  }
  Talk talk([](const base::Command&) -> base::Outcome { throw std::bad_alloc(); });
  talk.call(1, "check", {{"ptx", "x"}});
  EXPECT_EQ(talk.answer_to(1)["result"]["isError"], true);
}

TEST(Mcp, SoManyAtOnceAndSoManyWaiting) {
  std::atomic<int> now = 0, most = 0;
  std::atomic<bool> go = false;
  Talk talk([&](const base::Command&) {
    int here = ++now;
    for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
    }
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --now;
    return said("{}");
  });
  for (int i = 1; i <= 2; ++i) talk.call(i, "check", {{"ptx", "x"}});
  while (now < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 3; i <= 5; ++i) talk.call(i, "check", {{"ptx", "x"}});
  EXPECT_EQ(talk.answer_to(5)["error"]["code"], -32000);  // two run, two wait
  talk.server->receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}})");
  go = true;
  talk.server->finish();
  EXPECT_EQ(most, 2);
  std::set<int> answered;
  for (const auto& message : talk.messages) answered.insert(message["id"].get<int>());
  EXPECT_EQ(answered, (std::set<int>{0, 1, 2, 3, 5}));  // 4 was given up
}

TEST(Mcp, GoingAwayGivesUpWhatIsOnItsWay) {
  std::atomic<bool> stopped = false;
  {
    Talk talk([&](const base::Command& command) {
      while (!command.stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stopped = true;
      auto outcome = said("");
      outcome.end = base::Outcome::End::stopped;
      return outcome;
    });
    talk.call(1, "judge", {{"ptx", "x"}, {"task", "t"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    talk.server.reset();
    EXPECT_EQ(talk.messages.size(), 1u);
  }
  EXPECT_TRUE(stopped);
}

TEST(Schemas, OfEveryToolAreSchemasThatWeCheckWhole) {
  const std::set<std::string> known = {"$schema",     "type",    "properties", "required", "additionalProperties",
                                       "description", "minimum", "maximum",    "enum",     "items"};
  std::function<void(const json&)> look = [&](const json& schema) {
    for (const auto& [key, value] : schema.items()) EXPECT_TRUE(known.contains(key)) << key;
    if (schema.contains("properties"))
      for (const auto& [name, part] : schema["properties"].items()) look(part);
    if (schema.contains("items")) look(schema["items"]);
  };
  for (const auto& tool : tools()) {
    look(tool.input);
    look(tool.output);
    EXPECT_EQ(tool.input["additionalProperties"], false) << tool.name;
    EXPECT_FALSE(tool.description.empty());
  }
}

}  // namespace
}  // namespace ptxlab::serve
