// One attempt as a folder that stands by itself: the task's files, the candidate, its plan, what was asked and said, the verdict,
// and a script that judges it again and compares. The baseline is the PTX that the brief holds, so that no compiler of CUDA is
// needed to repeat what was judged then, and no path of the machine that made it stands in it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/record.h"
#include "task/task.h"

namespace ptxlab::report {

struct ReproInput {
  const record::Attempt& attempt;
  const task::Task& task;  // as it lies on this machine
  std::string program;     // version of ptxlab
  uint64_t seed = 1;       // that it was judged by: the run's, which its brief's need not be
  std::string until;       // the last gate of a run that stopped earlier; "": all
  std::vector<std::pair<std::string, std::string>> tools;  // "ptxas" -> "13.0.88", of this machine
  std::map<std::string, std::string>
      files;  // the hashes of the task's files when it was judged; empty: as the brief says
};

struct Repro {
  std::vector<std::string> files;  // below the folder, in order
  base::Findings findings;         // warnings: the task has changed since
};

// `folder` is made; it must not be there, or be empty. Errors: REP0001 it is there, REP0002 the brief cannot be read, FILE0001,
// FILE0003. Nothing is left behind where it fails.
base::Result<Repro> write_repro(const ReproInput& input, const std::filesystem::path& folder);

}  // namespace ptxlab::report
