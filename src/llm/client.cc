#include "llm/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

Client::Client(Model model, Key key, Settings settings, Limits limits)
    : sleep([](milliseconds time) { std::this_thread::sleep_for(time); }),
      model_(std::move(model)),
      key_(std::move(key)),
      settings_(std::move(settings)),
      budget_(limits) {}

HttpOutcome Client::send(const HttpRequest& request) {
  HttpLimits limits = settings_.http;
  if (auto left = budget_.left(steady_clock::now())) limits.whole = std::min(limits.whole, *left);
  auto outcome = post(request, key_.empty() ? "" : key_.authorization(), limits);
  for (auto* text : {&outcome.body, &outcome.content_type, &outcome.location, &outcome.retry_after})
    *text = key_.hide(*text);
  return outcome;
}

Client::Asked Client::ask(const Question& question, uint64_t seed) {
  HttpRequest request{model_.url, "/chat/completions", chat_request(model_, question, settings_), {}};
  int64_t expected = estimated_tokens(question.system) + estimated_tokens(question.user);
  expected += settings_.answer_tokens.value_or(0);
  base::Random random(seed);
  record::Exchange exchange;
  exchange.request = request.body;
  for (int number = 1;; ++number) {
    if (auto refusal = budget_.enter(expected, steady_clock::now())) {
      base::Finding finding{"LLM0014", base::Severity::error, {model_.url.text()}, *refusal, "--budget sets it", {}};
      return {finding, number == 1 ? std::nullopt : std::optional(std::move(exchange))};
    }
    auto outcome = send(request);
    auto reply = read_reply(model_, question, outcome);
    budget_.settle(expected, reply ? reply->usage : Usage{});
    exchange.tries.push_back({outcome.status, std::string(describe(outcome.end)), outcome.took, milliseconds(0)});
    exchange.response = std::move(outcome.body);
    if (reply || !worth_another_try(outcome)) return {std::move(reply), std::move(exchange)};
    auto asked = retry_after(outcome.retry_after, std::chrono::system_clock::now());
    auto wait = wait_before_next(settings_.retry, number, asked, random);
    auto left = budget_.left(steady_clock::now());
    if (!wait || (left && *wait >= *left)) {
      auto findings = reply.findings();
      findings.front().message += number == 1 ? "" : fmt::format("; {} tries", number);
      if (asked && !wait && number < settings_.retry.tries) {
        findings.front().hint = fmt::format("it asks to come back after {} seconds", asked->count() / 1000);
      }
      return {findings, std::move(exchange)};
    }
    exchange.tries.back().waited = *wait;
    sleep(*wait);
  }
}

}  // namespace ptxlab::llm
