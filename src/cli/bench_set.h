// What a bench run is wired from: the judge and its parts, and the lock and the parts of loop/bench.h made of them. Shared by the
// run itself, its dry run and judging again.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/proposers.h"
#include "judge/judge.h"
#include "llm/budget.h"
#include "loop/bench.h"
#include "loop/lock.h"

namespace ptxlab::cli {

struct BenchWanted {
  std::string ptxas, witness, gpu, target;
};

class BenchSet {
 public:
  // Errors: of --gpu, --ptxas and --target.
  static base::Result<std::unique_ptr<BenchSet>> make(const BenchWanted& wanted);

  // What the lock is made with. `spec` outlives it.
  loop::LockParts lock_parts(const loop::Spec& spec);
  // The parts of a run under `lock`, which outlives them, as does this.
  base::Result<loop::BenchParts> parts(const loop::Lock& lock);
  // The brief of a task, when everything that judging it needs is there.
  base::Result<record::Brief> brief(const loop::Lock& lock, size_t task);
  // What an arm's proposer is made with, but for the evaluator.
  static ProposerParts proposer_parts(const loop::Spec& spec, const loop::ArmSpec& arm);
  // An arm's proposer, its folder read from the spec's.
  static std::string proposer_of(const loop::Spec& spec, const loop::ArmSpec& arm, const archive::Cell& cell);

  judge::Judge& judge() { return *judge_; }
  std::optional<isa::Target> target() const { return target_; }
  judge::JudgeOptions options_of(const loop::Lock& lock, size_t task) const;

 private:
  BenchSet() = default;
  base::Result<nlohmann::json> arm_facts(const loop::Spec& spec, const loop::ArmSpec& arm);

  std::unique_ptr<judge::Judge> judge_;
  std::optional<isa::Target> target_;
  std::vector<std::pair<std::string, std::string>> tools_;
  std::vector<std::unique_ptr<record::Evaluator>> evaluators_;  // by task
  std::map<std::string, size_t> task_named_;
  std::vector<llm::Limits> limits_;  // by arm
};

// Why an arm that has used so much may ask no more; nothing: it may.
std::optional<std::string> over_budget(const llm::Limits& limits, const record::Usage& used, double seconds);

}  // namespace ptxlab::cli
