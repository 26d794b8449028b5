// Google's generateContent.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "llm/dialect.h"
#include "llm/retry.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

// The model's name as a piece of a path; "tunedModels/x" stays one.
std::string path_of(std::string_view name) {
  std::string path = name.find('/') == name.npos ? "/models/" : "/";
  for (char c : name) {
    bool plain = isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' || c == '/';
    path += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path + ":generateContent";
}

class Gemini final : public Dialect {
 public:
  std::string_view name() const override { return "gemini"; }
  std::string_view summary() const override { return "a model behind Google's generateContent"; }
  std::string_view home() const override { return "https://generativelanguage.googleapis.com/v1beta"; }
  std::string_view vendor_host() const override { return "generativelanguage.googleapis.com"; }
  std::span<const char* const> key_variables() const override {
    static constexpr std::array kVariables = {"GEMINI_API_KEY", "GOOGLE_API_KEY"};
    return kVariables;
  }
  // In a header: in the address it would stand in every log between here and there.
  Header key_header(const Key& key) const override { return {"x-goog-api-key", key.text()}; }

  HttpRequest request(const Asking& asking) const override {
    const auto& settings = asking.settings;
    json body = {{"systemInstruction", {{"parts", {{{"text", asking.question.system}}}}}},
                 {"contents", {{{"role", "user"}, {"parts", {{{"text", asking.question.user}}}}}}}};
    json config = json::object();
    auto set = [&](const char* field, const auto& value) {
      if (value && asking.sends(field)) config[field] = *value;
    };
    set("temperature", settings.temperature);
    set("topP", settings.top_p);
    set("maxOutputTokens", settings.answer_tokens);
    if (settings.seed && asking.sends("seed")) config["seed"] = asking.seed & 0x7fffffff;
    if (settings.thinking && asking.sends("thinkingBudget"))
      config["thinkingConfig"]["thinkingBudget"] = *settings.thinking;
    if (settings.effort && asking.sends("thinkingLevel")) config["thinkingConfig"]["thinkingLevel"] = *settings.effort;
    if (!config.empty()) body["generationConfig"] = config;
    return {asking.model.url, path_of(asking.model.name), body_of(body), {}};
  }

  std::span<const Field> fields() const override {
    static constexpr std::array kFields = {
        Field{"temperature", "temperature", ""},
        Field{"topP", "top_p", ""},
        Field{"topP", "top_p", "top_p"},
        Field{"thinkingLevel", "effort", ""},
        Field{"thinkingLevel", "effort", "thinking_level"},
        Field{"thinkingLevel", "effort", "Thinking level"},
        Field{"thinkingLevel", "effort", "thinking level"},
        Field{"thinkingBudget", "thinking", ""},
        Field{"thinkingBudget", "thinking", "thinking_budget"},
        Field{"thinkingBudget", "thinking", "Thinking budget"},
        Field{"thinkingBudget", "thinking", "thinking budget"},
        Field{"seed", "seed", ""},
    };
    return kFields;
  }

  std::string read(const json& answer, Said& said) const override {
    if (!answer.is_object()) return "it is no object";
    auto usage = answer.value("usageMetadata", json::object());
    said.asked = count_in(usage, "promptTokenCount");
    said.cached = count_in(usage, "cachedContentTokenCount");
    said.reasoning = count_in(usage, "thoughtsTokenCount");
    said.answered = count_in(usage, "candidatesTokenCount");
    // Its answer leaves the thinking out, and says nothing at all where nothing was said.
    if (said.answered || said.reasoning) said.answered = said.answered.value_or(0) + said.reasoning.value_or(0);
    if (answer.contains("promptFeedback")) {
      said.withheld = text_in(answer["promptFeedback"], "blockReason");
      if (!said.withheld.empty()) return "";
    }
    if (!answer.contains("candidates") || !answer["candidates"].is_array() || answer["candidates"].empty() ||
        !answer["candidates"][0].is_object())
      return "it has no candidates";
    const auto& candidate = answer["candidates"][0];
    auto content = candidate.value("content", json::object());
    if (content.is_object() && content.contains("parts") && content["parts"].is_array()) {
      for (const auto& part : content["parts"]) {
        bool thought = part.is_object() && part.contains("thought") && part["thought"] == true;
        if (!thought) said.text += text_in(part, "text");
      }
    }
    auto reason = text_in(candidate, "finishReason");
    said.cut = reason == "MAX_TOKENS";
    bool whole = said.cut || reason.empty() || reason == "STOP";
    if (!whole) said.withheld = reason;
    return "";
  }

  // {"error": {"details": [{"@type": ".../google.rpc.RetryInfo", "retryDelay": "37s"}]}}
  std::optional<std::chrono::milliseconds> asked_wait(const HttpOutcome& outcome) const override {
    if (auto wait = Dialect::asked_wait(outcome)) return wait;
    if (outcome.status / 100 == 2) return std::nullopt;
    auto body = base::parse_bounded(outcome.body);
    if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return std::nullopt;
    auto details = body["error"].value("details", json());
    if (!details.is_array()) return std::nullopt;
    for (const auto& detail : details) {
      auto delay = text_in(detail, "retryDelay");
      if (!delay.empty() && delay.back() == 's')
        return retry_after(std::string_view(delay).substr(0, delay.size() - 1), std::chrono::system_clock::now());
    }
    return std::nullopt;
  }
};

}  // namespace

const Dialect& gemini_dialect() {
  static const Gemini kDialect;
  return kDialect;
}

}  // namespace ptxlab::llm
