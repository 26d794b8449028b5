// Warnings about legal code that is often a mistake. They look at one instruction after another, not at control flow: a
// hint is cheap and may be wrong.
#pragma once
#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

// Asks for verified modules: every hint starts from an instruction's form.
void add_hints(const Module& module, Report& report);

}  // namespace ptxlab::ptx
