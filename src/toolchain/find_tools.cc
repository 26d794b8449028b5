#include "toolchain/find_tools.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/file.h"
#include "base/subprocess.h"

namespace ptxlab::toolchain {
namespace {

namespace fs = std::filesystem;

// Below the project's folder, as tools/setup lays them out.
constexpr const char* kPrivateFolders[] = {".private/cuda/bin", ".private/cuda/nvidia/cu13/bin"};

void add_path_variable(std::vector<fs::path>& folders) {
  const char* value = std::getenv("PATH");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

// /usr/local/cuda-13.0 before /usr/local/cuda-12.8: by number, not by letter.
std::vector<fs::path> numbered_toolkits() {
  std::vector<std::pair<double, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator at("/usr/local", error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.rfind("cuda-", 0) == 0) found.emplace_back(std::atof(name.c_str() + 5), at->path() / "bin");
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<fs::path> folders;
  for (auto& [version, path] : found) folders.push_back(std::move(path));
  return folders;
}

// The private folder lies beside build/ in the source tree, so above the executable: build/release/src/cli/ptxlab.
void add_private(std::vector<fs::path>& folders) {
  std::error_code error;
  fs::path at = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < 6 && !error && at.has_relative_path(); ++up, at = at.parent_path()) {
    for (const char* below : kPrivateFolders) {
      if (fs::is_directory(at / below, error)) folders.push_back(at / below);
      error.clear();
    }
  }
}

base::Outcome ask(const fs::path& tool, std::vector<std::string> arguments, const fs::path& cwd = {}) {
  base::Command command;
  command.argv = {tool.string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.cwd = cwd;
  command.limits.wall = std::chrono::seconds(20);
  command.limits.output = uint64_t{1} << 20;
  return base::run(command);
}

// The digits and dots that follow `mark` in `text`; "" where there are none.
std::string number_after(std::string_view text, std::string_view mark) {
  size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  return std::string(text.substr(0, std::min<size_t>(end, 32)));
}

// "Cuda compilation tools, release 13.0, V13.0.88" gives "13.0.88".
std::string version_of(const fs::path& tool) {
  auto outcome = ask(tool, {"--version"});
  if (!outcome.ok() || outcome.output.find("Cuda compilation tools, release ") == std::string::npos) return "";
  return number_after(outcome.output, ", V");
}

// Asked of ptxas itself: a version from the far future makes it say which is its newest.
isa::PtxVersion newest_ptx(const fs::path& ptxas) {
  base::TemporaryFolder folder("ptxlab-probe");
  if (!base::write_file(folder.path() / "probe.ptx", ".version 99.9\n.target sm_90\n.address_size 64\n").empty())
    return 0;
  auto outcome = ask(ptxas, {"probe.ptx", "-o", "probe.cubin"}, folder.path());
  std::string said = number_after(outcome.output + outcome.errors, "current version is '");
  size_t dot = said.find('.');
  if (dot == std::string::npos || dot == 0 || dot > 3 || dot + 1 >= said.size()) return 0;
  return static_cast<isa::PtxVersion>(std::atoi(said.c_str()) * 10 + (said[dot + 1] - '0'));
}

std::optional<Tool> find_tool(const char* name, const std::vector<fs::path>& folders,
                              std::vector<std::string>& searched) {
  for (const auto& folder : folders) {
    fs::path path = folder / name;
    if (access(path.c_str(), X_OK) != 0) continue;
    std::error_code error;
    if (fs::is_directory(path, error)) continue;
    std::string version = version_of(path);
    if (version.empty()) {
      searched.push_back(path.string() + ": does not answer --version as " + name + " does, passed over");
      continue;
    }
    return Tool{path, version, 0};
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> search_folders() {
  std::vector<fs::path> folders;
  const char* given = std::getenv("PTXLAB_CUDA");
  if (given && std::string_view(given) == "none") return folders;
  if (given && *given) {
    folders.push_back(fs::path(given) / "bin");
    folders.push_back(given);
  }
  add_path_variable(folders);
  folders.emplace_back("/usr/local/cuda/bin");
  for (auto& path : numbered_toolkits()) folders.push_back(std::move(path));
  add_private(folders);
  return folders;
}

Toolchain find_tools(const std::vector<fs::path>& folders) {
  Toolchain found;
  for (const auto& folder : folders) found.searched.push_back(folder.string());
  found.ptxas = find_tool("ptxas", folders, found.searched);
  if (found.ptxas) found.ptxas->ptx_version = newest_ptx(found.ptxas->path);
  found.nvcc = find_tool("nvcc", folders, found.searched);
  found.nvdisasm = find_tool("nvdisasm", folders, found.searched);
  return found;
}

const Toolchain& installed() {
  static const Toolchain found = find_tools(search_folders());
  return found;
}

}  // namespace ptxlab::toolchain
