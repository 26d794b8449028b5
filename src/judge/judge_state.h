// What a judge keeps from one candidate to the next: baselines, cases with their right answers, inputs of timed sizes, what is
// known of GPUs. Each is made once, by whoever needs it first. judge.cc's own.
#pragma once
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/answers.h"
#include "judge/baseline.h"
#include "judge/calibration.h"
#include "judge/estimate_timed.h"
#include "judge/gpu_pool.h"
#include "judge/judge.h"
#include "judge/timed_inputs.h"
#include "judge/weak_baseline.h"

namespace ptxlab::judge {

// Made once, by whoever comes first; the others wait for it.
template <class T>
class Once {
 public:
  template <class Make>
  const base::Result<T>& get(const Make& make) {
    std::lock_guard lock(mutex_);
    if (!result_) result_.emplace(make());
    return *result_;
  }

 private:
  std::mutex mutex_;
  std::optional<base::Result<T>> result_;
};

template <class T>
class Kept {
 public:
  Once<T>& at(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto& slot = slots_[key];
    if (!slot) slot = std::make_unique<Once<T>>();
    return *slot;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Once<T>>> slots_;
};

inline std::string key_of(const task::Task& task, const isa::Target& target) {
  return fmt::format("{}|{}|{}|{}|{}", task.name, task.version, task.file.string(), task.folder.string(),
                     target.name());
}

// What every verdict has to say of a task's baseline.
struct Notes {
  base::Findings findings;
};

struct Judge::State {  // what is kept of tasks
  explicit State(Parts given) : parts(std::move(given)), gpus(parts.gpus) {}

  Parts parts;
  GpuPool gpus;
  Kept<Baseline> baselines;
  Kept<PreparedTask> prepared;
  Kept<TimedEstimate> estimates;  // of the baselines
  Kept<Notes> notes;              // on the baselines
  Kept<Rivals> all_rivals;
  Kept<std::shared_ptr<task::Oracle>> oracles;
  TimedInputs inputs;
  std::once_flag known_read;
  std::vector<KnownText> known_texts;

  const std::vector<KnownText>& known() {
    std::call_once(known_read, [&] {
      if (parts.known) known_texts = parts.known();
    });
    return known_texts;
  }

  const base::Result<Baseline>& baseline(const task::Task& task, const isa::Target& target) {
    return baselines.at(key_of(task, target)).get([&] { return read_baseline(task, target, parts.assemblers); });
  }
  const base::Findings& notes_on(const task::Task& task, const Baseline& baseline) {
    return notes.at(key_of(task, baseline.target))
        .get([&]() -> base::Result<Notes> { return Notes{idle_baseline(task, baseline, baseline.target)}; })
        .value()
        .findings;
  }
  const base::Result<PreparedTask>& cases(const task::Task& task, const Baseline& baseline,
                                          const JudgeOptions& options) {
    std::string key = fmt::format("{}|{}", key_of(task, baseline.target), options.seed);
    return prepared.at(key).get([&] {
      return prepare(task, baseline, {options.seed, options.threads, parts.engine, parts.reference});
    });
  }
  // The references that time is measured beside; null where the task has none.
  base::Result<std::shared_ptr<task::Oracle>> oracle(const task::Task& task) {
    if (!task.reference) return std::shared_ptr<task::Oracle>();
    return oracles.at(fmt::format("{}|{}", task.file.string(), task.reference->string()))
        .get([&]() -> base::Result<std::shared_ptr<task::Oracle>> {
          auto made = parts.reference(task);
          if (!made) return made.findings();
          return std::shared_ptr<task::Oracle>(std::move(*made));
        });
  }
  const Rivals& rivals(const task::Task& task, const isa::Target& target) {
    return *all_rivals.at(key_of(task, target)).get([&]() -> base::Result<Rivals> {
      return read_rivals(task, target, parts.assemblers);
    });
  }
  // What is known of a GPU; what is wrong with its files is said once.
  Calibrations& calibrations(const std::string& gpu, base::Findings& findings) {
    std::lock_guard lock(calibrations_mutex);
    auto at = by_gpu.find(gpu);
    if (at == by_gpu.end()) at = by_gpu.emplace(gpu, Calibrations::find(gpu, parts.calibrations, findings)).first;
    return at->second;
  }
  std::mutex calibrations_mutex;
  std::map<std::string, Calibrations> by_gpu;

  const base::Result<TimedEstimate>& baseline_estimate(const task::Task& task, const Baseline& baseline,
                                                       const std::vector<task::CaseData>& timed) {
    return estimates.at(key_of(task, baseline.target)).get([&] {
      return estimate_timed(
          {task, timed, baseline.module, baseline.plan, baseline.resources, baseline.target, 1, parts.engine});
    });
  }
};

}  // namespace ptxlab::judge
