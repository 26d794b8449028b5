// The Model Context Protocol over one stream of lines in each direction: JSON-RPC 2.0, one message a line. Speaks the revision of
// 2026-07-28, where every request says its own version, and those before it, which begin with a handshake. What the tools do
// is in serve/tools.h.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "serve/tools.h"

namespace ptxlab::serve {

class McpServer {
 public:
  struct Setting {
    std::string version;  // ptxlab's own
    Calling calling;      // `stop` is the server's
    Runner run = base::run;
    size_t at_once = 4, waiting = 64;  // calls that run, and that may wait for their turn
  };
  // `send` gets one whole message a call, without its line end; never two at once.
  McpServer(Setting setting, std::function<void(const std::string&)> send);
  ~McpServer();  // gives up what is on its way
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // One line. Answers at once or, to a call of a tool, when it is done; nothing that a client sends ends the server.
  void receive(std::string_view line);
  // A line longer than any that is taken.
  void receive_too_long();
  // Waits until every call is answered.
  void finish();

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

// Standard input and output until the input ends. The exit code.
int serve_stdio(McpServer::Setting setting);

}  // namespace ptxlab::serve
