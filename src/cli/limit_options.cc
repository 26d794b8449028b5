#include "cli/limit_options.h"

#include <algorithm>
#include <optional>

namespace ptxlab::cli {

void LimitOptions::declare(Options& options) {
  options.value("--max-registers", "N", registers, "no candidate may use more registers a thread");
  options.value("--max-shared", "BYTES", shared, "no candidate may use more shared memory a CTA");
  options.value("--max-block", "N", block, "no candidate may launch more threads a CTA");
  options.value("--max-vector", "BYTES", vector, "no thread may access more bytes at once");
}

record::Constraints LimitOptions::constraints() const {
  auto limit = [](uint64_t value) {
    return value ? std::optional<int>(static_cast<int>(std::min<uint64_t>(value, INT32_MAX))) : std::nullopt;
  };
  record::Constraints made;
  made.max_registers = limit(registers);
  made.max_shared_bytes = limit(shared);
  made.max_block_threads = limit(block);
  made.vector_bytes = limit(vector);
  return made;
}

}  // namespace ptxlab::cli
