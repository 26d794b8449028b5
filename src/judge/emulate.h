// One case of a task on the CPU engine: memory laid out, launches in order, every checker watching, and what came of
// it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "base/finding.h"
#include "launch/plan.h"
#include "launch/resolved.h"
#include "ptx/module.h"
#include "simt/engine.h"
#include "task/case.h"

namespace ptxlab::judge {

// What a loaded module has run before, in the memory of this run: only its variables remember.
struct EarlierRun {
  const launch::ResolvedPlan* plan;
  const task::CaseData* data;
};

struct CaseOptions {
  uint64_t seed = 1;                // schedule, addresses, poison
  uint64_t budget = 2'000'000'000;  // thread instructions of a launch
  bool run_apart = false;           // lanes of a warp run apart now and then
  bool random_rounding = false;     // every inexact float operation up or down at random, by the seed
  bool checkers = true;             // false: bounds and definedness only, which the engine itself watches
  bool driver_addresses = false;    // buffers lie where a driver puts them
  std::vector<EarlierRun> earlier;  // in order, by the same program: the module is not loaded anew
};

struct CaseRun {
  bool supported = true;  // false: `findings` say which form the engine lacks
  bool completed = false;
  bool inexact = false;             // with random_rounding: something was rounded
  base::Findings findings;          // engine and checkers
  std::vector<simt::Doing> doings;  // beside `findings`, one for each
  analysis::Profile profile;
  uint64_t thread_instructions = 0;
  std::vector<std::vector<uint8_t>> outputs;  // by the task's buffers; empty for inputs
  std::vector<std::vector<uint8_t>>
      defined;  // beside them: 0xff where a byte was written with a defined value; empty: everywhere
  std::vector<std::string> modified;  // inputs whose bytes are not what they were
  bool endless = false;               // stopped by the budget
  bool faulted() const { return !completed || base::has_error(findings); }
};

CaseRun run_case(simt::Engine& engine, const ptx::Module& module, const launch::ResolvedPlan& plan,
                 const task::CaseData& data, const CaseOptions& options);

// Lines of the launched entries, and of the functions that they may call, whose instructions no run of the profile
// issued.
std::vector<uint32_t> unexecuted_lines(const ptx::Module& module, const analysis::Profile& profile);

// The same finding from many cases becomes one that says how many: equal in code and place (without a place, in the words of the
// message, numbers apart). `labels[i]` names the case of `findings[i]`.
base::Findings merge_findings(const std::vector<base::Findings>& findings, const std::vector<std::string>& labels);

}  // namespace ptxlab::judge
