// Mends of names: registers that nothing declares, banks too small, labels that lead nowhere, declarations that stand
// twice. What is legal is found by trial.
#pragma once
#include "ptx/mend_site.h"
#include "ptx/trials.h"

namespace ptxlab::ptx {

struct NameMend {
  std::vector<const base::Finding*> of;  // the findings that it puts right
  Edits edits;
};

std::vector<NameMend> mend_names(const Module& module, const Sites& sites, const base::Findings& findings,
                                 Trials& trials);

}  // namespace ptxlab::ptx
