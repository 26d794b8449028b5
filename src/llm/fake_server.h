// For tests: a server that speaks the chat-completions form, answers from texts that it is given, and misbehaves on request.
// Each request takes the next step of its script; the last step is repeated. A step is one line:
//   answer NAME [cut|uncounted]   a completion with the text of that name; `slow` the same after 150 ms
//   status N [retry-after=SECONDS|key]   an error as servers word it; `key`: it quotes the Authorization header
//   closed, half, drip, huge, ill-formed, html, no-choices, redirect   what their names say; `drip` is a byte a second
//   echo   the question as the answer; `key`   the Authorization header as the answer
#pragma once
#include <atomic>
#include <chrono>
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
    server_->Post("/v1/chat/completions",
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
    std::istringstream step(script_[std::min(number, script_.size() - 1)]);
    std::string what, first, second;
    step >> what >> first >> second;
    behave(what, first, second, request, response);
    --at_once_;
  }

  void behave(const std::string& what, const std::string& first, const std::string& second,
              const httplib::Request& request, httplib::Response& response) {
    auto json = [&](const std::string& text) { response.set_content(text, "application/json"); };
    std::string answer = completion(texts_.empty() ? "" : texts_.begin()->second, "", request.body);
    if (what == "answer") {
      json(completion(texts_.at(first), second, request.body));
    } else if (what == "slow") {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      json(completion(texts_.at(first), second, request.body));
    } else if (what == "status") {
      response.status = std::stoi(first);
      if (second.starts_with("retry-after=")) response.set_header("Retry-After", second.substr(12));
      std::string said =
          second == "key" ? "no such key: " + request.get_header_value("Authorization") : "the server says no";
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
      answer.replace(answer.find("\"content\":\"") + 11, 0, "\xff\xfe bytes ");
      json(answer);
    } else if (what == "echo") {
      auto asked = nlohmann::json::parse(request.body);
      json(completion(asked["messages"][1]["content"].get<std::string>(), second, request.body));
    } else if (what == "html") {
      response.set_content("<html><body>Sign in to the hotel's network</body></html>", "text/html");
    } else if (what == "no-choices") {
      json(R"({"object":"chat.completion","choices":[]})");
    } else if (what == "redirect") {
      response.set_redirect("http://127.0.0.1:9/elsewhere");
    } else if (what == "key") {
      json(completion("your header was " + request.get_header_value("Authorization"), "", request.body));
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

  static std::string completion(const std::string& text, const std::string& how, const std::string& request) {
    nlohmann::json body = {{"id", "chatcmpl-1"},
                           {"object", "chat.completion"},
                           {"model", "test"},
                           {"choices",
                            {{{"index", 0},
                              {"message", {{"role", "assistant"}, {"content", text}}},
                              {"finish_reason", how == "cut" ? "length" : "stop"}}}}};
    if (how != "uncounted") {
      body["usage"] = {{"prompt_tokens", request.size() / 4}, {"completion_tokens", text.size() / 4}};
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
