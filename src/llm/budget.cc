#include "llm/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/words.h"

namespace ptxlab::llm {

// What is used up whatever the next question takes. The mutex is held.
std::optional<std::string> Budget::over(std::chrono::steady_clock::time_point now) {
  if (!begun_) begun_ = now;
  if (limits_.requests && used_.requests >= *limits_.requests)
    return fmt::format("the budget of {} requests is used up", *limits_.requests);
  if (limits_.seconds && now - *begun_ >= std::chrono::seconds(*limits_.seconds))
    return fmt::format("the budget of {} seconds is used up", *limits_.seconds);
  return std::nullopt;
}

std::optional<std::string> Budget::used_up(std::chrono::steady_clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (auto why = over(now)) return why;
  if (limits_.tokens && used_.asked + used_.answered >= *limits_.tokens)
    return fmt::format("the budget of {} tokens is used up", *limits_.tokens);
  if (limits_.dollars && used_.dollars >= *limits_.dollars)
    return fmt::format("the budget of ${:.4f} is used up", *limits_.dollars);
  return std::nullopt;
}

void Budget::add(const Usage& usage) {
  std::lock_guard lock(mutex_);
  used_.add(usage);
}

std::optional<std::string> Budget::enter(int64_t tokens, std::chrono::steady_clock::time_point now, double dollars) {
  std::lock_guard lock(mutex_);
  if (auto why = over(now)) return why;
  int64_t spent = used_.asked + used_.answered + entered_;
  if (limits_.tokens && spent + tokens > *limits_.tokens) {
    return fmt::format("{} of {} tokens are used, and the next question takes about {}", spent, *limits_.tokens,
                       tokens);
  }
  if (limits_.dollars && used_.dollars + entered_dollars_ + dollars > *limits_.dollars) {
    return fmt::format("${:.4f} of ${:.4f} are spent, and the next question costs about ${:.4f}",
                       used_.dollars + entered_dollars_, *limits_.dollars, dollars);
  }
  ++used_.requests;
  entered_ += tokens;
  entered_dollars_ += dollars;
  return std::nullopt;
}

void Budget::settle(int64_t tokens, const Usage& usage, double dollars) {
  std::lock_guard lock(mutex_);
  entered_ -= tokens;
  entered_dollars_ -= dollars;
  Usage spent = usage;
  spent.requests = 0;
  used_.add(spent);
}

std::optional<std::chrono::milliseconds> Budget::left(std::chrono::steady_clock::time_point now) const {
  std::lock_guard lock(mutex_);
  if (!limits_.seconds) return std::nullopt;
  auto end = begun_.value_or(now) + std::chrono::seconds(*limits_.seconds);
  return std::max(std::chrono::milliseconds(0), std::chrono::duration_cast<std::chrono::milliseconds>(end - now));
}

Usage Budget::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

base::Result<Limits> parse_limits(std::string_view text) {
  Limits limits;
  Words words("LLM0003", "--budget");
  words.number("tokens", [&](double n) { limits.tokens = static_cast<int64_t>(n); });
  words.number("requests", [&](double n) { limits.requests = static_cast<int64_t>(n); });
  words.number("seconds", [&](double n) { limits.seconds = static_cast<int64_t>(n); });
  words.number(
      "dollars", [&](double n) { limits.dollars = n; }, 0, 1e6);
  if (auto wrong = words.read(text)) return *wrong;
  return limits;
}

}  // namespace ptxlab::llm
