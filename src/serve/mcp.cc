#include "serve/mcp.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/bounded_json.h"
#include "base/finding_json.h"

namespace ptxlab::serve {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Newest first. Those with a handshake are agreed upon once, the others named by every request.
constexpr std::array kHandshake = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::array kEnvelope = {"2026-07-28"};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr size_t kLongestLine = size_t{64} << 20;

enum Code : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  busy = -32000,
  unsupported_version = -32022,
};

constexpr const char* kInstructions =
    "Judges GPU kernels in PTX. Begin with 'check', which is quick; 'judge' says whether a candidate is right and how "
    "fast it is, and "
    "names what is wrong by line; 'explain' says what a finding's code means.";

bool is_id(const json& id) { return id.is_string() || id.is_number_integer(); }

json tool_json(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", tool.input},
          {"outputSchema", tool.output},
          {"annotations",
           {{"title", tool.title}, {"readOnlyHint", true}, {"destructiveHint", false}, {"openWorldHint", false}}}};
}

}  // namespace

class McpServer::Session {
 public:
  Session(Setting setting, std::function<void(const std::string&)> send)
      : setting_(std::move(setting)), send_(std::move(send)) {
    for (size_t i = 0; i < setting_.at_once; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Session() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
      waiting_.clear();
      for (auto& [id, job] : jobs_) job->cancelled = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void receive(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    auto message = base::parse_bounded(line);
    if (message.is_discarded()) return error(nullptr, parse_error, "this is no JSON");
    if (message.is_array()) return error(nullptr, invalid_request, "a list of messages is not taken: send one a line");
    if (!message.is_object() || message.value("jsonrpc", json()) != "2.0")
      return error(nullptr, invalid_request, "this is no message of JSON-RPC 2.0");
    bool request = message.contains("id");
    if (!message.contains("method")) {
      // An answer: we ask nothing of clients.
      if (!message.contains("result") && !message.contains("error"))
        error(nullptr, invalid_request, "the message has no method");
      return;
    }
    json id = request ? message["id"] : json();
    if (!message["method"].is_string() || (request && !is_id(id)))
      return error(is_id(id) ? id : json(), invalid_request, "method is a text, id a text or an integer");
    auto params = message.value("params", json::object());
    if (!params.is_object()) {
      if (request) error(id, invalid_params, "params is an object");
      return;
    }
    auto method = message["method"].get<std::string>();
    if (request) {
      handle(id, method, params);
    } else if (method == "notifications/cancelled" && params.contains("requestId")) {
      cancel(params["requestId"]);
    }
  }

  void finish() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return jobs_.empty(); });
  }

  void error(const json& id, int code, const std::string& message, const json& data = {}) {
    json body = {{"code", code}, {"message", message}};
    if (!data.is_null()) body["data"] = data;
    say({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}});
  }

 private:
  struct Job {
    json id, arguments, progress;  // `progress`: the token that its client wants to hear of it under, or null
    const Tool* tool = nullptr;
    bool envelope = false;
    std::atomic<bool> cancelled = false;
  };

  void say(const json& message) {
    auto line = base::print_json(message, -1);
    std::lock_guard lock(sending_);
    send_(line);
  }

  // Results of the newer revisions say that they are whole, and how long a list holds.
  void result(const json& id, json body, bool envelope, bool listed = false) {
    if (envelope) {
      body["resultType"] = "complete";
      body["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
      if (listed) body.update({{"ttlMs", 3'600'000}, {"cacheScope", "public"}});
    }
    say({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(body)}});
  }

  json server_info() const {
    return {{"name", "ptxlab"}, {"title", "ptxlab: the judge of PTX kernels"}, {"version", setting_.version}};
  }

  static json capabilities() { return {{"tools", {{"listChanged", false}}}}; }

  static json supported() {
    json all = json::array();
    for (const char* version : kEnvelope) all.push_back(version);
    for (const char* version : kHandshake) all.push_back(version);
    return all;
  }

  void handle(const json& id, const std::string& method, const json& params) {
    if (method == "initialize") return initialize(id, params);
    if (method == "ping") return result(id, json::object(), false);
    auto meta = params.value("_meta", json::object());
    bool envelope = meta.is_object() && meta.contains(kVersionKey);
    if (envelope) {
      const auto& version = meta[kVersionKey];
      if (!version.is_string()) return error(id, invalid_params, fmt::format("{} is a text", kVersionKey));
      if (std::find(kEnvelope.begin(), kEnvelope.end(), version.get<std::string>()) == kEnvelope.end()) {
        return error(id, unsupported_version, "this revision of the protocol is not spoken here",
                     {{"supported", supported()}, {"requested", version}});
      }
      if (!meta.contains(kCapabilitiesKey))
        return error(id, invalid_params, fmt::format("params._meta lacks {}", kCapabilitiesKey));
    } else if (!initialized_) {
      return error(id, invalid_params,
                   fmt::format("begin with 'initialize', or name the revision in params._meta under {}", kVersionKey));
    }
    if (method == "server/discover" && envelope) {
      return result(
          id, {{"supportedVersions", supported()}, {"capabilities", capabilities()}, {"instructions", kInstructions}},
          true, true);
    }
    if (method == "tools/list") {
      json list = json::array();
      for (const auto& tool : tools()) list.push_back(tool_json(tool));
      return result(id, {{"tools", std::move(list)}}, envelope, true);
    }
    if (method == "tools/call") return begin(id, params, meta, envelope);
    error(id, method_not_found, fmt::format("there is no method '{}'", method.substr(0, 80)));
  }

  void initialize(const json& id, const json& params) {
    auto wanted = params.value("protocolVersion", json());
    if (!wanted.is_string()) return error(id, invalid_params, "protocolVersion is missing");
    bool known = std::find(kHandshake.begin(), kHandshake.end(), wanted.get<std::string>()) != kHandshake.end();
    initialized_ = true;
    result(id,
           {{"protocolVersion", known ? wanted : json(kHandshake.front())},
            {"capabilities", capabilities()},
            {"serverInfo", server_info()},
            {"instructions", kInstructions}},
           false);
  }

  void begin(const json& id, const json& params, const json& meta, bool envelope) {
    auto name = params.value("name", json());
    const Tool* tool = nullptr;
    for (const auto& each : tools()) {
      if (name == each.name) tool = &each;
    }
    if (!tool) return error(id, invalid_params, "there is no such tool: tools/list shows those that are there");
    auto job = std::make_shared<Job>();
    job->id = id;
    job->arguments = params.value("arguments", json::object());
    job->tool = tool;
    job->envelope = envelope;
    if (meta.is_object() && meta.contains("progressToken") && is_id(meta["progressToken"]))
      job->progress = meta["progressToken"];
    {
      std::lock_guard lock(mutex_);
      if (jobs_.contains(id.dump())) return error(id, invalid_request, "a request with this id is still on its way");
      if (waiting_.size() >= setting_.waiting) return error(id, busy, "too many calls are waiting");
      jobs_[id.dump()] = job;
      waiting_.push_back(job);
    }
    wake_.notify_one();
  }

  // A call that is given up has no answer.
  void cancel(const json& id) {
    std::lock_guard lock(mutex_);
    auto found = jobs_.find(id.dump());
    if (found == jobs_.end()) return;
    found->second->cancelled = true;
    if (std::erase(waiting_, found->second)) {
      jobs_.erase(found);
      done_.notify_all();
    }
  }

  void work() {
    while (true) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        if (ending_) return;
        job = waiting_.front();
        waiting_.pop_front();
      }
      auto answer = answer_to(*job);
      {
        // Before the answer: its client may use the id again as soon as it has it.
        std::lock_guard lock(mutex_);
        jobs_.erase(job->id.dump());
      }
      if (!job->cancelled) {
        json body = {{"content", {{{"type", "text"}, {"text", base::print_json(answer.content, -1)}}}},
                     {"structuredContent", std::move(answer.content)},
                     {"isError", answer.failed}};
        result(job->id, std::move(body), job->envelope);
      }
      std::lock_guard lock(mutex_);
      done_.notify_all();
    }
  }

  Answer answer_to(Job& job) {
    Calling calling = setting_.calling;
    auto begun = Clock::now();
    auto next = begun + std::chrono::seconds(2);
    calling.stop = [&] {
      if (!job.progress.is_null() && Clock::now() >= next && !job.cancelled) {
        next = Clock::now() + std::chrono::seconds(2);
        double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        say({{"jsonrpc", "2.0"},
             {"method", "notifications/progress"},
             {"params",
              {{"progressToken", job.progress},
               {"progress", seconds},
               {"message", fmt::format("{} has run for {:.0f} s", job.tool->name, seconds)}}}});
      }
      return job.cancelled.load();
    };
    try {
      return call(*job.tool, job.arguments, calling, setting_.run);
    } catch (const std::exception& error) {  // no memory, no disk: this call's trouble alone
      base::Finding finding{"MCP0004", base::Severity::error, {}, error.what(), "trouble of this machine", {}};
      return {{{"schema", "ptxlab.findings/1"}, {"findings", base::to_json(base::Findings{finding})}}, true};
    }
  }

  Setting setting_;
  std::function<void(const std::string&)> send_;
  bool initialized_ = false;
  std::mutex mutex_, sending_;
  std::condition_variable wake_, done_;
  bool ending_ = false;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;  // by id, waiting or running
  std::vector<std::thread> threads_;
};

