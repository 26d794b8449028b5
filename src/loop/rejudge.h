// Judging again what a run has brought: on another GPU, for another target, by another version. Nobody is asked; the candidates are
// those of the old run, and what came of them is a run of its own, which names the old one.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "loop/bench.h"
#include "loop/lock.h"

namespace ptxlab::loop {

// Where the tasks of a run were read from, by their names, as its questions say.
base::Result<std::map<std::string, std::filesystem::path>> task_files_of(archive::Archive& archive,
                                                                         const std::string& run);

// The lock of judging `old` again: its spec and arms, today's tasks, tools and device. A task of the repository is found by its
// name, a user's where it lay (`files`). Errors: BENCH0010 `old` is no lock; BENCH0015 a task is not where it was; those of
// make_lock.
base::Result<Lock> rejudge_lock(const nlohmann::json& old, const std::map<std::string, std::filesystem::path>& files,
                                const LockParts& parts, const std::optional<isa::Target>& target);

// The parts of the new run: its proposers hand in what `run`, which is in the archive, has of each cell. Its judge and briefs are
// those of `parts`.
base::Result<BenchParts> rejudge_parts(archive::Archive& archive, const std::string& run, BenchParts parts);

}  // namespace ptxlab::loop
