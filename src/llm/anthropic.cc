// Anthropic's Messages, which other servers speak too.
#include <array>
#include <nlohmann/json.hpp>

#include "llm/dialect.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

// The interface wants a limit, and its users have named none: room for a long module.
constexpr int64_t kAnswerTokens = 16384;

class Anthropic final : public Dialect {
 public:
  std::string_view name() const override { return "anthropic"; }
  std::string_view summary() const override { return "a model behind Anthropic's Messages"; }
  std::string_view home() const override { return "https://api.anthropic.com/v1"; }
  std::string_view vendor_host() const override { return "api.anthropic.com"; }
  std::span<const char* const> key_variables() const override {
    static constexpr std::array kVariables = {"ANTHROPIC_API_KEY"};
    return kVariables;
  }
  Header key_header(const Key& key) const override { return {"x-api-key", key.text()}; }

  HttpRequest request(const Asking& asking) const override {
    const auto& settings = asking.settings;
    int64_t thinking = asking.sends("thinking") ? settings.thinking.value_or(0) : 0;
    json body = {{"model", asking.model.name},
                 {"max_tokens", settings.answer_tokens.value_or(kAnswerTokens) + thinking},
                 {"system", asking.question.system},
                 {"messages", {{{"role", "user"}, {"content", asking.question.user}}}}};
    if (settings.temperature && asking.sends("temperature")) body["temperature"] = *settings.temperature;
    if (settings.top_p && asking.sends("top_p")) body["top_p"] = *settings.top_p;
    if (settings.effort && asking.sends("output_config")) {
      body["output_config"] = {{"effort", *settings.effort}};
      if (!thinking && asking.sends("thinking")) body["thinking"] = {{"type", "adaptive"}};
    }
    if (thinking) body["thinking"] = {{"type", "enabled"}, {"budget_tokens", thinking}};
    return {asking.model.url, "/messages", body_of(body), {{"anthropic-version", "2023-06-01"}}};
  }

  std::span<const Field> fields() const override {
    static constexpr std::array kFields = {
        Field{"temperature", "temperature", ""}, Field{"top_p", "top_p", ""},
        Field{"output_config", "effort", ""},    Field{"output_config", "effort", "effort"},
        Field{"thinking", "thinking", ""},       Field{"thinking", "thinking", "budget_tokens"},
    };
    return kFields;
  }

  std::string read(const json& answer, Said& said) const override {
    if (!answer.is_object() || !answer.contains("content") || !answer["content"].is_array()) return "it has no content";
    for (const auto& part : answer["content"]) {
      if (text_in(part, "type") == "text") said.text += text_in(part, "text");
    }
    auto reason = text_in(answer, "stop_reason");
    said.cut = reason == "max_tokens" || reason == "model_context_window_exceeded";
    if (reason == "refusal") said.withheld = reason;
    auto usage = answer.value("usage", json::object());
    said.answered = count_in(usage, "output_tokens");
    said.cached = count_in(usage, "cache_read_input_tokens");
    said.cache_written = count_in(usage, "cache_creation_input_tokens");
    if (usage.is_object()) said.reasoning = count_in(usage.value("output_tokens_details", json()), "thinking_tokens");
    // Its input leaves out what the cache has read and written.
    said.asked = count_in(usage, "input_tokens");
    if (said.asked) *said.asked += said.cached.value_or(0) + said.cache_written.value_or(0);
    return "";
  }
};

}  // namespace

const Dialect& anthropic_dialect() {
  static const Anthropic kDialect;
  return kDialect;
}

}  // namespace ptxlab::llm
