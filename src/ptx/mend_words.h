// Mends of an instruction's words: opcode, modifiers, types, state space. The table says which words would make the
// statement legal with the operands that it has; a mend is certain where all the nearest of these mean the same.
#pragma once
#include "ptx/mend_site.h"

namespace ptxlab::ptx {

Edits mend_words(const Site& site, const Uses& uses);

}  // namespace ptxlab::ptx
