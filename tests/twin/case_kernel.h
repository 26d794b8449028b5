// A golden case whose command is `ptxlab run kernel.ptx ...` with one launch, read as a kernel with its arguments: so that
// the kernels of tests/cases also serve to hold the twin and the engine against each other.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness.h"

namespace ptxlab::twin {

struct CaseKernel {
  std::string name;                    // path below tests/cases
  bool bad = false;                    // it has a fault
  std::vector<std::string> must_find;  // codes that a bad one has to give
  std::string text;                    // PTX
  launch::Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint32_t shared_bytes = 0;
  std::vector<Argument> arguments;
};

// Nothing where the case is of another kind (a plan, another command).
std::optional<CaseKernel> read_case_kernel(const std::filesystem::path& path);
// All of tests/cases, by name.
std::vector<CaseKernel> all_case_kernels();

}  // namespace ptxlab::twin
