// What a run may cost a model's server: tokens, requests, time, money. Requests are entered before they are sent, so that those
// on their way at once cannot go over the limit together.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/proposer.h"

namespace ptxlab::llm {

struct Limits {
  std::optional<int64_t> tokens;    // asked and answered together
  std::optional<int64_t> requests;  // tries included
  std::optional<int64_t> seconds;   // from the first request on
  std::optional<double> dollars;    // by the price of the model
};

using record::Usage;

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  // Enters one request of about `tokens` tokens; else why it may not be sent: "the budget of 20 requests is used up".
  std::optional<std::string> enter(int64_t tokens, std::chrono::steady_clock::time_point now, double dollars = 0);
  // The request entered with `tokens` is over and has used `usage` (its `requests` are not looked at).
  void settle(int64_t tokens, const Usage& usage, double dollars = 0);
  // For a program that asks by itself: why it may not be started again, by what it says that it has used.
  std::optional<std::string> used_up(std::chrono::steady_clock::time_point now);
  // What it says; its requests too.
  void add(const Usage& usage);
  // How long a request may still take; nothing: as long as it likes.
  std::optional<std::chrono::milliseconds> left(std::chrono::steady_clock::time_point now) const;
  Usage used() const;

 private:
  std::optional<std::string> over(std::chrono::steady_clock::time_point now);
  Limits limits_;
  mutable std::mutex mutex_;
  Usage used_;
  int64_t entered_ = 0;         // tokens of requests on their way
  double entered_dollars_ = 0;  // and what they cost at least
  std::optional<std::chrono::steady_clock::time_point> begun_;
};

// "tokens=200000,requests=50,seconds=600,dollars=2.5", any of them. Error: LLM0003, an unknown name or no positive number.
base::Result<Limits> parse_limits(std::string_view text);

}  // namespace ptxlab::llm
