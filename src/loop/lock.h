// A spec made fast: which tasks it means and what is in each of their files, what is asked how, with which tools, on which
// device. Two runs with the same lock are the same experiment; a run goes on only under its own.
#pragma once
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "judge/baseline.h"
#include "loop/spec.h"
#include "task/task.h"

namespace ptxlab::loop {

// What the caller knows of the program and the machine.
struct LockParts {
  std::filesystem::path tasks;                                 // the folder of all tasks
  std::string program, build;                                  // its version, and what tells builds of it apart
  std::vector<std::pair<std::string, std::string>> toolchain;  // "ptxas" -> "13.0.88"; absent tools as "none"
  std::string device, driver;                                  // of the GPU that measures; empty: none
  // The target where the spec names none: the GPU's; else nothing.
  std::function<std::optional<isa::Target>(const task::Task&)> gpu_target;
  std::function<base::Result<const judge::Baseline*>(const task::Task&, const isa::Target&)> baseline;
  // What else decides an arm's answers and is known before it is asked: whether it is a model, its price, its templates. May be
  // empty.
  std::function<base::Result<nlohmann::json>(const ArmSpec&)> arm;
};

struct LockedTask {
  task::Task task;
  isa::Target target;
};

struct Lock {
  Spec spec;
  std::vector<LockedTask> tasks;
  nlohmann::json json;  // "ptxlab.lock/1"
  std::string text() const;
  int64_t questions() const;
};

// Errors: BENCH0005 no such task, or a choice that chooses nothing; BENCH0006 an arm that cannot be; BENCH0007 too much; those of
// the tasks and their baselines.
base::Result<Lock> make_lock(Spec spec, const LockParts& parts);

// The files below a folder with their hashes. Errors: those of task/files.h.
base::Result<nlohmann::json> hashes_below(const std::filesystem::path& folder);

// Every place in which two locks differ: "tasks.norm/x.files.kernel.cu: 3fa2... is now 88c1...". Budgets are no part of the
// experiment: what was answered stays what it is under a larger one.
std::vector<std::string> differences(const nlohmann::json& then, const nlohmann::json& now);
// Likewise, but for the program: other builds may judge in other ways, or in the same.
std::vector<std::string> differences_but_program(const nlohmann::json& then, const nlohmann::json& now);

// What the code of a task's baseline is like, as words that tasks are grouped by: "loops", "control flow", "long live ranges",
// "fragments", "shared memory", "barriers", "atomics", "irregular accesses", "several launches".
std::vector<std::string> code_facts(const judge::Baseline& baseline);

// The spec of a locked run, from its lock.
base::Result<Spec> spec_of_lock(const nlohmann::json& lock);

}  // namespace ptxlab::loop
