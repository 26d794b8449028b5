#include "llm/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/utf8.h"
#include "llm/retry.h"
#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

using nlohmann::json;

// No answer has more: what a server says beyond it is a lie or a slip, and must not wrap a budget.
constexpr int64_t kMostTokens = 1'000'000'000;
constexpr size_t kMostWords = 300;
// Refusals are short; of a longer one the beginning is looked at.
constexpr size_t kMostComplaint = 64 << 10;

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
  std::string out;
  for (char c : mended(text.substr(0, kMostWords)))
    out.push_back(static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c);
  if (text.size() > kMostWords) out += " ...";
  return out;
}

// What a server says about its refusal, in any of the usual shapes, whole.
std::string whole_complaint(const HttpOutcome& outcome) {
  std::string body = outcome.body.substr(0, kMostComplaint);
  auto answer = base::parse_bounded(mended(body));
  if (answer.is_array() && !answer.empty()) answer = json(answer[0]);  // Gemini's, of a stream
  if (!answer.is_object()) return body;
  for (const char* key : {"error", "message", "detail"}) {
    auto found = answer.find(key);
    if (found == answer.end()) continue;
    if (found->is_object() && !text_in(*found, "message").empty()) return text_in(*found, "message");
    if (found->is_string()) return found->get<std::string>();
    if (key == std::string_view("detail") && !found->empty()) return found->dump();
  }
  return body;
}

json error_object(const HttpOutcome& outcome) {
  auto answer = base::parse_bounded(mended(outcome.body.substr(0, kMostComplaint)));
  if (answer.is_object() && answer.contains("error") && answer["error"].is_object()) return json(answer["error"]);
  return json::object();
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  std::string lower;
  for (char c : text) lower.push_back(static_cast<char>(tolower(static_cast<unsigned char>(c))));
  return std::any_of(words.begin(), words.end(), [&](auto word) { return lower.find(word) != lower.npos; });
}

// `name` as a word of its own in `text`, whatever quotes or path stand around it.
bool names(std::string_view text, std::string_view name) {
  auto part = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

bool too_long(const HttpOutcome& outcome) {
  if (outcome.status / 100 != 4) return false;
  auto error = error_object(outcome);
  if (text_in(error, "code") == "context_length_exceeded" || text_in(error, "type") == "exceed_context_size_error")
    return true;
  return contains_any(whole_complaint(outcome),
                      {"maximum context length", "context length exceeded", "prompt is too long",
                       "input token count exceeds", "exceeds the maximum number of tokens", "available context size",
                       "exceeds the context window", "exceed context limit"});
}

std::string hint_for(const Model& model, int status) {
  switch (status) {
    case 401:
    case 403: {
      if (!model.url.https && !model.url.loopback())
        return "the key comes from PTXLAB_API_KEY: a vendor's own does not go over plain http to another machine";
      std::string variables = "PTXLAB_API_KEY";
      for (const char* variable : model.dialect->key_variables()) variables += fmt::format(" or {}", variable);
      return "the key comes from " + variables;
    }
    case 404:
      return fmt::format("is the address right{}, and does the server have this model?",
                         model.dialect->home().empty() ? " up to /v1" : "");
    case 407:
      return "the proxy wants a name and a password: https_proxy=http://NAME:PASSWORD@HOST:PORT, or no_proxy=HOST";
    case 413: return "the question may be too long for the model: --model-settings context=N makes it shorter";
    case 429: return "the server's limit of requests is reached: --model-settings parallel=1 sends fewer at once";
    default: return "";
  }
}

record::Usage usage_of(const Said& said, const Question& question) {
  record::Usage usage;
  usage.estimated = !said.asked || !said.answered;
  usage.asked = said.asked ? *said.asked : estimated_tokens(question.system) + estimated_tokens(question.user);
  usage.answered = said.answered ? *said.answered : estimated_tokens(said.text);
  usage.reasoning = std::min(said.reasoning.value_or(0), usage.answered);
  usage.cached = std::min(said.cached.value_or(0), usage.asked);
  usage.cache_written = std::min(said.cache_written.value_or(0), usage.asked - usage.cached);
  return usage;
}

}  // namespace

std::span<const Dialect* const> dialects() {
  static const std::array kAll = {&openai_dialect(), &anthropic_dialect(), &gemini_dialect()};
  return kAll;
}

std::optional<std::chrono::milliseconds> Dialect::asked_wait(const HttpOutcome& outcome) const {
  return retry_after(outcome.retry_after, std::chrono::system_clock::now());
}

