// The last step of every rule: a header that says who made the text, the text itself, and ptx::check on it.
#pragma once
#include "rewrite/rule.h"

namespace ptxlab::rewrite {

// `plan`: null where it is unchanged. RW0099 where check refuses what the rule made: a fault of the rule, never handed
// on.
base::Result<Rewritten> finish(ptx::Module module, const launch::Plan* plan, Rewritten result);

}  // namespace ptxlab::rewrite
