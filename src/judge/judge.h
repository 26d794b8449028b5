// The judge: takes a candidate through the gates in order and says what came of it. It is the only place where an
// outcome is decided, and it always answers: trouble of this machine becomes the outcome `infrastructure`, never an
// exception and never a pass. A judge keeps what it learned of a task (the baseline, the cases, the right answers), so
// that judging many candidates of one task costs the candidates' own work only. Thread-safe: several threads may judge
// at once.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/target.h"
#include "judge/assemblers.h"
#include "judge/baseline.h"
#include "judge/count.h"
#include "judge/gpu_pool.h"
#include "judge/likeness.h"
#include "record/proposer.h"
#include "record/record.h"
#include "simt/engine.h"
#include "task/oracle.h"
#include "task/task.h"

namespace ptxlab::judge {

struct JudgeOptions {
  std::optional<isa::Target> target;                // absent: the task's first
  record::GateName until = record::GateName::time;  // the last gate that runs; later ones stay `not_run`
  record::Constraints constraints;
  uint64_t seed = 1;
  bool sass = true;                        // read the machine code of what came out right, where nvdisasm is
  bool emulate = true;                     // false: the gate is left out, and a GPU alone says what is right
  bool counters = false;                   // hardware counters too, where a GPU executed it
  size_t threads = 0;                      // for the cases of one candidate; 0: the machine's cores
  std::string ptx_file = "candidate.ptx";  // the names that findings carry
  std::string plan_file = "candidate.plan.toml";
};

// What a judge works with; tests put others in their place.
struct Parts {
  std::function<std::unique_ptr<simt::Engine>()> engine;
  std::function<base::Result<std::unique_ptr<task::Oracle>>(const task::Task&)> reference;
  Assemblers assemblers;
  std::optional<toolchain::Tool> nvdisasm;
  // GPUs to execute on, each asked for when a candidate gets that far and those before it are busy; empty: there is none.
  std::vector<StartGpu> gpus;
  // Runs a job under the profiler, for counters; empty: there is no way.
  CountJob count;
  // Where calibrations of GPUs lie, the user's first, which is written to too (calibration.h).
  std::vector<std::filesystem::path> calibrations;
  double own_calibration_seconds = 20;  // at most, where there is none
  // Texts that a candidate may have been pasted from, asked for once; none: nothing is said of that.
  std::function<std::vector<KnownText>()> known;
};
// `shipped`: the folder of the calibrations that come with ptxlab; empty: only the user's are known.
Parts installed_parts(const std::filesystem::path& shipped = {});

class Judge {
 public:
  explicit Judge(Parts parts = installed_parts({}));
  ~Judge();

  record::Verdict judge(const task::Task& task, const record::Candidate& candidate, const JudgeOptions& options);

  // What the candidates are compared with: for briefs, and to have a user's kernel compiled once. The pointer lives as
  // long as the judge. Errors: CUC0001 no nvcc and others of toolchain.h, FILE0001, PLAN00xx, PTX0xxx.
  base::Result<const Baseline*> baseline(const task::Task& task, const isa::Target& target);

  // What preparing to judge the task's candidates came to, before any is there: errors where none can be judged, whatever it
  // does (the user's kernel faults by this task, no compiler for the reference), else what every verdict has to say.
  base::Findings preparation(const task::Task& task, const JudgeOptions& options);

  // An estimate without a judgement: for the search of proposers. Whether the candidate is right is not looked at.
  // Errors: what makes an estimate impossible, with the findings of check.
  base::Result<record::Estimate> estimate(const task::Task& task, const record::Candidate& candidate,
                                          const JudgeOptions& options);

  // What the engine says of the baseline at the timed sizes: for briefs. Errors: what makes an estimate impossible.
  struct BaselineFigures {
    record::LineProfile profile;
    record::Estimate estimate;
  };
  base::Result<BaselineFigures> baseline_figures(const task::Task& task, const JudgeOptions& options);

  // The GPU that candidates are measured on; nothing: there is none. Starts a worker.
  std::optional<gpu::Hello> gpu();

  // The target of the GPU that is there, as `task` names it if it does: what a candidate is judged for where nobody says anything
  // else. Starts a worker. Nothing: there is no GPU.
  std::optional<isa::Target> gpu_target(const task::Task& task);

  struct State;  // judge.cc's own

 private:
  std::unique_ptr<State> state_;
};

// The judge's estimates behind record's interface. `judge` and `task` must outlive it.
std::unique_ptr<record::Evaluator> make_evaluator(Judge& judge, const task::Task& task, JudgeOptions options);

// The target a candidate of `task` is judged for. Error: JDG0003, no target given and none in the task.
base::Result<isa::Target> judged_target(const task::Task& task, const std::optional<isa::Target>& wanted);

}  // namespace ptxlab::judge
