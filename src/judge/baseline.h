// The baseline of a task: the kernel that every candidate is compared with, read from the task's files or, for a user's
// own kernel, compiled from its source.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/target.h"
#include "judge/assemblers.h"
#include "launch/plan.h"
#include "ptx/module.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {

struct Baseline {
  std::string ptx, plan_text;
  std::string ptx_file, plan_file;  // the names that its findings carry
  std::string source;               // CUDA, where there is one
  isa::Target target;
  ptx::Module module;
  launch::Plan plan;
  base::Findings findings;                      // warnings of check; why there are no resources
  std::vector<toolchain::Resources> resources;  // empty where it could not be assembled
  std::map<std::string, std::string> digests;   // code digest by entry; empty likewise
  std::string ptxas;                            // the version that made both
  std::string cubin;                            // what it made; empty likewise
};

// A user's foo.cu is compiled by nvcc for `target`, a foo.ptx is read; a task of the repository has its [[baseline]]
// files. Its resources and digests come from the ptxas that takes it, where there is one. Errors: what keeps it from being a baseline.
base::Result<Baseline> read_baseline(const task::Task& task, const isa::Target& target, const Assemblers& assemblers);

// The task's baseline number `i`, counted from 0. Errors: as for the first.
base::Result<Baseline> read_rival(const task::Task& task, size_t i, const isa::Target& target,
                                  const Assemblers& assemblers);

// The task's further baselines (an expert's kernel, another compiler's), which candidates are timed against too. One that cannot be
// read is a warning.
struct Rivals {
  std::vector<Baseline> baselines;
  base::Findings findings;
};
Rivals read_rivals(const task::Task& task, const isa::Target& target, const Assemblers& assemblers);

// The code digest of every entry, for comparison with a candidate that another ptxas assembles; empty where it does not.
std::map<std::string, std::string> digests_by(const toolchain::Tool& ptxas, const Baseline& baseline);

}  // namespace ptxlab::judge
