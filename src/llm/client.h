// Asks a model one question: the request, its tries and waits, the budget, and a record of what was said. The key goes into
// the request's header and is hidden in all that comes back.
#pragma once
#include <chrono>
#include <functional>

#include "llm/budget.h"
#include "llm/chat.h"
#include "llm/key.h"
#include "record/proposer.h"

namespace ptxlab::llm {

class Client {
 public:
  Client(Model model, Key key, Settings settings, Limits limits);

  struct Asked {
    base::Result<Reply> reply;
    std::optional<record::Exchange> exchange;  // nothing where the budget kept the question from being sent
  };
  // Errors: those of read_reply, and LLM0014 where the budget is used up. Thread-safe; `seed` draws the waits.
  Asked ask(const Question& question, uint64_t seed);

  const Model& model() const { return model_; }
  const Settings& settings() const { return settings_; }
  const Key& key() const { return key_; }
  Usage used() const { return budget_.used(); }
  // Tests wait in no time.
  std::function<void(std::chrono::milliseconds)> sleep;

 private:
  HttpOutcome send(const HttpRequest& request);
  Model model_;
  Key key_;
  Settings settings_;
  Budget budget_;
};

}  // namespace ptxlab::llm
