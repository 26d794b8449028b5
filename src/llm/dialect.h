// A dialect: how one family of servers wants to be asked, and what its answers look like. One file each (openai.cc, anthropic.cc,
// gemini.cc) and a line in dialect.cc; tries, limits, budgets, prices and keys are the same for all and know nothing of it.
#pragma once
#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/chat.h"
#include "llm/http.h"
#include "llm/key.h"
#include "llm/model.h"

namespace ptxlab::llm {

// One request in the making. `left_out` holds fields that this server has refused before.
struct Asking {
  const Model& model;
  const Question& question;
  const Settings& settings;
  const std::set<std::string, std::less<>>& left_out;
  uint64_t seed = 0;  // of this question; sent only where the user sets a seed
  bool sends(std::string_view field) const { return !left_out.contains(field); }
};

// A field of the request that a server may refuse: some take no temperature, some call the limit of tokens otherwise.
struct Field {
  std::string_view name;     // as it stands in the request, and in `left_out`
  std::string_view setting;  // what the user calls it: "temperature"
  std::string_view said;     // how refusals name it, where that is something else
  // The question may not go without it, but another field may say the same; empty: it may go without.
  bool needed = false;
  std::string_view instead = {};
};

// What an answer says, as far as it does.
struct Said {
  std::string text, withheld;
  bool cut = false;
  std::optional<int64_t> asked, answered, reasoning, cached, cache_written;
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;     // what stands before the colon of --proposer
  virtual std::string_view summary() const = 0;  // for --help
  // The vendor's own address, taken where the user names none; empty: the user has to.
  virtual std::string_view home() const = 0;
  // The host at which the vendor's own variables are read before PTXLAB_API_KEY.
  virtual std::string_view vendor_host() const = 0;
  virtual std::span<const char* const> key_variables() const = 0;
  virtual Header key_header(const Key& key) const = 0;
  // Everything but the key.
  virtual HttpRequest request(const Asking& asking) const = 0;
  virtual std::span<const Field> fields() const = 0;
  // Reads an answer of status 2xx; what is missing from it ("it has no choices"), or "" and `said` filled.
  virtual std::string read(const nlohmann::json& answer, Said& said) const = 0;
  // How long the server asks to wait: Retry-After, unless the family says it elsewhere.
  virtual std::optional<std::chrono::milliseconds> asked_wait(const HttpOutcome& outcome) const;
};

std::span<const Dialect* const> dialects();
const Dialect& openai_dialect();
const Dialect& anthropic_dialect();
const Dialect& gemini_dialect();

// Errors: LLM0010 no whole answer, LLM0011 the server refuses (its own words are quoted), LLM0012 a redirect, LLM0013 no
// answer of this dialect in what came, LLM0017 the question is longer than the model takes.
base::Result<Reply> read_reply(const Model& model, const Question& question, const HttpOutcome& outcome);

// The field of `asking` that the server refuses with this answer and that may be left out or said otherwise; else nothing.
std::optional<Field> refused_field(const Asking& asking, const HttpOutcome& outcome);

// The server's own words on a refusal, in one line of at most 300 characters.
std::string complaint(const HttpOutcome& outcome);
// A refusal that no wait mends, whatever its status says: no money left.
bool is_final(const HttpOutcome& outcome);

std::optional<int64_t> count_in(const nlohmann::json& object, std::string_view key);
// The text of `object[key]`, or "".
std::string text_in(const nlohmann::json& object, std::string_view key);
// The value as JSON text, with bytes that are not UTF-8 replaced.
std::string body_of(const nlohmann::json& value);

}  // namespace ptxlab::llm
