// Calls against the functions that they call, and external names that nothing defines.
#pragma once
#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

// `statement` is the instruction's index in function.body: prototypes and branch tables stand before their use.
void check_call(const Module& module, const Function& function, size_t statement, Report& report);

// Names of the whole module: external variables, functions declared and never defined.
void check_linkage(const Module& module, Report& report);

}  // namespace ptxlab::ptx
