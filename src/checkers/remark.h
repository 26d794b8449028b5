// Remarks: what a run's counts say about speed. They are notes, never errors, since a kernel may have its reasons; and they
// read a profile, so that one run or all cases of a judgement together can be asked.
//
// CHK0040: bank conflicts of shared memory. CHK0041: accesses to global memory that touch more sectors than their bytes
// fill. Both name the lines that cost most; what costs little of the whole is not worth a word.
#pragma once
#include <span>
#include <string_view>

#include "analysis/profile.h"
#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::checkers {

base::Findings bank_conflicts(const ptx::Module& module, const analysis::Profile& profile);
base::Findings uncoalesced(const ptx::Module& module, const analysis::Profile& profile);

struct Remark {
  std::string_view name;         // as in `--check banks`
  std::string_view description;  // one line, for help
  base::Findings (*of)(const ptx::Module&, const analysis::Profile&);
};

std::span<const Remark> all_remarks();
const Remark* remark_named(std::string_view name);

}  // namespace ptxlab::checkers
