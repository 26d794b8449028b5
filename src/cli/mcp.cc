// ptxlab mcp: the judge as a tool server, over standard input and output.
#include <filesystem>
#include <string>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"
#include "serve/mcp.h"

namespace ptxlab::cli {

int mcp(Words words) {
  uint64_t timeout = 3600;
  Options options(
      "mcp",
      "Serves check, structure, run, judge and explain as tools of the Model Context Protocol, on standard input "
      "and output.",
      "ptxlab mcp\n"
      "{ \"mcpServers\": { \"ptxlab\": { \"command\": \"/path/to/ptxlab\", \"args\": [\"mcp\"] } } }");
  options.value("--timeout", "SECONDS", timeout, "the most that any call may take (3600)");
  if (auto code = options.parse(words)) return *code;
  if (timeout < 1 || timeout > 86'400) return refuse("CLI0055", "--timeout is out of bounds", "1 to 86400 seconds");
  serve::McpServer::Setting setting;
  setting.version = PTXLAB_VERSION;
  std::error_code error;
  setting.calling.program = std::filesystem::read_symlink("/proc/self/exe", error);
  setting.calling.longest = std::chrono::seconds(timeout);
  return serve::serve_stdio(std::move(setting));
}

}  // namespace ptxlab::cli
