// Each dialect's own form: what is sent, what is read, what its servers refuse and how they say so.
#include "llm/dialect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/client.h"
#include "llm/fake_server.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

const Question kQuestion{"You are terse.", "Say yes. This is the question, in a sentence of its own."};
constexpr const char* kSecret = "sk-test-0123456789abcdef";

Model model_of(const Dialect& dialect, const std::string& url) { return {"some/model:1", *parse_url(url), &dialect}; }

json body_for(const Dialect& dialect, const std::string& settings, const std::string& url = "http://localhost:1/v1",
              std::set<std::string, std::less<>> left_out = {}) {
  auto model = model_of(dialect, url);
  auto parsed = *parse_settings(settings);
  return json::parse(dialect.request({model, kQuestion, parsed, left_out, 7}).body);
}

TEST(OpenAi, SendsWhatIsSetAndNothingElse) {
  auto body = body_for(openai_dialect(), "");
  EXPECT_EQ(body.size(), 3u);  // model, messages, stream
  body = body_for(openai_dialect(), "temperature=0.5,top_p=0.9,answer_tokens=99,effort=high,seed=3");
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["top_p"], 0.9);
  EXPECT_EQ(body["max_tokens"], 99);
  EXPECT_EQ(body["reasoning_effort"], "high");
  EXPECT_EQ(body["seed"], 7);
  body = body_for(openai_dialect(), "answer_tokens=99", "https://api.openai.com/v1");
  EXPECT_EQ(body["max_completion_tokens"], 99);
  EXPECT_FALSE(body.contains("max_tokens"));
}

TEST(Anthropic, SendsItsOwnForm) {
  auto model = model_of(anthropic_dialect(), "http://localhost:1/v1");
  auto settings = *parse_settings("");
  auto request = anthropic_dialect().request({model, kQuestion, settings, {}, 7});
  EXPECT_EQ(request.path, "/messages");
  ASSERT_EQ(request.headers.size(), 1u);
  EXPECT_EQ(request.headers[0], Header("anthropic-version", "2023-06-01"));
  auto body = json::parse(request.body);
  EXPECT_EQ(body["system"], kQuestion.system);
  EXPECT_EQ(body["messages"][0]["content"], kQuestion.user);
  EXPECT_EQ(body["max_tokens"], 16384);  // the interface wants one
  EXPECT_FALSE(body.contains("temperature"));
  body = body_for(anthropic_dialect(), "answer_tokens=1000,thinking=4000,temperature=1");
  EXPECT_EQ(body["max_tokens"], 5000);  // the thinking counts as answer
  EXPECT_EQ(body["thinking"], json({{"type", "enabled"}, {"budget_tokens", 4000}}));
  body = body_for(anthropic_dialect(), "effort=low");
  EXPECT_EQ(body["output_config"]["effort"], "low");
  EXPECT_EQ(body["thinking"]["type"], "adaptive");
}

TEST(Gemini, SendsItsOwnForm) {
  auto model = model_of(gemini_dialect(), "http://localhost:1/v1beta");
  model.name = "gemini-2.5-pro";
  auto settings = *parse_settings("");
  auto request = gemini_dialect().request({model, kQuestion, settings, {}, 7});
  EXPECT_EQ(request.path, "/models/gemini-2.5-pro:generateContent");
  model.name = "tunedModels/a b?key=";
  EXPECT_EQ(gemini_dialect().request({model, kQuestion, settings, {}, 7}).path,
            "/tunedModels/a%20b%3Fkey%3D:generateContent");
  auto body = json::parse(request.body);
  EXPECT_EQ(body["systemInstruction"]["parts"][0]["text"], kQuestion.system);
  EXPECT_EQ(body["contents"][0]["parts"][0]["text"], kQuestion.user);
  EXPECT_FALSE(body.contains("generationConfig"));
  body = body_for(gemini_dialect(), "answer_tokens=10,temperature=0,top_p=0.5,thinking=128,seed=1");
  EXPECT_EQ(body["generationConfig"], json({{"maxOutputTokens", 10},
                                            {"temperature", 0.0},
                                            {"topP", 0.5},
                                            {"thinkingConfig", {{"thinkingBudget", 128}}},
                                            {"seed", 7}}));
}

