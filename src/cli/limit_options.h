// --max-registers, --max-shared, --max-block and --max-vector: what a brief may demand of candidates.
#pragma once
#include <cstdint>

#include "cli/options.h"
#include "record/record.h"

namespace ptxlab::cli {

struct LimitOptions {
  uint64_t registers = 0, shared = 0, block = 0, vector = 0;  // 0: no limit

  void declare(Options& options);
  record::Constraints constraints() const;
};

}  // namespace ptxlab::cli
