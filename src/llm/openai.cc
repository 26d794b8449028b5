// Chat completions, as OpenAI defined them and most servers speak them: vLLM, SGLang, llama.cpp, Ollama and others.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "llm/dialect.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

// The text of a message: a string, or the text parts of a list.
std::string text_of(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const auto& part : content) text += text_in(part, "text");
  return text;
}

constexpr const char* kTool = "submit_ptx";

// The grammar that the answer has to keep to, under the name that this server has for it.
void add_grammar(const Asking& asking, json& body) {
  const auto& grammar = asking.question.grammar;
  if (grammar.empty()) return;
  auto set = [&](const char* field, const json& value) {
    if (asking.sends(field)) body[field] = value;
  };
  switch (asking.settings.grammar) {
    case GrammarUse::none: return;
    case GrammarUse::llama: return set("grammar", grammar);
    case GrammarUse::vllm: return set("structured_outputs", {{"grammar", grammar}});
    case GrammarUse::guided: return set("guided_grammar", grammar);
    case GrammarUse::custom: break;
  }
  if (!asking.sends("tools")) return;
  json format = {{"type", "grammar"}, {"grammar", {{"syntax", "lark"}, {"definition", grammar}}}};
  json tool = {{"name", kTool}, {"description", "Hands in the whole PTX module."}, {"format", std::move(format)}};
  body["tools"] = json::array({{{"type", "custom"}, {"custom", std::move(tool)}}});
  body["tool_choice"] = {{"type", "custom"}, {"custom", {{"name", kTool}}}};
}

// A module handed in through the tool, as the block that an answer in text has.
std::string submitted(const json& message) {
  auto calls = message.value("tool_calls", json::array());
  if (!calls.is_array()) return "";
  for (const auto& call : calls) {
    if (!call.is_object() || !call.contains("custom") || text_in(call["custom"], "name") != kTool) continue;
    auto input = text_in(call["custom"], "input");
    return "```ptx\n" + input + (input.ends_with('\n') ? "" : "\n") + "```\n";
  }
  return "";
}

class OpenAi final : public Dialect {
 public:
  std::string_view name() const override { return "openai"; }
  std::string_view summary() const override { return "a model behind an OpenAI-compatible server"; }
  std::string_view home() const override { return ""; }  // too many speak it to guess whom the kernel should go to
  std::string_view vendor_host() const override { return "api.openai.com"; }
  std::span<const char* const> key_variables() const override {
    static constexpr std::array kVariables = {"OPENAI_API_KEY"};
    return kVariables;
  }
  Header key_header(const Key& key) const override { return {"Authorization", "Bearer " + key.text()}; }

  HttpRequest request(const Asking& asking) const override {
    const auto& settings = asking.settings;
    json body = {{"model", asking.model.name},
                 {"messages",
                  {{{"role", "system"}, {"content", asking.question.system}},
                   {{"role", "user"}, {"content", asking.question.user}}}},
                 {"stream", false}};
    auto set = [&](const char* field, const auto& value) {
      if (value && asking.sends(field)) body[field] = *value;
    };
    set("temperature", settings.temperature);
    set("top_p", settings.top_p);
    set("reasoning_effort", settings.effort);
    if (settings.seed && asking.sends("seed")) body["seed"] = asking.seed & 0x7fffffff;
    add_grammar(asking, body);
    if (settings.answer_tokens) {
      // OpenAI's own server has renamed it; the others know the old name best.
      bool renamed =
          asking.model.url.host == vendor_host() ? asking.sends("max_completion_tokens") : !asking.sends("max_tokens");
      body[renamed ? "max_completion_tokens" : "max_tokens"] = *settings.answer_tokens;
    }
    return {asking.model.url, "/chat/completions", body_of(body), {}};
  }

  std::span<const Field> fields() const override {
    static constexpr std::array kFields = {
        Field{"max_tokens", "answer_tokens", "", true, "max_completion_tokens"},
        Field{"max_completion_tokens", "answer_tokens", "", true, "max_tokens"},
        Field{"temperature", "temperature", ""},
        Field{"top_p", "top_p", ""},
        Field{"reasoning_effort", "effort", ""},
        Field{"reasoning_effort", "effort", "reasoning.effort"},
        Field{"seed", "seed", ""},
        Field{"grammar", "grammar", ""},
        Field{"structured_outputs", "grammar", ""},
        Field{"guided_grammar", "grammar", ""},
        Field{"tools", "grammar", ""},
        Field{"tools", "grammar", "custom"},
        Field{"tools", "grammar", "tool_choice"},
        Field{"tools", "grammar", "grammar"},
    };
    return kFields;
  }

  std::string read(const json& answer, Said& said) const override {
    if (!answer.is_object() || !answer.contains("choices") || !answer["choices"].is_array() ||
        answer["choices"].empty() || !answer["choices"][0].is_object())
      return "it has no choices";
    const auto& choice = answer["choices"][0];
    auto message = choice.find("message");
    if (message == choice.end() || !message->is_object()) return "its choice has no message";
    if (message->contains("content")) said.text = text_of((*message)["content"]);
    if (said.text.empty()) said.text = submitted(*message);
    // A refusal is an answer too: one without a candidate.
    if (said.text.empty() && message->contains("refusal")) said.text = text_of((*message)["refusal"]);
    auto reason = text_in(choice, "finish_reason");
    said.cut = reason == "length";
    if (reason == "content_filter") said.withheld = reason;
    auto usage = answer.value("usage", json::object());
    said.asked = count_in(usage, "prompt_tokens");
    said.answered = count_in(usage, "completion_tokens");
    // Some servers leave the thinking out of it, but not out of the total.
    auto total = count_in(usage, "total_tokens");
    if (said.asked && said.answered && total) said.answered = std::max(*said.answered, *total - *said.asked);
    if (usage.is_object()) {
      said.cached = count_in(usage.value("prompt_tokens_details", json()), "cached_tokens");
      said.cache_written = count_in(usage.value("prompt_tokens_details", json()), "cache_write_tokens");
      said.reasoning = count_in(usage.value("completion_tokens_details", json()), "reasoning_tokens");
    }
    return "";
  }
};

}  // namespace

const Dialect& openai_dialect() {
  static const OpenAi kDialect;
  return kDialect;
}

}  // namespace ptxlab::llm
