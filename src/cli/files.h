// Where the program's own files lie.
#pragma once
#include <filesystem>

namespace ptxlab::cli {

// The project's folder, which holds tasks/ and .private/: PTXLAB_ROOT as the launcher sets it, else where the program
// was built.
std::filesystem::path root();

}  // namespace ptxlab::cli
