// Asks a model one question: the request, its tries and waits, what its server refuses, the budget, the price, and a record of
// what was said. The key goes into the request's header and is hidden in all that comes back.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "llm/budget.h"
#include "llm/dialect.h"
#include "llm/key.h"
#include "llm/price.h"
#include "record/proposer.h"

namespace ptxlab::llm {

class Client {
 public:
  Client(Model model, Key key, Settings settings, Limits limits, std::optional<Price> price = {});

  struct Asked {
    base::Result<Reply> reply;
    std::optional<record::Exchange> exchange;  // nothing where the budget kept the question from being sent
  };
  // Errors: those of read_reply, LLM0010 too where `stop` says so, and LLM0014 where the budget is used up. Thread-safe; `seed` draws the waits, and the server's
  // answer where it takes a seed.
  Asked ask(const Question& question, uint64_t seed);

  // What the user has set and this model does not get, one warning each: LLM0016 its interface has no such thing, LLM0015 the server
  // refused it, with its words.
  base::Findings left_out() const;

  const Model& model() const { return model_; }
  const Settings& settings() const { return settings_; }
  const Key& key() const { return key_; }
  const std::optional<Price>& price() const { return price_; }
  Usage used() const { return budget_.used(); }
  // Tokens that the next answer may have, as far as anybody knows: its limit, else as many as the longest one so far.
  int64_t expected_answer() const;
  // Tests wait in no time.
  std::function<void(std::chrono::milliseconds)> sleep;
  // Asked ten times a second; true gives up what is on its way.
  std::function<bool()> stop;

 private:
  HttpOutcome send(HttpRequest request);
  // Whether the server has refused a field of this request that another request can do without.
  bool mended(const Asking& asking, const HttpOutcome& outcome);
  std::set<std::string, std::less<>> left_out_fields() const;
  bool stopped() const { return stop && stop(); }
  void priced(Usage& usage) const;
  void note_length(int64_t answered);
  Model model_;
  Key key_;
  Settings settings_;
  Budget budget_;
  std::optional<Price> price_;
  mutable std::mutex mutex_;
  int64_t longest_answer_ = 0;
  std::set<std::string, std::less<>> left_out_;
  base::Findings said_;
};

}  // namespace ptxlab::llm
