#include "llm/model.h"

#include "llm/words.h"

namespace ptxlab::llm {

base::Result<Model> parse_model(std::string_view text) {
  size_t at = text.rfind("@http");
  if (at == text.npos || at == 0) {
    return base::Finding{"LLM0001",
                         base::Severity::error,
                         {},
                         at == 0 ? "the model has no name" : "the model's server is missing",
                         "openai:MODEL@URL, such as openai:qwen3-32b@http://localhost:8000/v1",
                         {}};
  }
  auto url = parse_url(text.substr(at + 1));
  if (!url) return url.findings();
  return Model{std::string(text.substr(0, at)), *std::move(url)};
}

base::Result<Settings> parse_settings(std::string_view text) {
  Settings settings;
  auto seconds = [](double n) { return std::chrono::milliseconds(static_cast<int64_t>(n * 1000)); };
  Words words("LLM0003", "--model-settings");
  words.number(
      "temperature", [&](double n) { settings.temperature = n; }, 0, 2);
  words.number(
      "top_p", [&](double n) { settings.top_p = n; }, 0, 1);
  words.number(
      "answer_tokens", [&](double n) { settings.answer_tokens = static_cast<int64_t>(n); }, 1, 1e7);
  words.number(
      "context", [&](double n) { settings.context = static_cast<int64_t>(n); }, 1000, 1e8);
  words.number(
      "parallel", [&](double n) { settings.parallel = static_cast<size_t>(n); }, 1, 64);
  words.number(
      "tries", [&](double n) { settings.retry.tries = static_cast<int>(n); }, 1, 20);
  words.number(
      "wait", [&](double n) { settings.retry.first = seconds(n); }, 0, 60);
  words.number(
      "connect", [&](double n) { settings.http.connect = seconds(n); }, 0.1, 600);
  words.number(
      "silence", [&](double n) { settings.http.read = seconds(n); }, 0.1, 7200);
  words.number(
      "timeout", [&](double n) { settings.http.whole = seconds(n); }, 0.1, 7200);
  if (auto wrong = words.read(text)) return *wrong;
  return settings;
}

std::string settings_help() {
  return "  temperature, top_p  as the server takes them (its own)\n"
         "  answer_tokens  the most tokens of an answer (the server's own)\n"
         "  context  the most tokens of a question (100000)\n"
         "  parallel  requests at once (4)\n"
         "  tries, wait  of one request, and seconds before the second (5, 0.5)\n"
         "  connect, silence, timeout  seconds to connect, without a byte, in all (10, 600, 600)\n";
}

}  // namespace ptxlab::llm
