#include "toolchain/find_tools.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/file.h"
#include "base/subprocess.h"
#include "toolchain/tool_finding.h"

namespace ptxlab::toolchain {
namespace {

namespace fs = std::filesystem;

// Below the project's folder, as tools/setup lays them out.
constexpr const char* kPrivateFolders[] = {".private/cuda/bin", ".private/cuda/nvidia/cu13/bin"};
constexpr const char* kWitnessFolder = ".private/ptxas";  // VERSION/ptxas below it

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
// `below` of each folder from the executable's upwards, where it is there.
std::vector<fs::path> above_executable(const char* below) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::path at = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < 6 && !error && at.has_relative_path(); ++up, at = at.parent_path()) {
    if (fs::is_directory(at / below, error)) found.push_back(at / below);
    error.clear();
  }
  return found;
}

void add_private(std::vector<fs::path>& folders) {
  for (const char* below : kPrivateFolders) {
    for (auto& folder : above_executable(below)) folders.push_back(std::move(folder));
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

bool executable(const fs::path& path) {
  std::error_code error;
  return access(path.c_str(), X_OK) == 0 && !fs::is_directory(path, error);
}

// 13.5.37 before 13.0.88 before 9.2: by numbers, not by letters.
bool newer(const Tool& a, const Tool& b) {
  auto numbers = [](std::string_view text) {
    std::vector<int> all;
    while (!text.empty()) {
      size_t end = std::min(text.find('.'), text.size());
      all.push_back(std::atoi(std::string(text.substr(0, end)).c_str()));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
  };
  return numbers(a.version) > numbers(b.version);
}

base::Finding finding(const char* code, std::string message, std::string hint) {
  return tool_finding(code, base::Severity::error, std::move(message), std::move(hint), "");
}

std::optional<Tool> find_tool(const char* name, const std::vector<fs::path>& folders,
                              std::vector<std::string>& searched) {
  for (const auto& folder : folders) {
    fs::path path = folder / name;
    if (!executable(path)) continue;
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

std::vector<fs::path> witness_folders() {
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("PTXLAB_CUDA"); given && std::string_view(given) == "none") return folders;
  for (const auto& home : above_executable(kWitnessFolder)) {
    std::error_code error;
    for (fs::directory_iterator at(home, error), end; !error && at != end; at.increment(error))
      folders.push_back(at->path());
  }
  return folders;
}

std::vector<Tool> find_every_ptxas(const std::vector<fs::path>& folders) {
  std::vector<Tool> found;
  std::vector<fs::path> seen;
  for (const auto& folder : folders) {
    fs::path path = folder / "ptxas";
    if (!executable(path)) continue;
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    if (error || std::find(seen.begin(), seen.end(), real) != seen.end()) continue;
    seen.push_back(real);
    std::string version = version_of(path);
    bool known = std::any_of(found.begin(), found.end(), [&](const Tool& tool) { return tool.version == version; });
    if (version.empty() || known) continue;
    found.push_back({path, version, newest_ptx(path)});
  }
  if (!found.empty()) std::stable_sort(found.begin() + 1, found.end(), newer);
  return found;
}

const std::vector<Tool>& installed_ptxas() {
  static const std::vector<Tool> found = [] {
    std::vector<fs::path> folders = search_folders();
    for (auto& folder : witness_folders()) folders.push_back(std::move(folder));
    return find_every_ptxas(folders);
  }();
  return found;
}

isa::PtxVersion ptx_of_cuda(int cuda_version) {
  struct Release {
    int cuda;
    isa::PtxVersion ptx;
  };
  static constexpr Release kReleases[] = {{11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
                                          {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
                                          {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
                                          {12060, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90},
                                          {13010, 91}, {13020, 92}, {13030, 93}, {13040, 94}, {13050, 95}};
  for (const auto& release : kReleases) {
    if (release.cuda == cuda_version / 10 * 10) return release.ptx;
  }
  return 0;
}

base::Result<Tool> ptxas_named(std::string_view text, const std::vector<Tool>& among) {
  for (const auto& tool : among) {
    if (tool.version == text || tool.version.rfind(std::string(text) + ".", 0) == 0) return tool;
  }
  if (text.find('/') != std::string_view::npos) {
    fs::path path(text);
    std::string version = executable(path) ? version_of(path) : "";
    if (version.empty())
      return finding("ASM0012", "'" + std::string(text) + "' is not a ptxas that answers --version",
                     "name the executable itself, or a version that 'ptxlab doctor' lists");
    return Tool{fs::absolute(path), version, newest_ptx(path)};
  }
  std::string there;
  for (const auto& tool : among) there += (there.empty() ? "" : ", ") + tool.version;
  return finding("ASM0011", "there is no ptxas " + std::string(text) + " on this machine",
                 there.empty() ? "tools/setup fetches one"
                               : "there are " + there + "; 'tools/setup --witnesses' fetches further ones");
}

}  // namespace ptxlab::toolchain
