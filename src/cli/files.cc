#include "cli/files.h"

#include <cstdlib>

namespace ptxlab::cli {

std::filesystem::path root() {
  const char* set = getenv("PTXLAB_ROOT");
  return set && *set ? set : PTXLAB_SOURCE_DIR;
}

}  // namespace ptxlab::cli
