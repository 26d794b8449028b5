// Where nvcc, ptxas and nvdisasm are looked for: one list, the first hit of each tool counts.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {

// The folders in order of preference, from the environment of this process and the place of this executable.
std::vector<std::filesystem::path> search_folders();

// The first of each tool in `folders`, with its version asked of the tool itself. A tool that does not answer as itself
// (another program of that name, a broken installation) is passed over and said so in `searched`.
Toolchain find_tools(const std::vector<std::filesystem::path>& folders);

// Every ptxas of `folders`, each version once; the first stays first, the others follow from the newest to the oldest.
std::vector<Tool> find_every_ptxas(const std::vector<std::filesystem::path>& folders);

// Where further versions lie, beside search_folders(): one folder a version.
std::vector<std::filesystem::path> witness_folders();

}  // namespace ptxlab::toolchain
