// Every dialect against every server that means us no good: each ends in a finding or in an answer that is told apart from
// a good one, within bounded time and memory, and no key is in anything that comes back.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "llm/client.h"
#include "llm/extract.h"
#include "llm/fake_server.h"

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;

const Question kQuestion{"You are terse.", "Say yes. This is the question, in a sentence of its own.\n"};
constexpr const char* kSecret = "sk-test-0123456789abcdef";
constexpr const char* kModule = "Yes.\n```ptx\n.version 8.0\n.target sm_80\n.address_size 64\n```\n";

// The most memory that this process has had since the last call, in MiB, and starts counting anew.
int64_t peak_mib() {
  std::ifstream status("/proc/self/status");
  int64_t peak = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) peak = std::stoll(line.substr(6)) / 1024;
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return peak;
}

struct Hostility {
  const char* step;
  const char* code;  // of the answer's first error, or of the candidate's, or "" where the answer is good
  const char* words = "";
  size_t requests = 1;
};

// With three tries and a deadline of a second each.
constexpr Hostility kHostilities[] = {
    {"status 429 retry-after=1", "LLM0011", "429", 3},
    {"status 429 retry-after=86400", "LLM0011", "429", 1},
    {"status 500", "LLM0011", "500", 3},
    {"status 503", "LLM0011", "503", 3},
    {"status 529", "LLM0011", "529", 3},
    {"status 400", "LLM0011", "400"},
    {"status 401", "LLM0011", "401"},
    {"status 404", "LLM0011", "404"},
    {"says 429 You exceeded your current quota", "LLM0011", "quota", 3},
    {"closed", "LLM0010", "closed", 3},
    {"half", "LLM0013", "no JSON"},
    {"drip", "LLM0010", "in time"},
    {"huge", "LLM0010", "larger"},
    {"html", "LLM0013", "text/html"},
    {"no-choices", "LLM0013", "it has no c"},
    {"redirect", "LLM0012", "127.0.0.1:9"},
    {"empty", "LLM0013", "no JSON"},
    {"null", "LLM0013", ""},
    {"nested", "LLM0013", "no JSON"},
    {"gzip", "LLM0013", "packed ('gzip')"},
    {"ill-formed", "LLM0025", "UTF-8"},
    {"echo", "LLM0027", "question came back"},
    {"absurd", ""},
    {"plain", ""},
};

class Hostile : public testing::TestWithParam<const Dialect*> {};

TEST_P(Hostile, EndsInAFindingInBoundedTimeAndMemory) {
  for (const auto& hostility : kHostilities) {
    FakeServer server({hostility.step}, {{"yes", kModule}});
    Client client({"m", *parse_url(server.url()), GetParam()}, Key(kSecret),
                  *parse_settings("tries=3,timeout=1,answer_tokens=50"), {});
    client.sleep = [](milliseconds) {};
    peak_mib();
    auto before = peak_mib();
    auto start = std::chrono::steady_clock::now();
    auto asked = client.ask(kQuestion, 1);
    auto took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took, milliseconds(4500)) << hostility.step;
    EXPECT_LT(peak_mib() - before, 200) << hostility.step;
    base::Findings findings = asked.reply.findings();
    if (asked.reply) findings = extract(*asked.reply, kQuestion).findings;
    std::string code, message;
    for (const auto& finding : findings) {
      if (finding.severity != base::Severity::error || !code.empty()) continue;
      code = finding.code;
      message = finding.message;
    }
    EXPECT_EQ(code, hostility.code) << GetParam()->name() << ": " << hostility.step << ": " << message;
    EXPECT_NE(message.find(hostility.words), std::string::npos) << hostility.step << ": " << message;
    EXPECT_LT(message.size(), 1000u) << hostility.step;
    EXPECT_EQ(server.bodies().size(), hostility.requests) << hostility.step;
    ASSERT_TRUE(asked.exchange) << hostility.step;
    EXPECT_LE(asked.exchange->response.size(), size_t{17} << 20) << hostility.step;
    auto used = client.used();
    EXPECT_GE(used.asked, 0) << hostility.step;
    EXPECT_LE(used.asked + used.answered, 30'000'000) << hostility.step;
    if (hostility.step == std::string("absurd")) {
      EXPECT_TRUE(used.estimated);
    }
  }
}

TEST_P(Hostile, TheKeyIsInNothingThatComesBack) {
  for (const char* step : {"key", "status 401 key", "status 500 key"}) {
    FakeServer server({step}, {});
    Client client({"m", *parse_url(server.url()), GetParam()}, Key(kSecret), *parse_settings("tries=1"), {});
    auto asked = client.ask(kQuestion, 1);
    auto header = GetParam()->key_header(Key(kSecret));
    ASSERT_EQ(server.headers()[0].count(header.first), 1u);
    EXPECT_EQ(server.headers()[0].find(header.first)->second, header.second);
    ASSERT_TRUE(asked.exchange);
    std::string all = base::render(asked.reply.findings(), "") + asked.exchange->request + asked.exchange->response;
    if (asked.reply) all += asked.reply->text;
    EXPECT_EQ(all.find(kSecret), std::string::npos) << all;
    EXPECT_NE(all.find("[key]"), std::string::npos) << all;
    // Only in its header: not in the address, not in the body.
    EXPECT_EQ(server.bodies()[0].find(kSecret), std::string::npos);
  }
}

TEST_P(Hostile, AGoodServerIsNotTakenForABadOne) {
  FakeServer server({"status 503", "answer yes", "answer yes cut", "answer yes uncounted"}, {{"yes", kModule}});
  Client client({"m", *parse_url(server.url()), GetParam()}, Key(kSecret), *parse_settings(""), {});
  client.sleep = [](milliseconds) {};
  auto first = client.ask(kQuestion, 1);
  ASSERT_TRUE(first.reply.ok()) << base::render(first.reply.findings(), "");
  EXPECT_EQ(first.reply->text, kModule);
  EXPECT_FALSE(first.reply->usage.estimated);
  EXPECT_TRUE(first.reply->usage.unpriced);
  EXPECT_EQ(first.exchange->usage->requests, 2);
  EXPECT_TRUE(client.ask(kQuestion, 1).reply->cut);
  EXPECT_TRUE(client.ask(kQuestion, 1).reply->usage.estimated);
}

INSTANTIATE_TEST_SUITE_P(AllDialects, Hostile, testing::ValuesIn(dialects().begin(), dialects().end()),
                         [](const auto& test) { return std::string(test.param->name()); });

}  // namespace
}  // namespace ptxlab::llm
