// Mends of a module's heading: lines that are missing, a version or a target too old for what the module uses.
#pragma once
#include "ptx/mend_site.h"

namespace ptxlab::ptx {

Edits mend_header(const Site& site);
// One mend for everything that the module's version and target do not admit yet; `gates` are those findings. Empty where
// no single target admits all.
Edits mend_gates(const Module& module, const Sites& sites, const std::vector<const base::Finding*>& gates);

}  // namespace ptxlab::ptx
