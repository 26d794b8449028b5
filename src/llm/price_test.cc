// Prices, the keys of several vendors, and what a run of several models costs.
#include "llm/price.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "llm/client.h"
#include "llm/dialect.h"
#include "llm/fake_server.h"
#include "llm/key.h"

namespace ptxlab::llm {
namespace {

Model model_at(const std::string& name, const std::string& url) { return {name, *parse_url(url), &openai_dialect()}; }

TEST(Prices, OfTheProjectAreReadAndEachSaysWhenAndWhere) {
  auto prices = Prices::read("models/prices.toml");
  ASSERT_TRUE(prices.ok()) << base::render(prices.findings(), "");
  auto claude = prices->find(
      {"claude-opus-4-5-20251101", *parse_url("https://api.anthropic.com/v1"), &anthropic_dialect()}, "2026-11-30");
  ASSERT_TRUE(claude);
  EXPECT_EQ(claude->tiers[0].asked, 5);
  EXPECT_EQ(claude->tiers[0].answered, 25);
  EXPECT_EQ(claude->date.size(), 10u);
  EXPECT_TRUE(claude->source.starts_with("https://"));
  // The same name at another server has no price, and neither has another model.
  EXPECT_FALSE(prices->find(model_at("claude-opus-4-5", "http://localhost:8000/v1"), "2026-11-30"));
  EXPECT_FALSE(prices->find(model_at("gpt-99", "https://api.openai.com/v1"), "2026-11-30"));
  auto flash =
      Model{"gemini-3.8-flash", *parse_url("https://generativelanguage.googleapis.com/v1beta"), &gemini_dialect()};
  EXPECT_TRUE(prices->find(flash, "2026-12-31"));
  EXPECT_FALSE(prices->find(flash, "2027-01-01"));  // an introductory price that has run out
}

TEST(Prices, CountWhatTheCacheReadAndLongQuestions) {
  Price price;
  price.tiers = {{0, 2, 10, 0.5, 4}, {1000, 4, 20, 1, {}}};
  record::Usage usage;
  usage.asked = 1000;
  usage.cached = 600;
  usage.cache_written = 100;
  usage.answered = 50;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), (300 * 2 + 600 * 0.5 + 100 * 4 + 50 * 10) / 1e6);
  usage.asked = 1001;
  EXPECT_DOUBLE_EQ(cost_of(price, usage), (301 * 4 + 600 * 1 + 100 * 4 + 50 * 20) / 1e6);
}

TEST(Prices, TheExampleInTheDocumentIsATable) {
  auto text = *base::read_file("docs/models.md");
  size_t begin = text.find("```toml\nschema = \"ptxlab.prices/1\"");
  ASSERT_NE(begin, text.npos);
  begin = text.find('\n', begin) + 1;
  base::TemporaryFolder folder("prices");
  ASSERT_TRUE(base::write_file(folder.path() / "p.toml", text.substr(begin, text.find("```", begin) - begin)).empty());
  auto prices = Prices::read(folder.path() / "p.toml");
  ASSERT_TRUE(prices.ok()) << base::render(prices.findings(), "");
  auto price = prices->find(model_at("large-model-2", "https://api.example.com/v1"), "2026-12-01");
  ASSERT_TRUE(price);
  EXPECT_EQ(price->tiers.size(), 2u);
}

TEST(Prices, AWrongTableIsAFinding) {
  base::TemporaryFolder folder("prices");
  auto file = folder.path() / "prices.toml";
  EXPECT_EQ(Prices::read(file).findings().front().code, "LLM0007");
  std::string row =
      "[[price]]\nhost = \"h\"\nmodel = \"m\"\ndate = \"2026-01-01\"\nsource = \"s\"\nasked = 1\nanswered = 2\n";
  std::string good = "schema = \"ptxlab.prices/1\"\n" + row;
  ASSERT_TRUE(base::write_file(file, good).empty());
  EXPECT_TRUE(Prices::read(file).ok());
  for (const std::string& text :
       {std::string("schema = "), row, "schema = \"ptxlab.prices/2\"\n" + row, good + "cashed = 1\n",
        good + "cached = -1\n", good + "cached = \"free\"\n", good + "tier = [{ over = 0, asked = 1, answered = 1 }]\n",
        good + "until = \"soon\"\n", std::string("schema = \"ptxlab.prices/1\"\n[[price]]\nhost = \"h\"\n")}) {
    ASSERT_TRUE(base::write_file(file, text).empty());
    auto read = Prices::read(file);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.findings().front().code, "LLM0007");
  }
}

