#include "llm/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "llm/retry.h"
#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using End = HttpOutcome::End;

// Tokens of an exchange whose answer cannot be read: the server has worked all the same, and is paid for it.
Usage unread(const Question& question, const HttpOutcome& outcome) {
  bool worked = outcome.end == End::answered ? outcome.status / 100 == 2
                                             : outcome.end == End::closed || outcome.end == End::silent ||
                                                   outcome.end == End::late || outcome.end == End::too_large;
  Usage usage;
  if (!worked) return usage;
  usage.asked = estimated_tokens(question.system) + estimated_tokens(question.user);
  usage.answered = estimated_tokens(outcome.body);
  usage.estimated = true;
  return usage;
}

base::Finding warning(const char* code, const Model& model, std::string message, std::string hint) {
  return {code, base::Severity::warning, {model.url.text()}, std::move(message), std::move(hint), {}};
}

// What the dialect has no field for.
base::Findings not_known(const Model& model, const Settings& settings) {
  base::Findings findings;
  auto look = [&](std::string_view setting, bool set) {
    if (!set) return;
    for (const auto& field : model.dialect->fields()) {
      if (field.setting == setting) return;
    }
    findings.push_back(
        warning("LLM0016", model, fmt::format("'{}' has no {}: it is not sent", model.dialect->name(), setting), ""));
  };
  look("thinking", settings.thinking.has_value());
  look("effort", settings.effort.has_value());
  look("seed", settings.seed.has_value());
  look("grammar", settings.grammar != GrammarUse::none);
  return findings;
}

}  // namespace

Client::Client(Model model, Key key, Settings settings, Limits limits, std::optional<Price> price)
    : sleep([this](milliseconds time) {
        auto end = steady_clock::now() + time;
        while (steady_clock::now() < end && !stopped())
          std::this_thread::sleep_for(std::min<steady_clock::duration>(milliseconds(100), end - steady_clock::now()));
      }),
      model_(std::move(model)),
      key_(std::move(key)),
      settings_(std::move(settings)),
      budget_(limits),
      price_(std::move(price)),
      said_(not_known(model_, settings_)) {}

HttpOutcome Client::send(HttpRequest request) {
  HttpLimits limits = settings_.http;
  request.proxy = model_.proxy;
  if (auto left = budget_.left(steady_clock::now())) limits.whole = std::min(limits.whole, *left);
  auto outcome = post(request, key_.empty() ? Header() : model_.dialect->key_header(key_), limits, stop);
  for (auto* text :
       {&outcome.body, &outcome.content_type, &outcome.content_encoding, &outcome.location, &outcome.retry_after})
    *text = key_.hide(*text);
  return outcome;
}

base::Findings Client::left_out() const {
  std::lock_guard lock(mutex_);
  return said_;
}

std::set<std::string, std::less<>> Client::left_out_fields() const {
  std::lock_guard lock(mutex_);
  return left_out_;
}

void Client::priced(Usage& usage) const {
  if (price_) {
    usage.dollars = cost_of(*price_, usage);
  } else {
    usage.unpriced = usage.asked + usage.answered > 0;
  }
}

int64_t Client::expected_answer() const {
  int64_t thinking = settings_.thinking.value_or(0);
  if (settings_.answer_tokens) return *settings_.answer_tokens + thinking;
  std::lock_guard lock(mutex_);
  return longest_answer_;
}

void Client::note_length(int64_t answered) {
  std::lock_guard lock(mutex_);
  longest_answer_ = std::max(longest_answer_, answered);
}

bool Client::mended(const Asking& asking, const HttpOutcome& outcome) {
  auto field = refused_field(asking, outcome);
  if (!field) return false;
  std::lock_guard lock(mutex_);
  bool first = left_out_.insert(std::string(field->name)).second;
  // One name for another is no news.
  if (first && field->instead.empty()) {
    said_.push_back(warning(
        "LLM0015", model_,
        fmt::format("the server refuses {}, which is left out from here on: {}", field->setting, complaint(outcome)),
        fmt::format("leave {} out of --model-settings for this model", field->setting)));
  }
  return true;
}

Client::Asked Client::ask(const Question& question, uint64_t seed) {
  auto left_out = left_out_fields();
  Settings settings = settings_;
  if (!settings.temperature) settings.temperature = question.temperature;
  Asking asking{model_, question, settings, left_out,
                settings_.seed ? base::derive_seed(*settings_.seed, std::to_string(seed)) : 0};
  int64_t asked_tokens = estimated_tokens(question.system) + estimated_tokens(question.user);
  Usage next;
  next.asked = asked_tokens;
  next.answered = expected_answer();
  priced(next);
  int64_t expected = next.asked + next.answered;
  base::Random random(seed);
  record::Exchange exchange;
  Usage used;
  for (int number = 1;;) {
    if (stopped()) {
      HttpOutcome given_up;
      given_up.end = End::stopped;
      return {read_reply(model_, question, given_up), exchange.tries.empty() ? std::nullopt : std::optional(exchange)};
    }
    if (auto refusal = budget_.enter(expected, steady_clock::now(), next.dollars)) {
      base::Finding finding{"LLM0014", base::Severity::error, {model_.url.text()}, *refusal, "--budget sets it", {}};
      return {finding, exchange.tries.empty() ? std::nullopt : std::optional(std::move(exchange))};
    }
    auto request = model_.dialect->request(asking);
    exchange.request = request.body;
    auto outcome = send(request);
    auto reply = read_reply(model_, question, outcome);
    auto usage = reply ? reply->usage : unread(question, outcome);
    priced(usage);
    if (reply) reply->usage = usage;
    budget_.settle(expected, usage, next.dollars);
    note_length(usage.answered);
    ++usage.requests;
    used.add(usage);
    exchange.usage = used;
    exchange.tries.push_back({outcome.status, std::string(describe(outcome.end)), outcome.took, milliseconds(0)});
    if (!reply && mended(asking, outcome)) {
      left_out = left_out_fields();
      continue;  // at most once for each field; no try of its own
    }
    auto asked = model_.dialect->asked_wait(outcome);
    bool again = !reply && worth_another_try(outcome) && !is_final(outcome);
    exchange.response = std::move(outcome.body);
    if (!again) return {std::move(reply), std::move(exchange)};
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
    ++number;
    sleep(*wait);
  }
}

}  // namespace ptxlab::llm
