// Whether a file could be written, asked before the work that makes its content.
#pragma once
#include <filesystem>

#include "base/finding.h"

namespace ptxlab::base {

// What would keep write_file (base/file.h) from writing there, as far as it can be told beforehand: FILE0003.
Findings cannot_hold(const std::filesystem::path& path);

}  // namespace ptxlab::base