TEST(OpenAi, HandsAGrammarOverAsTheServerWantsIt) {
  auto model = model_of(openai_dialect(), "http://localhost:1/v1");
  auto question = kQuestion;
  question.grammar = "root ::= \"x\"";
  auto body = [&](const char* setting) {
    auto settings = *parse_settings(setting);
    return json::parse(openai_dialect().request({model, question, settings, {}, 7}).body);
  };
  EXPECT_EQ(body("grammar=llama")["grammar"], question.grammar);
  EXPECT_EQ(body("grammar=vllm")["structured_outputs"]["grammar"], question.grammar);
  EXPECT_EQ(body("grammar=guided")["guided_grammar"], question.grammar);
  auto custom = body("grammar=custom");
  EXPECT_EQ(custom["tools"][0]["custom"]["format"]["grammar"]["syntax"], "lark");
  EXPECT_EQ(custom["tools"][0]["custom"]["format"]["grammar"]["definition"], question.grammar);
  EXPECT_EQ(custom["tool_choice"]["custom"]["name"], custom["tools"][0]["custom"]["name"]);
  EXPECT_FALSE(body("").contains("grammar"));
  EXPECT_FALSE(parse_settings("grammar=ebnf").ok());
  Said said;
  EXPECT_EQ(openai_dialect().read(json::parse(R"({"choices":[{"message":{"content":null,"tool_calls":[{"type":"custom",
      "custom":{"name":"submit_ptx","input":".version 8.0"}}]}}]})"),
                                  said),
            "");
  EXPECT_EQ(said.text, "```ptx\n.version 8.0\n```\n");
}

Said said_of(const Dialect& dialect, const char* text) {
  Said said;
  EXPECT_EQ(dialect.read(json::parse(text), said), "");
  return said;
}

TEST(OpenAi, ReadsThinkingAndCacheApart) {
  auto said = said_of(openai_dialect(), R"({"choices":[{"message":{"content":"yes"},"finish_reason":"length"}],
      "usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":64},
               "completion_tokens_details":{"reasoning_tokens":40}}})");
  EXPECT_EQ(said.text, "yes");
  EXPECT_TRUE(said.cut);
  EXPECT_EQ(said.asked, 100);
  EXPECT_EQ(said.answered, 50);
  EXPECT_EQ(said.cached, 64);
  EXPECT_EQ(said.reasoning, 40);
  // Servers that leave the thinking out of what was answered have it in the total; others' totals say nothing new.
  for (auto [counts, answered] : {std::pair{R"("completion_tokens":9,"total_tokens":135)", 103},
                                  {R"("completion_tokens":9,"total_tokens":41)", 9},
                                  {R"("completion_tokens":9,"total_tokens":5)", 9},
                                  {R"("completion_tokens":9,"total_tokens":-1)", 9}}) {
    auto text = std::string(R"({"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":32,)") + counts +
                R"(,"completion_tokens_details":{"reasoning_tokens":94}}})";
    EXPECT_EQ(said_of(openai_dialect(), text.c_str()).answered, answered) << text;
  }
  // A null where an object is meant is what several servers send.
  said = said_of(openai_dialect(), R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]}}],
      "usage":{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":null}})");
  EXPECT_EQ(said.text, "ab");
  said = said_of(openai_dialect(), R"({"choices":[{"message":{"content":null,"refusal":"no"}}],"usage":null})");
  EXPECT_EQ(said.text, "no");
  EXPECT_FALSE(said.asked);
}

TEST(Anthropic, ReadsTextAloneAndCountsTheCacheAsAsked) {
  auto said = said_of(anthropic_dialect(), R"({"content":[{"type":"thinking","thinking":"hm","signature":"x"},
      {"type":"text","text":"ye"},{"type":"text","text":"s"}],"stop_reason":"max_tokens",
      "usage":{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":5,"output_tokens":7}})");
  EXPECT_EQ(said.text, "yes");
  EXPECT_TRUE(said.cut);
  EXPECT_EQ(said.asked, 95);
  EXPECT_EQ(said.cached, 80);
  EXPECT_EQ(said.cache_written, 5);
  EXPECT_EQ(said.answered, 7);
  EXPECT_EQ(said_of(anthropic_dialect(), R"({"content":[],"stop_reason":"refusal"})").withheld, "refusal");
}

