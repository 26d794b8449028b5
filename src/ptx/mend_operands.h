// Mends of operands as they are written: constants in the wrong notation, brackets left out, wide reads of narrow special
// registers.
#pragma once
#include "ptx/mend_site.h"

namespace ptxlab::ptx {

Edits mend_operand(const Site& site);
// Of a malformed number, which belongs to no statement: 1.0f, -0f3f800000.
Edits mend_number(const Site& site);

}  // namespace ptxlab::ptx
