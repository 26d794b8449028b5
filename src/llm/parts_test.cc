// The small parts: addresses, keys, waits, tokens, options, budgets.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "base/file.h"
#include "llm/budget.h"
#include "llm/dialect.h"
#include "llm/key.h"
#include "llm/model.h"
#include "llm/retry.h"
#include "llm/tokens.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;

TEST(Url, ReadsWhatServersAreCalledBy) {
  struct Case {
    const char *text, *host, *path;
    int port;
    bool https;
  };
  for (const auto& c : {Case{"http://localhost:8000/v1", "localhost", "/v1", 8000, false},
                        Case{"https://api.example.com/v1/", "api.example.com", "/v1", 443, true},
                        Case{"http://10.0.0.7", "10.0.0.7", "", 80, false},
                        Case{"https://API.Example.COM./v1", "api.example.com", "/v1", 443, true},
                        Case{"https://[::1]:9/a/b", "::1", "/a/b", 9, true},
                        Case{"http://gpu-node_3:80/openai/deployments/x~1/v1", "gpu-node_3",
                             "/openai/deployments/x~1/v1", 80, false}}) {
    auto url = parse_url(c.text);
    ASSERT_TRUE(url.ok()) << c.text;
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->path, c.path);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->https, c.https);
    EXPECT_EQ(parse_url(url->text())->text(), url->text());
  }
}

TEST(Url, RefusesTheRestAndShowsNoPassword) {
  for (const char* text :
       {"", "localhost:8000/v1", "ftp://x/v1", "http://", "http:///v1", "http://x:0/v1", "http://x:99999",
        "http://x:8a/v1", "http://x/v1?key=1", "http://x/v1#y", "http://a b/v1", "http://x/v 1", "http://[::1",
        "http://[nothing]/v1", "http://me:hunter2@x/v1", "http://x/\r\nHost: y"}) {
    auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.findings().front().code, "LLM0001");
    EXPECT_EQ(base::render(url.findings(), "").find("hunter2"), std::string::npos);
  }
}

TEST(Url, ThisMachineIsKnownByItsNumbersNotByALikeness) {
  for (const char* text :
       {"http://localhost", "http://LOCALHOST:1", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]"})
    EXPECT_TRUE(parse_url(text)->loopback()) << text;
  for (const char* text : {"http://127.example.com", "http://127.0.0.1.example.com", "http://localhost.example.com",
                           "http://128.0.0.1", "http://[::2]"})
    EXPECT_FALSE(parse_url(text)->loopback()) << text;
}

TEST(Model, NamesMayHoldAnything) {
  auto model = parse_model(openai_dialect(), "org/Qwen3:8b@main@http://localhost:1/v1");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->name, "org/Qwen3:8b@main");
  EXPECT_EQ(model->url.port, 1);
  for (const char* text :
       {"gpt", "@http://x/v1", "m@x/v1", "m@", "m@http://api.openai.com/v1", "m@http://API.OpenAI.com:443/v1"})
    EXPECT_FALSE(parse_model(openai_dialect(), text).ok()) << text;
}

TEST(Settings, AreReadAndCheckedByName) {
  auto settings = parse_settings("temperature=0.25,answer_tokens=4096,parallel=2,timeout=1.5,tries=2");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->temperature, 0.25);
  EXPECT_EQ(settings->answer_tokens, 4096);
  EXPECT_EQ(settings->parallel, 2u);
  EXPECT_EQ(settings->http.whole, milliseconds(1500));
  EXPECT_EQ(settings->retry.tries, 2);
  EXPECT_TRUE(parse_settings("").ok());
  auto near = parse_settings("temprature=1");
  ASSERT_FALSE(near.ok());
  EXPECT_NE(near.findings().front().hint.find("'temperature'"), std::string::npos);
  for (const char* text : {"temperature", "temperature=", "temperature=warm", "temperature=3", "parallel=0",
                           "tries=nan", "timeout=1e99", "=1"})
    EXPECT_FALSE(parse_settings(text).ok()) << text;
  // Each name that is taken is named by --help.
  for (const char* name : {"temperature", "top_p", "answer_tokens", "context", "parallel", "tries", "wait", "connect",
                           "silence", "timeout"}) {
    EXPECT_NE(settings_help().find(name), std::string::npos) << name;
    EXPECT_EQ(parse_settings(std::string(name) + "=-1").findings().front().message.find("there is no"),
              std::string::npos);
  }
}

TEST(Key, IsHiddenHoweverItIsSpelled) {
  Key key("sk-abc/DEF\"123");
  EXPECT_EQ(key.hide("x sk-abc/DEF\"123 y sk-abc/DEF\"123"), "x [key] y [key]");
  EXPECT_EQ(key.hide(R"({"m":"sk-abc\/DEF\"123"})"), R"({"m":"[key]"})");
  EXPECT_EQ(key.hide(R"(\u0073k-abc/DEF\u0022123!)"), "[key]!");
  EXPECT_EQ(key.hide("cut off: sk-abc/DEF\"12"), "cut off: [key]");
  EXPECT_EQ(key.hide("sk-abc/DEF\"12 is another"), "sk-abc/DEF\"12 is another");
  EXPECT_EQ(key.hide("it begins with sk-abc"), "it begins with sk-abc");
  EXPECT_EQ(Key("").hide("text"), "text");
  EXPECT_EQ(Key("none").hide("none of it"), "none of it");  // a stand-in, not a secret
  EXPECT_EQ(Key(R"(back\slash8)").hide(R"(a back\\slash8 back\slash8)"), "a [key] [key]");
}

