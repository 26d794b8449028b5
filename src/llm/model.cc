#include "llm/model.h"

#include <fmt/format.h>

#include <utility>

#include "llm/dialect.h"
#include "llm/words.h"

namespace ptxlab::llm {

namespace {

constexpr std::pair<std::string_view, GrammarUse> kGrammars[] = {{"llama", GrammarUse::llama},
                                                                 {"vllm", GrammarUse::vllm},
                                                                 {"guided", GrammarUse::guided},
                                                                 {"custom", GrammarUse::custom}};

}  // namespace

base::Result<Model> parse_model(const Dialect& dialect, std::string_view text) {
  size_t at = text.rfind("@http");
  bool named = at != text.npos;
  bool homeless = !named && (dialect.home().empty() || text.find('@') != text.npos);
  if (at == 0 || text.empty() || text.front() == '@' || homeless) {
    bool nameless = at == 0 || text.empty() || text.front() == '@';
    return base::Finding{
        "LLM0001",
        base::Severity::error,
        {},
        nameless ? "the model has no name" : "the model's server is missing",
        dialect.home().empty()
            ? fmt::format("{0}:MODEL@URL, such as {0}:qwen3-32b@http://localhost:8000/v1", dialect.name())
            : fmt::format("{0}:MODEL for {1}, or {0}:MODEL@URL", dialect.name(), dialect.home()),
        {}};
  }
  auto url = parse_url(named ? text.substr(at + 1) : dialect.home());
  if (!url) return url.findings();
  if (!url->https && url->host == dialect.vendor_host()) {
    return base::Finding{"LLM0001",
                         base::Severity::error,
                         {},
                         fmt::format("{} is asked over https alone: a key would lie open on its way", url->host),
                         dialect.home().empty() ? fmt::format("https://{}/v1", url->host) : std::string(dialect.home()),
                         {}};
  }
  auto proxy = proxy_for(*url);
  if (!proxy) return proxy.findings();
  return Model{std::string(text.substr(0, at)), *std::move(url), &dialect, *std::move(proxy)};
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
      "thinking", [&](double n) { settings.thinking = static_cast<int64_t>(n); }, 0, 1e7);
  words.word("grammar",
             [&](std::string_view word) {
               for (auto [name, use] : kGrammars) {
                 if (name == word) settings.grammar = use;
               }
             },
             {"llama", "vllm", "guided", "custom"});
  words.word("effort", [&](std::string_view word) { settings.effort = word; });
  words.number(
      "seed", [&](double n) { settings.seed = static_cast<uint64_t>(n); }, 0, 1e15);
  words.number(
      "price_asked", [&](double n) { settings.price_asked = n; }, 0, 1e6);
  words.number(
      "price_answered", [&](double n) { settings.price_answered = n; }, 0, 1e6);
  words.number(
      "memory", [&](double n) { settings.agent_gib = n; }, 0.1, 1e6);
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
  if (settings.price_asked.has_value() != settings.price_answered.has_value()) {
    return base::Finding{
        "LLM0003", base::Severity::error, {}, "--model-settings: price_asked and price_answered go together", "", {}};
  }
  return settings;
}

std::string settings_help() {
  return "  temperature, top_p  as the server takes them (its own)\n"
         "  answer_tokens  the most tokens of an answer (the server's own)\n"
         "  thinking, effort  how much to think: tokens, or a word such as low or high, as the server takes them\n"
         "  grammar  llama, vllm, guided or custom: hand the server a grammar of PTX (docs/models.md)\n"
         "  seed  of the server's draws, where it has one\n"
         "  context  the most tokens of a question (100000)\n"
         "  parallel  requests at once (4)\n"
         "  tries, wait  of one request, and seconds before the second (5, 0.5)\n"
         "  connect, silence, timeout  seconds to connect, without a byte, in all (10, 600, 600)\n"
         "  price_asked, price_answered  dollars for a million tokens (models/prices.toml)\n"
         "  memory  GiB of address space that an agent's program may take (64)\n";
}

}  // namespace ptxlab::llm
