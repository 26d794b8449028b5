// Drafts of foo.task.toml and foo.plan.toml for a kernel that has none, filled from the signatures and <<<...>>>
// launches in its source and from the compiled .param declarations where they are at hand. What could not be known says
// so in a comment.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace ptxlab::task {

struct Draft {
  std::string task;                      // text of foo.task.toml
  std::string plan;                      // text of foo.plan.toml
  std::vector<std::string> instantiate;  // of its [compile]: with these lines the compiled form has the kernels
  std::vector<std::string> open;         // what the user has to settle, a line each; also in the texts as comments
};

// `compiled` is the PTX of the same source, or null; `with_lines`: with the lines of an earlier draft behind it. Errors: TASK0020 no kernel in the source, TASK0021 a source too
// large to scan.
base::Result<Draft> draft_from_cuda(const std::filesystem::path& kernel, std::string_view source,
                                    const ptx::Module* compiled, bool with_lines = false);

// For a foo.ptx of a user: only .param declarations are there to go by. Error: TASK0020 no entry.
base::Result<Draft> draft_from_ptx(const std::filesystem::path& kernel, const ptx::Module& module);

}  // namespace ptxlab::task
