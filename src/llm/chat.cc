#include "llm/chat.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

base::Finding finding(const char* code, const Model& model, std::string message, std::string hint) {
  return {code, base::Severity::error, {model.url.text()}, std::move(message), std::move(hint), {}};
}

// Every byte that is not UTF-8 replaced by U+FFFD.
std::string mended(std::string_view text) {
  std::string out;
  while (auto bad = base::first_ill_formed(text)) {
    out += text.substr(0, *bad);
    out += "\xef\xbf\xbd";
    text.remove_prefix(*bad + 1);
  }
  return out.append(text);
}

// Some of a server's words, in one line and without control characters: it may send anything.
std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 300;
  std::string out;
  for (char c : mended(text.substr(0, kMost)))
    out.push_back(static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c);
  if (text.size() > kMost) out += " ...";
  return out;
}

// What a server says about its refusal, in any of the usual shapes.
std::string complaint(const std::string& body) {
  auto parsed = json::parse(mended(body), nullptr, false);
  if (parsed.is_object()) {
    for (const char* key : {"error", "message", "detail"}) {
      auto found = parsed.find(key);
      if (found == parsed.end()) continue;
      if (found->is_object() && found->contains("message") && (*found)["message"].is_string())
        return excerpt((*found)["message"].get<std::string>());
      if (found->is_string()) return excerpt(found->get<std::string>());
    }
  }
  return excerpt(body);
}

std::string hint_for(int status) {
  switch (status) {
    case 401:
    case 403: return "the key comes from PTXLAB_API_KEY or OPENAI_API_KEY";
    case 404: return "is the address right up to /v1, and does the server have this model?";
    case 413: return "the question may be too long for the model: --model-settings context=N makes it shorter";
    case 429: return "the server's limit of requests is reached: --model-settings parallel=1 sends fewer at once";
    default: return "";
  }
}

// The text of a message: a string, or the text parts of a list.
std::string text_of(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const auto& part : content) {
    if (part.is_object() && part.contains("text") && part["text"].is_string()) text += part["text"].get<std::string>();
  }
  return text;
}

Usage usage_of(const json& answer, const Question& question, const std::string& text) {
  auto count = [&](const char* key) -> std::optional<int64_t> {
    auto usage = answer.find("usage");
    if (usage == answer.end() || !usage->is_object()) return std::nullopt;
    auto value = usage->find(key);
    if (value == usage->end() || !value->is_number_integer() || value->get<int64_t>() < 0) return std::nullopt;
    return value->get<int64_t>();
  };
  auto asked = count("prompt_tokens"), answered = count("completion_tokens");
  Usage usage;
  usage.estimated = !asked || !answered;
  usage.asked = asked ? *asked : estimated_tokens(question.system) + estimated_tokens(question.user);
  usage.answered = answered ? *answered : estimated_tokens(text);
  return usage;
}

}  // namespace

std::string chat_request(const Model& model, const Question& question, const Settings& settings) {
  json body = {{"model", model.name},
               {"messages",
                {{{"role", "system"}, {"content", question.system}}, {{"role", "user"}, {"content", question.user}}}},
               {"stream", false}};
  if (settings.temperature) body["temperature"] = *settings.temperature;
  if (settings.top_p) body["top_p"] = *settings.top_p;
  if (settings.answer_tokens) {
    // OpenAI's own server has renamed it; the others know the old name best.
    bool renamed = model.url.host == "api.openai.com";
    body[renamed ? "max_completion_tokens" : "max_tokens"] = *settings.answer_tokens;
  }
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

base::Result<Reply> read_reply(const Model& model, const Question& question, const HttpOutcome& outcome) {
  if (outcome.end != HttpOutcome::End::answered) {
    return finding("LLM0010", model,
                   fmt::format("{} ({} bytes in {:.1f} s)", describe(outcome.end), outcome.body.size(),
                               static_cast<double>(outcome.took.count()) / 1000),
                   "");
  }
  if (outcome.status / 100 == 3) {
    return finding("LLM0012", model,
                   fmt::format("the server sends on to '{}', which is not followed: the key would go there too",
                               excerpt(outcome.location)),
                   "name the final address");
  }
  if (outcome.status / 100 != 2) {
    return finding("LLM0011", model, fmt::format("the server answers {}: {}", outcome.status, complaint(outcome.body)),
                   hint_for(outcome.status));
  }
  Reply reply;
  reply.ill_formed = !base::valid_utf8(outcome.body);
  auto answer = json::parse(reply.ill_formed ? mended(outcome.body) : outcome.body, nullptr, false);
  auto no_completion = [&](std::string_view what) {
    return finding("LLM0013", model,
                   fmt::format("no chat completion came back: {} ({} bytes of {}): {}", what, outcome.body.size(),
                               outcome.content_type.empty() ? "no content type" : excerpt(outcome.content_type),
                               excerpt(outcome.body)),
                   "is the address that of an OpenAI-compatible interface, up to /v1?");
  };
  if (answer.is_discarded()) return no_completion("it is no JSON");
  if (!answer.is_object() || !answer.contains("choices") || !answer["choices"].is_array() ||
      answer["choices"].empty() || !answer["choices"][0].is_object())
    return no_completion("it has no choices");
  const auto& choice = answer["choices"][0];
  auto message = choice.find("message");
  if (message == choice.end() || !message->is_object()) return no_completion("its choice has no message");
  if (message->contains("content")) reply.text = text_of((*message)["content"]);
  // A refusal is an answer too: one without a candidate.
  if (reply.text.empty() && message->contains("refusal")) reply.text = text_of((*message)["refusal"]);
  auto reason = choice.find("finish_reason");
  reply.cut = reason != choice.end() && *reason == "length";
  reply.usage = usage_of(answer, question, reply.text);
  return reply;
}

}  // namespace ptxlab::llm