McpServer::McpServer(Setting setting, std::function<void(const std::string&)> send)
    : session_(std::make_unique<Session>(std::move(setting), std::move(send))) {}
McpServer::~McpServer() = default;
void McpServer::receive(std::string_view line) { session_->receive(line); }
void McpServer::receive_too_long() {
  session_->error(nullptr, invalid_request, fmt::format("the message is longer than {} MiB", kLongestLine >> 20));
}
void McpServer::finish() { session_->finish(); }

int serve_stdio(McpServer::Setting setting) {
  signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> gone = false;
  McpServer server(std::move(setting), [&](const std::string& message) {
    std::string line = message + "\n";
    for (size_t done = 0; done < line.size() && !gone;) {
      ssize_t n = write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (n < 0 && errno != EINTR) gone = true;  // nobody reads on
      if (n > 0) done += static_cast<size_t>(n);
    }
  });
  std::string line;
  std::vector<char> chunk(1 << 16);
  bool skipping = false;
  while (!gone) {
    ssize_t n = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    for (std::string_view rest(chunk.data(), static_cast<size_t>(n)); !rest.empty();) {
      size_t end = rest.find('\n');
      bool whole = end != rest.npos;
      if (!skipping) line += rest.substr(0, end);
      rest.remove_prefix(whole ? end + 1 : rest.size());
      if (line.size() > kLongestLine) {
        server.receive_too_long();
        line = {};
        skipping = true;
      }
      if (!whole) continue;
      if (!skipping) server.receive(line);
      line.clear();
      skipping = false;
    }
  }
  // A client that closes the stream wants no more answers; one that asked and closed at once (a pipe) still gets its own.
  if (!gone) server.finish();
  return 0;
}

}  // namespace ptxlab::serve
