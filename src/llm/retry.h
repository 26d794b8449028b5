// When to try again and how long to wait first: exponential backoff with jitter, so that many clients do not come back at
// once, and never earlier than the server's Retry-After.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "llm/http.h"

namespace ptxlab::llm {

struct RetryPolicy {
  int tries = 5;                                     // in all
  std::chrono::milliseconds first{500};              // the first wait, doubled each time
  std::chrono::milliseconds longest{30'000};         // no wait of our own is longer
  std::chrono::milliseconds longest_asked{120'000};  // a longer Retry-After is not waited for
};

// True for what another try may mend: no connection, one that ended early, 429, 5xx. Not for other answers, and not for
// one that took too long: it would take as long again.
bool worth_another_try(const HttpOutcome& outcome);

// Retry-After: seconds, or a date of HTTP relative to `now`; nothing where it is neither. A date gone by is 0.
std::optional<std::chrono::milliseconds> retry_after(std::string_view header,
                                                     std::chrono::system_clock::time_point now);

// How long to wait after try `number` (from 1): half to all of the doubled wait, drawn by `random`, at least what the server
// asked for. Nothing: give up, the tries are used up or the server asks for too long a wait.
std::optional<std::chrono::milliseconds> wait_before_next(const RetryPolicy& policy, int number,
                                                          std::optional<std::chrono::milliseconds> asked,
                                                          base::Random& random);

}  // namespace ptxlab::llm