TEST(Retry, KnowsWhatAnotherTryMayMend) {
  auto answered = [](int status) { return HttpOutcome{HttpOutcome::End::answered, status, {}, {}, {}, {}, {}, {}}; };
  for (int status : {429, 500, 502, 503, 504, 529}) EXPECT_TRUE(worth_another_try(answered(status))) << status;
  for (int status : {200, 301, 400, 401, 403, 404, 408, 422})
    EXPECT_FALSE(worth_another_try(answered(status))) << status;
  using End = HttpOutcome::End;
  for (auto end : {End::nameless, End::unreachable, End::closed})
    EXPECT_TRUE(worth_another_try({end, 0, {}, {}, {}, {}, {}, {}}));
  for (auto end : {End::tls, End::silent, End::late, End::too_large, End::stopped})
    EXPECT_FALSE(worth_another_try({end, 0, {}, {}, {}, {}, {}, {}}));
}

TEST(Retry, ReadsRetryAfter) {
  auto now = std::chrono::system_clock::from_time_t(1795996800);  // Mon, 30 Nov 2026 00:00:00 GMT
  EXPECT_EQ(retry_after("7", now), milliseconds(7000));
  EXPECT_EQ(retry_after(" 0.5 ", now), milliseconds(500));
  EXPECT_EQ(retry_after("Mon, 30 Nov 2026 00:01:30 GMT", now), milliseconds(90'000));
  EXPECT_EQ(retry_after("Sun, 29 Nov 2026 00:00:00 GMT", now), milliseconds(0));
  for (const char* text : {"", "soon", "-1", "7 s", "inf", "nan", "30 Nov 2026"})
    EXPECT_FALSE(retry_after(text, now)) << text;
  EXPECT_GT(retry_after("99999999999999999999", now), milliseconds(0));
}

TEST(Retry, WaitsGrowWithinTheirBoundsAndHonourTheServer) {
  RetryPolicy policy;
  policy.tries = 12;
  base::Random random(1);
  std::set<int64_t> seen;
  for (int number = 1; number < policy.tries; ++number) {
    auto whole = std::min<int64_t>(500ll << (number - 1), 30'000);
    for (int i = 0; i < 50; ++i) {
      auto wait = wait_before_next(policy, number, std::nullopt, random);
      ASSERT_TRUE(wait);
      EXPECT_GE(wait->count(), whole / 2);
      EXPECT_LE(wait->count(), whole);
      seen.insert(wait->count());
    }
  }
  EXPECT_GT(seen.size(), 200u);  // jitter
  EXPECT_FALSE(wait_before_next(policy, 12, std::nullopt, random));
  EXPECT_EQ(wait_before_next(policy, 1, milliseconds(60'000), random), milliseconds(60'000));
  EXPECT_FALSE(wait_before_next(policy, 1, milliseconds(600'000), random));
}

// Two common tokenizers of 150,000 and 200,000 words spend 16.2 and 18.6 tokens on an instruction of such code.
TEST(Tokens, AreEstimatedAsTokenizersSplitPtx) {
  double tokens = 0, instructions = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tasks")) {
    if (entry.path().extension() != ".ptx") continue;
    auto text = *base::read_file(entry.path());
    for (auto& function : ptx::check(text, "x.ptx").module.functions) {
      for (const auto& statement : function.body) {
        const auto* instruction = statement.instruction();
        if (!instruction) continue;
        ++instructions;
        tokens += static_cast<double>(estimated_tokens("\t" + ptx::print(*instruction, function) + "\n"));
      }
    }
  }
  ASSERT_GT(instructions, 500);
  EXPECT_GT(tokens / instructions, 14);
  EXPECT_LT(tokens / instructions, 21);
  EXPECT_EQ(estimated_tokens(""), 0);
  EXPECT_EQ(estimated_tokens("the same words again"), 4);
}

TEST(Budget, ManyAtOnceCannotOverrunIt) {
  Limits limits;
  limits.requests = 100;
  limits.tokens = 1'000'000;
  Budget budget(limits);
  std::atomic<int> entered = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (budget.enter(10, std::chrono::steady_clock::now())) continue;
        ++entered;
        budget.settle(10, {0, 7, 3, false});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(entered, 100);
  EXPECT_EQ(budget.used().requests, 100);
  EXPECT_EQ(budget.used().asked, 700);
  EXPECT_EQ(budget.used().answered, 300);
}

TEST(Budget, TokensOnTheirWayCountAndTimeEndsIt) {
  Limits limits;
  limits.tokens = 100;
  limits.seconds = 10;
  Budget budget(limits);
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(budget.enter(60, start));
  EXPECT_TRUE(budget.enter(60, start));
  budget.settle(60, {0, 10, 10, false});
  EXPECT_FALSE(budget.enter(60, start));
  EXPECT_EQ(budget.left(start + std::chrono::seconds(4)), milliseconds(6000));
  EXPECT_TRUE(budget.enter(1, start + std::chrono::seconds(10)));
  auto read = parse_limits("tokens=5,requests=6,seconds=7");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->tokens, 5);
  EXPECT_EQ(read->requests, 6);
  EXPECT_EQ(read->seconds, 7);
  EXPECT_EQ(parse_limits("dollars=5.5")->dollars, 5.5);
  EXPECT_FALSE(parse_limits("euros=5").ok());
}

}  // namespace
}  // namespace ptxlab::llm