std::optional<int64_t> count_in(const json& object, std::string_view key) {
  if (!object.is_object()) return std::nullopt;
  auto value = object.find(key);
  if (value == object.end() || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(kMostTokens)) return std::nullopt;
  auto count = value->get<int64_t>();
  return count < 0 || count > kMostTokens ? std::nullopt : std::optional(count);
}

std::string text_in(const json& object, std::string_view key) {
  if (!object.is_object()) return "";
  auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

std::string body_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string complaint(const HttpOutcome& outcome) { return excerpt(whole_complaint(outcome)); }

bool is_final(const HttpOutcome& outcome) {
  auto error = error_object(outcome);
  return text_in(error, "code") == "insufficient_quota" || text_in(error, "type") == "insufficient_quota";
}

std::optional<Field> refused_field(const Asking& asking, const HttpOutcome& outcome) {
  if (outcome.end != HttpOutcome::End::answered || (outcome.status != 400 && outcome.status != 422))
    return std::nullopt;
  if (too_long(outcome)) return std::nullopt;
  auto words = whole_complaint(outcome);
  auto parameter = text_in(error_object(outcome), "param");
  std::string sent = asking.model.dialect->request(asking).body;
  for (const auto& field : asking.model.dialect->fields()) {
    if (!asking.sends(field.name) || sent.find(fmt::format("\"{}\"", field.name)) == sent.npos) continue;
    auto said = field.said.empty() ? field.name : field.said;
    if (parameter.empty() ? !names(words, said) : !names(parameter, said)) continue;
    if (!field.needed) return field;
    // The name is refused, not the number; else the user has to choose another one.
    bool unknown = contains_any(words, {"unsupported", "not supported", "unknown", "unrecognized", "not permitted"}) ||
                   (!field.instead.empty() && names(words, field.instead));
    if (unknown && !field.instead.empty() && asking.sends(field.instead)) return field;
  }
  return std::nullopt;
}

base::Result<Reply> read_reply(const Model& model, const Question& question, const HttpOutcome& outcome) {
  if (outcome.end != HttpOutcome::End::answered) {
    return finding("LLM0010", model,
                   fmt::format("{} ({} bytes in {:.1f} s{})", describe(outcome.end), outcome.body.size(),
                               static_cast<double>(outcome.took.count()) / 1000,
                               model.proxy ? ", by the proxy " + model.proxy->text() : ""),
                   "");
  }
  if (outcome.status / 100 == 3) {
    return finding("LLM0012", model,
                   fmt::format("the server sends on to '{}', which is not followed: the key would go there too",
                               excerpt(outcome.location)),
                   "name the final address");
  }
  if (too_long(outcome)) {
    return finding("LLM0017", model,
                   fmt::format("the question is longer than the model takes: the server answers {}: {}", outcome.status,
                               complaint(outcome)),
                   "--model-settings context=N keeps questions to N tokens: leave room for the answer");
  }
  if (outcome.status / 100 != 2) {
    return finding("LLM0011", model, fmt::format("the server answers {}: {}", outcome.status, complaint(outcome)),
                   hint_for(model, outcome.status));
  }
  if (!outcome.content_encoding.empty() && outcome.content_encoding != "identity") {
    return finding(
        "LLM0013", model,
        fmt::format("the answer is packed ('{}'), which was not asked for", excerpt(outcome.content_encoding)),
        "a proxy before the server may do that");
  }
  Reply reply;
  reply.ill_formed = !base::valid_utf8(outcome.body);
  auto answer = base::parse_bounded(reply.ill_formed ? mended(outcome.body) : outcome.body);
  Said said;
  auto missing = answer.is_discarded() ? "it is no JSON" : model.dialect->read(answer, said);
  if (!missing.empty()) {
    return finding("LLM0013", model,
                   fmt::format("no answer as '{}' servers give it came back: {} ({} bytes of {}): {}",
                               model.dialect->name(), missing, outcome.body.size(),
                               outcome.content_type.empty() ? "no content type" : excerpt(outcome.content_type),
                               excerpt(outcome.body)),
                   model.dialect->home().empty() ? "is the address that of an OpenAI-compatible interface, up to /v1?"
                                                 : fmt::format("is the address right? {}'s own is {}",
                                                               model.dialect->name(), model.dialect->home()));
  }
  reply.usage = usage_of(said, question);
  reply.text = std::move(said.text);
  reply.withheld = excerpt(said.withheld);
  reply.cut = said.cut;
  return reply;
}

}  // namespace ptxlab::llm
