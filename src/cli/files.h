// Where the program's own files lie.
#pragma once
#include <filesystem>

namespace ptxlab::cli {

// The folder that holds tasks/, prompts/ and docs/: PTXLAB_ROOT as the launcher sets it, else the nearest one from the
// executable's own upwards (a bundle has all beside the executable, a build is made inside the project), else where the
// program was built.
std::filesystem::path root();

// Whether this is a bundle (docs/install.md) and not the project itself: there is no tools/setup to send anybody to.
bool bundled();

}  // namespace ptxlab::cli
