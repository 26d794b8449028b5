// ptxlab mcp: the judge as a tool server, over standard input and output.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

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
  std::vector<std::string> folders;
  options.values(
      "--tasks", "DIR", folders,
      "where tasks may lie that a call names by path; their references are executed (the folder it is started in)");
  options.value("--timeout", "SECONDS", timeout, "the most that any call may take (3600)");
  if (auto code = options.parse(words)) return *code;
  if (timeout < 1 || timeout > 86'400) return refuse("CLI0055", "--timeout is out of bounds", "1 to 86400 seconds");
  serve::McpServer::Setting setting;
  setting.version = PTXLAB_VERSION;
  std::error_code error;
  setting.calling.program = std::filesystem::read_symlink("/proc/self/exe", error);
  setting.calling.longest = std::chrono::seconds(timeout);
  if (folders.empty()) folders.emplace_back(".");
  for (const auto& folder : folders) {
    auto whole = std::filesystem::canonical(folder, error);
    if (error || !std::filesystem::is_directory(whole, error))
      return refuse("CLI0055", fmt::format("--tasks {}: there is no such folder", folder), "");
    setting.calling.tasks.push_back(std::move(whole));
  }
  setting.calling.tasks.push_back(root() / "tasks");
  return serve::serve_stdio(std::move(setting));
}

}  // namespace ptxlab::cli
