// Which model is asked, where, and how: what "openai:MODEL@URL" and --model-settings say.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/http.h"
#include "llm/proxy.h"
#include "llm/retry.h"
#include "llm/url.h"

namespace ptxlab::llm {

class Dialect;

struct Model {
  std::string name;  // as the server calls it
  Url url;           // what the dialect asks for lies below it
  const Dialect* dialect = nullptr;
  std::optional<Proxy> proxy = {};  // by which it is asked
};

// "MODEL@URL", or "MODEL" where the dialect has a home; the name may hold any of : / @. Errors: LLM0001, LLM0032 of its proxy.
base::Result<Model> parse_model(const Dialect& dialect, std::string_view text);

// Which field hands a server the grammar that an answer has to keep to.
enum class GrammarUse : uint8_t {
  none,
  llama,   // "grammar": llama.cpp
  vllm,    // "structured_outputs": vLLM
  guided,  // "guided_grammar": vLLM before it, and others
  custom,  // a custom tool whose input is the module: OpenAI, in Lark
};

struct Settings {
  std::optional<double> temperature, top_p;  // absent: the server's own
  std::optional<int64_t> answer_tokens;      // the most a single answer may have; absent: the server's own
  std::optional<int64_t> thinking;           // tokens for thinking, where they are set by number
  std::optional<std::string> effort;         // "low", "high": how much to think, where it is set by word
  std::optional<uint64_t> seed;              // of the server's draws
  GrammarUse grammar = GrammarUse::none;
  std::optional<double> price_asked, price_answered;  // dollars for a million tokens, instead of the table's
  double agent_gib = 64;                              // address space of an agent's program
  int64_t context = 100'000;                          // the most tokens, estimated, that a question may have
  size_t parallel = 4;                                // requests at once
  HttpLimits http;
  RetryPolicy retry;
};

// "temperature=0.7,answer_tokens=16384,effort=high,context=32768,parallel=2,timeout=900,tries=3" and the like. Error: LLM0003.
base::Result<Settings> parse_settings(std::string_view text);
// The names for --help, one line each.
std::string settings_help();

}  // namespace ptxlab::llm