TEST(Gemini, ReadsTextAloneCountsThinkingAsAnswerAndSaysWhatIsWithheld) {
  auto said =
      said_of(gemini_dialect(), R"({"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"yes"}]},
      "finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":30,
      "candidatesTokenCount":5,"thoughtsTokenCount":200}})");
  EXPECT_EQ(said.text, "yes");
  EXPECT_EQ(said.answered, 205);
  EXPECT_EQ(said.reasoning, 200);
  EXPECT_EQ(said.cached, 30);
  // All tokens went into thinking: no content at all.
  said = said_of(gemini_dialect(), R"({"candidates":[{"finishReason":"MAX_TOKENS"}],
      "usageMetadata":{"promptTokenCount":1,"thoughtsTokenCount":9}})");
  EXPECT_TRUE(said.cut);
  EXPECT_EQ(said.answered, 9);
  EXPECT_EQ(said_of(gemini_dialect(), R"({"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}})").withheld,
            "PROHIBITED_CONTENT");
  EXPECT_EQ(said_of(gemini_dialect(), R"({"candidates":[{"finishReason":"SAFETY"}]})").withheld, "SAFETY");
}

TEST(Gemini, SaysInItsBodyWhenToComeBack) {
  HttpOutcome outcome;
  outcome.body =
      R"({"error":{"code":429,"details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}]}})";
  EXPECT_EQ(gemini_dialect().asked_wait(outcome), std::chrono::milliseconds(37'500));
  outcome.retry_after = "2";
  EXPECT_EQ(gemini_dialect().asked_wait(outcome), std::chrono::milliseconds(2000));
  outcome = {};
  outcome.body = "[[[";
  EXPECT_FALSE(gemini_dialect().asked_wait(outcome));
}

// What real servers have said, by the field that they mean; "": the question cannot do without it.
TEST(Refusals, AreUnderstoodByTheirWords) {
  struct Case {
    const Dialect* dialect;
    const char *settings, *words, *field;
  };
  const auto &o = openai_dialect(), &a = anthropic_dialect(), &g = gemini_dialect();
  for (const auto& c : {
           Case{&o, "temperature=0.5",
                "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is "
                "supported.",
                "temperature"},
           Case{&o, "answer_tokens=9",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.",
                "max_tokens"},
           Case{&o, "answer_tokens=900000", "max_tokens is too large: 900000. This model supports at most 16384.", ""},
           Case{&o, "effort=low", "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"},
           Case{&o, "temperature=1", "The model `m` does not exist", ""},
           Case{&o, "", "Unsupported value: 'temperature' is not supported", ""},  // it was never sent
           Case{&a, "temperature=0.5,thinking=2000", "`temperature` may only be set to 1 when thinking is enabled.",
                "temperature"},
           Case{&a, "thinking=2000",
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and "
                "\"output_config.effort\" to control thinking behavior.",
                "thinking"},
           Case{&a, "effort=low", "This model does not support the effort parameter.", "output_config"},
           Case{&a, "answer_tokens=999999",
                "max_tokens: 999999 > 64000, which is the maximum allowed number of output tokens", ""},
           Case{&g, "effort=low", "Thinking level is not supported for this model.", "thinkingLevel"},
           Case{&g, "thinking=1", "Unknown name \"thinkingBudget\" at 'generation_config.thinking_config'",
                "thinkingBudget"},
       }) {
    auto model = model_of(*c.dialect, "http://localhost:1/v1");
    auto settings = *parse_settings(c.settings);
    HttpOutcome outcome;
    outcome.end = HttpOutcome::End::answered;
    outcome.status = 400;
    outcome.body = json{{"error", {{"message", c.words}}}}.dump();
    auto field = refused_field({model, kQuestion, settings, {}, 1}, outcome);
    EXPECT_EQ(field ? field->name : "", c.field) << c.words;
  }
}

TEST(Refusals, ThatAQuestionCanDoWithoutAreSaidAndItGoesOn) {
  for (const Dialect* dialect : dialects()) {
    FakeServer server({"without temperature"}, {{"yes", "Yes."}});
    auto model = model_of(*dialect, server.url());
    Client client(model, Key(kSecret), *parse_settings("temperature=0.5,answer_tokens=50,tries=1"), {});
    for (int i = 0; i < 2; ++i) {
      auto asked = client.ask(kQuestion, 1);
      ASSERT_TRUE(asked.reply.ok()) << base::render(asked.reply.findings(), "");
      EXPECT_EQ(asked.exchange->request.find("temperature"), std::string::npos);
      EXPECT_EQ(asked.exchange->usage->requests, i == 0 ? 2 : 1);
    }
    EXPECT_EQ(server.bodies().size(), 3u);  // refused once, then known
    auto said = client.left_out();
    ASSERT_EQ(said.size(), 1u) << dialect->name();
    EXPECT_EQ(said[0].code, "LLM0015");
    EXPECT_NE(said[0].message.find("temperature"), std::string::npos);
  }
  FakeServer server({"without max_tokens"}, {{"yes", "Yes."}});
  Client client(model_of(openai_dialect(), server.url()), Key(), *parse_settings("answer_tokens=50,tries=1"), {});
  ASSERT_TRUE(client.ask(kQuestion, 1).reply.ok());
  EXPECT_NE(server.bodies()[1].find("\"max_completion_tokens\":50"), std::string::npos);
  EXPECT_TRUE(client.left_out().empty());  // the limit holds as before
}

TEST(Refusals, ThatNeverEndAreBounded) {
  for (const Dialect* dialect : dialects()) {
    FakeServer server(
        {"says 400 temperature top_p topP max_tokens max_completion_tokens seed thinking effort are not supported"},
        {});
    Client client(model_of(*dialect, server.url()), Key(),
                  *parse_settings("temperature=0.5,top_p=0.5,answer_tokens=50,effort=low,thinking=5,seed=1,tries=1"),
                  {});
    auto asked = client.ask(kQuestion, 1);
    EXPECT_FALSE(asked.reply.ok());
    EXPECT_LE(server.bodies().size(), 8u) << dialect->name();
  }
}

TEST(Refusals, WhatADialectDoesNotKnowIsSaidBeforehand) {
  Client client(model_of(anthropic_dialect(), "http://localhost:1/v1"), Key(), *parse_settings("seed=5"), {});
  ASSERT_EQ(client.left_out().size(), 1u);
  EXPECT_EQ(client.left_out()[0].code, "LLM0016");
}

TEST(Refusals, AQuestionTooLongHasItsOwnFinding) {
  for (const char* words :
       {"says 400 This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "says 400 prompt is too long: 212012 tokens > 200000 maximum",
        "says 400 The input token count exceeds the maximum number of tokens allowed 1048575.",
        "says 400 the request exceeds the available context size, try increasing it"}) {
    FakeServer server({words}, {});
    Client client(model_of(openai_dialect(), server.url()), Key(), *parse_settings("temperature=1"), {});
    auto asked = client.ask(kQuestion, 1);
    ASSERT_FALSE(asked.reply.ok());
    EXPECT_EQ(asked.reply.findings().front().code, "LLM0017") << words;
    EXPECT_NE(asked.reply.findings().front().hint.find("context=N"), std::string::npos);
    EXPECT_EQ(server.bodies().size(), 1u);
  }
}

TEST(Models, HaveAHomeOrNeedAServer) {
  EXPECT_EQ(parse_model(anthropic_dialect(), "claude-opus-4-5")->url.text(), "https://api.anthropic.com/v1");
  EXPECT_EQ(parse_model(gemini_dialect(), "gemini-2.5-pro")->url.host, "generativelanguage.googleapis.com");
  EXPECT_EQ(parse_model(anthropic_dialect(), "m@http://localhost:9/v1")->url.port, 9);
  for (const char* text : {"", "@http://x/v1", "m@localhost:9/v1", "m@"})
    EXPECT_FALSE(parse_model(anthropic_dialect(), text).ok()) << text;
  EXPECT_FALSE(parse_model(openai_dialect(), "gpt-5").ok());
}

}  // namespace
}  // namespace ptxlab::llm