TEST(Prices, ABudgetInDollarsEndsARun) {
  FakeServer server({"answer yes"}, {{"yes", std::string(400, 'y')}});
  Price price;
  price.tiers = {{0, 1, 1000, {}, {}}};  // 100 tokens answered: a tenth of a dollar
  Limits limits;
  limits.dollars = 0.25;
  Client client(model_at("m", server.url()), Key(), *parse_settings("answer_tokens=100"), limits, price);
  EXPECT_TRUE(client.ask({"s", "u"}, 1).reply.ok());
  EXPECT_TRUE(client.ask({"s", "u"}, 1).reply.ok());
  auto third = client.ask({"s", "u"}, 1);
  ASSERT_FALSE(third.reply.ok());
  EXPECT_EQ(third.reply.findings().front().code, "LLM0014");
  EXPECT_NEAR(client.used().dollars, 0.2, 0.01);
  EXPECT_EQ(client.used().cost(), client.used().dollars);
}

TEST(Prices, ThatAreUnknownAreNotZero) {
  FakeServer server({"answer yes"}, {{"yes", "Yes."}});
  Client client(model_at("m", server.url()), Key(), *parse_settings(""), {});
  auto asked = client.ask({"s", "u"}, 1);
  EXPECT_FALSE(asked.exchange->usage->cost());
  EXPECT_NE(record::describe(client.used()).find("price unknown"), std::string::npos);
  auto own = price_of(client.model(), *parse_settings("price_asked=1,price_answered=0"), Prices());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->source, "--model-settings");
  EXPECT_FALSE(parse_settings("price_asked=1").ok());
}

TEST(Keys, EachVendorHasItsOwnAndTheEnvironmentKeepsNone) {
  for (auto [name, value] : {std::pair{"PTXLAB_API_KEY", " own-key-01234 \n"},
                             {"OPENAI_API_KEY", "openai-key-012"},
                             {"ANTHROPIC_API_KEY", "anthropic-key-0"},
                             {"GOOGLE_API_KEY", "google-key-012"}})
    setenv(name, value, 1);
  take_keys();
  for (const char* name : {"PTXLAB_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"})
    EXPECT_EQ(getenv(name), nullptr) << name;
  auto key = [](const Dialect& dialect, KeyFor server) { return key_for(dialect.key_variables(), server)->text(); };
  EXPECT_EQ(key(openai_dialect(), KeyFor::another), "own-key-01234");
  EXPECT_EQ(key(openai_dialect(), KeyFor::vendor), "openai-key-012");
  EXPECT_EQ(key(anthropic_dialect(), KeyFor::vendor), "anthropic-key-0");
  EXPECT_EQ(key(gemini_dialect(), KeyFor::vendor), "google-key-012");
  setenv("GEMINI_API_KEY", "two words", 1);
  auto wrong = key_for(gemini_dialect().key_variables(), KeyFor::vendor);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.findings().front().code, "LLM0002");
  EXPECT_EQ(base::render(wrong.findings(), "").find("two words"), std::string::npos);
  setenv("GEMINI_API_KEY", "gemini-key-0123", 1);
  EXPECT_EQ(key(gemini_dialect(), KeyFor::vendor), "gemini-key-0123");
}

// In a process of its own, where no key but the vendor's was ever set.
TEST(KeysDeathTest, AVendorsKeyDoesNotGoOverPlainHttpToAnotherMachine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto vendors_key = [](KeyFor server) {
    unsetenv("PTXLAB_API_KEY");
    setenv("OPENAI_API_KEY", "openai-key-012", 1);
    std::_Exit(key_for(openai_dialect().key_variables(), server)->empty() ? 0 : 1);
  };
  EXPECT_EXIT(vendors_key(KeyFor::in_open), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(vendors_key(KeyFor::another), testing::ExitedWithCode(1), "");
}

// Every variable that a dialect reads is one that take_keys takes away.
TEST(Keys, NoneOfADialectStaysInTheEnvironment) {
  for (const Dialect* dialect : dialects()) {
    for (const char* variable : dialect->key_variables()) {
      setenv(variable, "left-behind-0123", 1);
      take_keys();
      EXPECT_EQ(getenv(variable), nullptr) << variable;
    }
  }
}

}  // namespace
}  // namespace ptxlab::llm
