// Which model is asked, where, and how: what "openai:MODEL@URL" and --model-settings say.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/http.h"
#include "llm/retry.h"
#include "llm/url.h"

namespace ptxlab::llm {

struct Model {
  std::string name;  // as the server calls it
  Url url;           // /chat/completions lies below it
};

// "MODEL@URL"; the name may hold any of : / @. Error: LLM0001.
base::Result<Model> parse_model(std::string_view text);

struct Settings {
  std::optional<double> temperature, top_p;  // absent: the server's own
  std::optional<int64_t> answer_tokens;      // the most a single answer may have; absent: the server's own
  int64_t context = 100'000;                 // the most tokens, estimated, that a question may have
  size_t parallel = 4;                       // requests at once
  HttpLimits http;
  RetryPolicy retry;
};

// "temperature=0.7,answer_tokens=16384,context=32768,parallel=2,timeout=900,tries=3" and the like. Error: LLM0003.
base::Result<Settings> parse_settings(std::string_view text);
// The names for --help, one line each.
std::string settings_help();

}  // namespace ptxlab::llm
