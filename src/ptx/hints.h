// Warnings about legal code that is often a mistake. They look at one instruction after another, not at control flow: a
// hint is cheap and may be wrong.
#pragma once
#include <cstddef>

#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

// How many parameters at a kernel's end are a compiler's own: Triton declares pointers to scratch memory behind those of its
// source, uses them where it needs any, and leaves them alone elsewhere. Its launcher passes null.
size_t hidden_parameters(const Function& entry);

// Asks for verified modules: every hint starts from an instruction's form.
void add_hints(const Module& module, Report& report);

}  // namespace ptxlab::ptx
