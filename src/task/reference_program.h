// A task's reference.cc as a program. It is compiled once, by content; where there is no compiler, one that was compiled elsewhere
// serves: beside the executable lies `oracles/`, each file in it named for the digest of the very text it was made from, so
// that a reference.cc that has changed since finds none.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "task/task.h"

namespace ptxlab::task {

// What runs the task's reference: the one that was made elsewhere, else g++'s (-O2 -ffp-contract=off, kept in the cache).
// Errors: ORA0001 no compiler, ORA0002 does not compile, ORA0003 it cannot be kept, ORA0005 the task has no reference.cc.
base::Result<std::filesystem::path> reference_program(const Task& task);

// Makes the program for machines without a compiler: it needs the C library alone. Written into `folder` under its digest.
base::Result<std::filesystem::path> make_portable_reference(const Task& task, const std::filesystem::path& folder);

// Where programs that were made elsewhere are looked for: `oracles` beside this executable.
std::filesystem::path portable_references();

}  // namespace ptxlab::task
