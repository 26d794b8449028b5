// For tests: a server that speaks every dialect (the address says which), answers from texts that it is given, and misbehaves
// on request.
// Each request takes the next step of its script; the last step is repeated. A step is one line:
//   answer NAME [cut|uncounted]   a completion with the text of that name; `slow` the same after 150 ms
//   status N [retry-after=SECONDS|key]   an error as servers word it; `key`: it quotes the key's header
//   says N TEXT   an error of status N with these words; `without FIELD`: the first text, but 400 to a question that holds FIELD
//   closed, half, drip, huge, ill-formed, html, no-choices, redirect   what their names say; `drip` is a byte a second
//   empty, null, nested (a million brackets), absurd (counts that no answer has), plain (a good answer called text/plain), gzip
//   echo   the question as the answer; `key`   the key's header as the answer
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>

#include <nlohmann/json.hpp>

namespace ptxlab::llm {

class FakeServer {
 public:
  // `texts`: what `answer NAME` says, by name. `tls`: an httplib::SSLServer to use instead of a plain one.
  FakeServer(std::vector<std::string> script, std::map<std::string, std::string> texts,
             std::unique_ptr<httplib::Server> server = std::make_unique<httplib::Server>())
      : script_(std::move(script)), texts_(std::move(texts)), server_(std::move(server)) {
    server_->Post(".*",
                  [this](const httplib::Request& request, httplib::Response& response) { serve(request, response); });
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~FakeServer() {
    stopping_ = true;
    server_->stop();
    thread_.join();
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  // Called with the body of each request, before it is answered.
  std::function<void(size_t number, const std::string& body)> on_request;

  std::vector<std::string> bodies() const {
    std::lock_guard lock(mutex_);
    return bodies_;
  }
  std::vector<httplib::Headers> headers() const {
    std::lock_guard lock(mutex_);
    return headers_;
  }
  size_t most_at_once() const { return most_at_once_; }

 private:
  void serve(const httplib::Request& request, httplib::Response& response) {
    size_t number = 0, now = ++at_once_;
    for (size_t most = most_at_once_; now > most && !most_at_once_.compare_exchange_weak(most, now);) {
    }
    {
      std::lock_guard lock(mutex_);
      number = bodies_.size();
      bodies_.push_back(request.body);
      headers_.push_back(request.headers);
    }
    if (on_request) on_request(number, request.body);
    const auto& text = script_[std::min(number, script_.size() - 1)];
    std::istringstream step(text);
    std::string what, first, second;
    step >> what >> first >> second;
    if (what == "says") second = text.substr(text.find(first) + first.size() + 1);
    behave(what, first, second, request, response);
    --at_once_;
  }

  void behave(const std::string& what, const std::string& first, const std::string& second,
              const httplib::Request& request, httplib::Response& response) {
    auto json = [&](const std::string& text) { response.set_content(text, "application/json"); };
    auto completion = [&](const std::string& text, const std::string& how) { return answer_of(request, text, how); };
    std::string text = texts_.empty() ? "" : texts_.begin()->second;
    std::string answer = completion(text, "");
    if (what == "answer") {
      json(completion(texts_.at(first), second));
    } else if (what == "slow") {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      json(completion(texts_.at(first), second));
    } else if (what == "status") {
      response.status = std::stoi(first);
      if (second.starts_with("retry-after=")) response.set_header("Retry-After", second.substr(12));
      std::string said = second == "key" ? "no such key: " + key_of(request) : "the server says no";
      json(nlohmann::json{{"error", {{"message", said}}}}.dump());
    } else if (what == "closed") {
      response.set_content_provider(answer.size(), "application/json",
                                    [answer](size_t at, size_t, httplib::DataSink& sink) {
                                      if (at > 0) return false;
                                      sink.write(answer.data(), answer.size() / 2);
                                      return true;
                                    });
    } else if (what == "half") {
      json(answer.substr(0, answer.size() / 2));
    } else if (what == "drip") {
      response.set_content_provider(answer.size(), "application/json",
                                    [answer, this](size_t at, size_t, httplib::DataSink& sink) {
                                      sink.write(answer.data() + at, 1);
                                      return pause(1000);
                                    });
    } else if (what == "huge") {
      constexpr size_t kBytes = 100'000'000;
      response.set_content_provider(kBytes, "application/json", [](size_t, size_t length, httplib::DataSink& sink) {
        std::string block(std::min<size_t>(length, 1 << 16), ' ');
        return sink.write(block.data(), block.size());
      });
    } else if (what == "ill-formed") {
      answer.replace(answer.find(text.substr(0, 3)), 0, "\xff\xfe bytes ");
      json(answer);
    } else if (what == "echo") {
      json(completion(question_of(request), second));
    } else if (what == "html") {
      response.set_content("<html><body>Sign in to the hotel's network</body></html>", "text/html");
    } else if (what == "no-choices") {
      json(R"({"object":"chat.completion","choices":[],"candidates":[]})");
    } else if (what == "says") {
      response.status = std::stoi(first);
      json(nlohmann::json{{"error", {{"message", second}}}}.dump());
    } else if (what == "without") {
      if (request.body.find('"' + first + '"') == std::string::npos) return json(answer);
      response.status = 400;
      json(nlohmann::json{{"error", {{"message", "Unsupported parameter: '" + first + "' is not supported here."}}}}
               .dump());
    } else if (what == "empty") {
      json("");
    } else if (what == "null") {
      json("null");
    } else if (what == "nested") {
      json(std::string(1'000'000, '['));
    } else if (what == "absurd") {
      auto body = nlohmann::json::parse(answer);
      for (const char* usage : {"usage", "usageMetadata"}) {
        if (!body.contains(usage)) continue;
        int64_t counts[] = {-5, INT64_MAX, 4'000'000'000'000};
        for (size_t i = 0; auto& [name, count] : body[usage].items()) count = counts[i++ % 3];
      }
      json(body.dump());
    } else if (what == "plain") {
      response.set_content(answer, "text/plain");
    } else if (what == "gzip") {
      response.set_header("Content-Encoding", "gzip");
      json("\x1f\x8b\x08 what follows is no gzip");
    } else if (what == "redirect") {
      response.set_redirect("http://127.0.0.1:9/elsewhere");
    } else if (what == "key") {
      json(completion("your header was " + key_of(request), ""));
    } else {
      response.status = 400;
      json(R"({"error":{"message":"the script has an unknown step"}})");
    }
  }

  // Sleeps in short steps, so that the server can end; false then.
  bool pause(int milliseconds) const {
    for (int i = 0; i < milliseconds / 20 && !stopping_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !stopping_;
  }

  static std::string key_of(const httplib::Request& request) {
    for (const char* header : {"Authorization", "x-api-key", "x-goog-api-key"}) {
      if (request.has_header(header)) return request.get_header_value(header);
    }
    return "";
  }
  static bool anthropic(const httplib::Request& request) { return request.path.ends_with("/messages"); }
  static bool gemini(const httplib::Request& request) { return request.path.ends_with(":generateContent"); }

  static std::string question_of(const httplib::Request& request) {
    auto asked = nlohmann::json::parse(request.body);
    if (gemini(request)) return asked["contents"][0]["parts"][0]["text"];
    return asked["messages"].back()["content"];
  }

  static std::string answer_of(const httplib::Request& request, const std::string& text, const std::string& how) {
    size_t asked = request.body.size() / 4, answered = text.size() / 4;
    bool cut = how == "cut", counted = how != "uncounted";
    nlohmann::json body;
    if (anthropic(request)) {
      body = {{"type", "message"},
              {"content", {{{"type", "text"}, {"text", text}}}},
              {"stop_reason", cut ? "max_tokens" : "end_turn"}};
      if (counted) body["usage"] = {{"input_tokens", asked}, {"output_tokens", answered}};
    } else if (gemini(request)) {
      body = {{"candidates",
               {{{"content", {{"role", "model"}, {"parts", {{{"text", text}}}}}},
                 {"finishReason", cut ? "MAX_TOKENS" : "STOP"}}}}};
      if (counted) body["usageMetadata"] = {{"promptTokenCount", asked}, {"candidatesTokenCount", answered}};
    } else {
      body = {{"id", "chatcmpl-1"},
              {"object", "chat.completion"},
              {"model", "test"},
              {"choices",
               {{{"index", 0},
                 {"message", {{"role", "assistant"}, {"content", text}}},
                 {"finish_reason", cut ? "length" : "stop"}}}}};
      if (counted) body["usage"] = {{"prompt_tokens", asked}, {"completion_tokens", answered}};
    }
    return body.dump();
  }

  std::vector<std::string> script_;
  std::map<std::string, std::string> texts_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> at_once_ = 0, most_at_once_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> bodies_;
  std::vector<httplib::Headers> headers_;
  std::thread thread_;
};

}  // namespace ptxlab::llm
