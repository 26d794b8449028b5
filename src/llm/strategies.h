// The list of strategies, kept as data (prompts/strategies.toml): what several questions about one kernel are to try.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::llm {

struct Strategy {
  std::string name, advice;
};

// Error: LLM0019, the file cannot be read or is no list of strategies.
base::Result<std::vector<Strategy>> read_strategies(const std::filesystem::path& file);

}  // namespace ptxlab::llm
