#include "llm/retry.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace ptxlab::llm {

using std::chrono::milliseconds;

bool worth_another_try(const HttpOutcome& outcome) {
  switch (outcome.end) {
    case HttpOutcome::End::answered: return outcome.status == 429 || outcome.status / 100 == 5;
    case HttpOutcome::End::nameless:
    case HttpOutcome::End::unreachable:
    case HttpOutcome::End::closed: return true;
    case HttpOutcome::End::tls:
    case HttpOutcome::End::silent:
    case HttpOutcome::End::late:
    case HttpOutcome::End::too_large:
    case HttpOutcome::End::stopped: return false;
  }
  return false;
}

std::optional<milliseconds> retry_after(std::string_view header, std::chrono::system_clock::time_point now) {
  while (header.starts_with(' ')) header.remove_prefix(1);
  while (header.ends_with(' ')) header.remove_suffix(1);
  if (header.empty()) return std::nullopt;
  double seconds = 0;  // some servers send fractions
  auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (error == std::errc() && end == header.data() + header.size() && std::isfinite(seconds)) {
    if (seconds < 0) return std::nullopt;
    return milliseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1000));
  }
  tm date{};
  std::string text(header);
  const char* rest = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!rest || *rest) return std::nullopt;
  auto wait = std::chrono::system_clock::from_time_t(timegm(&date)) - now;
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(wait));
}

std::optional<milliseconds> wait_before_next(const RetryPolicy& policy, int number, std::optional<milliseconds> asked,
                                             base::Random& random) {
  if (number >= policy.tries || (asked && *asked > policy.longest_asked)) return std::nullopt;
  double doubled = static_cast<double>(policy.first.count()) * std::exp2(std::min(number - 1, 30));
  double whole = std::min(doubled, static_cast<double>(policy.longest.count()));
  milliseconds own(static_cast<int64_t>(whole * (0.5 + random.uniform() / 2)));
  return std::max(own, asked.value_or(milliseconds(0)));
}

}  // namespace ptxlab::llm
