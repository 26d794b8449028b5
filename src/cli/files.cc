#include "cli/files.h"

#include <cstdlib>
#include <system_error>

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kHighest = 5;  // build/release/src/cli/ptxlab lies that far below the project

bool holds_our_files(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "tasks", error) && fs::is_directory(folder / "prompts", error);
}

}  // namespace

fs::path root() {
  if (const char* set = getenv("PTXLAB_ROOT"); set && *set) return set;
  std::error_code error;
  fs::path at = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < kHighest && at.has_relative_path(); ++up, at = at.parent_path()) {
    if (holds_our_files(at)) return at;
  }
  return PTXLAB_SOURCE_DIR;
}

bool bundled() {
  std::error_code error;
  return !fs::exists(root() / "tools" / "setup", error);
}

}  // namespace ptxlab::cli
