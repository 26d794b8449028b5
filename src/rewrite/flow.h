// Everything that analysis knows of a function, computed together.
#pragma once
#include "analysis/access.h"
#include "analysis/affine.h"
#include "analysis/cfg.h"
#include "analysis/definitions.h"
#include "analysis/liveness.h"
#include "analysis/uniform.h"

namespace ptxlab::rewrite {

struct Flow {
  explicit Flow(const ptx::Function& f)
      : function(f),
        cfg(f),
        liveness(f, cfg),
        definitions(f, cfg),
        values(f, cfg, liveness),
        accesses(analysis::memory_accesses(f, cfg, values)) {}
  bool complete() const {
    return liveness.computed() && definitions.computed() && values.computed() && !cfg.irreducible();
  }
  const analysis::MemoryAccess* access(uint32_t statement) const {
    for (const auto& a : accesses)
      if (a.statement == statement) return &a;
    return nullptr;
  }

  const ptx::Function& function;
  analysis::Cfg cfg;
  analysis::Liveness liveness;
  analysis::Definitions definitions;
  analysis::Values values;
  std::vector<analysis::MemoryAccess> accesses;
};

}  // namespace ptxlab::rewrite
