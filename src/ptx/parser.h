// Text to module. Recovers at the next statement after an error, so that one pass yields several findings.
#pragma once
#include <string>
#include <string_view>

#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::ptx {

// More findings than this help nobody: the list then ends with one that says that it was cut.
inline constexpr size_t kMaxFindings = 100;  // see Report

// Whether there is a PTX ISA of that version.
bool version_exists(isa::PtxVersion version);

struct Parsed {
  Module module;            // as much as could be read
  base::Findings findings;  // sorted by place; at most `limit`, then one that says so
  bool ok() const { return !base::has_error(findings); }
};

// Syntax and names only: declarations, labels, scopes; undeclared and duplicate names are reported here. Never throws, never crashes, linear in the size of `source`.
Parsed parse(std::string_view source, std::string_view file, size_t limit = kMaxFindings);

}  // namespace ptxlab::ptx
