// Findings of this folder: a code, what a tool or its caller did wrong, and the file that it was about.
#pragma once
#include <filesystem>
#include <string>
#include <utility>

#include "base/finding.h"

namespace ptxlab::toolchain {

inline base::Finding tool_finding(const char* code, base::Severity severity, std::string message, std::string hint,
                                  std::string file) {
  base::Finding made;
  made.code = code;
  made.severity = severity;
  made.place.file = std::move(file);
  made.message = std::move(message);
  made.hint = std::move(hint);
  return made;
}

}  // namespace ptxlab::toolchain
