// What a bench run is to do, as its author writes it ("ptxlab.spec/1"): arms x tasks x samples x turns. docs/bench.md has the
// format. Reading one finds what is wrong in it; what the machine lacks is found when it is locked (loop/lock.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/target.h"
#include "record/record.h"

namespace ptxlab::loop {

// One proposer under one set of conditions.
struct ArmSpec {
  std::string name;
  // As --proposer has it, one of them. {task}, {sample}, {turn} and {arm} stand for the question's own.
  std::string proposer;
  record::Language language = record::Language::ptx;
  record::Job job = record::Job::optimize;  // of the first turn: optimize or write
  std::string prompt;                       // a folder of templates; empty: the project's own
  std::vector<std::string> without;         // sections that its questions do not have
  std::string settings, budget;             // as --model-settings and --budget have them
  int parallel = 4;                         // questions at once
  base::Place place;
};

enum class Stop : uint8_t {
  right,  // a sample ends with its first right turn
  turns,  // it takes all its turns: to become faster
};

struct Spec {
  std::string text, file;          // as read
  std::string name;                // of the run: what a later call of the same spec finds it by
  std::vector<std::string> tasks;  // names and choices: "all", "norm/*", "split:held_out", "!gemm/sgemm_f32"
  std::vector<base::Place> task_places;
  int k = 1, turns = 1;
  Stop stop = Stop::right;
  uint64_t seed = 1;
  std::optional<isa::Target> target;  // absent: the GPU's, else each task's first
  record::GateName until = record::GateName::time;
  record::Constraints constraints;
  std::vector<ArmSpec> arms;
};

// Errors: BENCH0001 no TOML, BENCH0002 an unknown key (with the nearest), BENCH0003 a wrong type or value, BENCH0004 a key that
// is missing, BENCH0007 more samples than anyone can judge.
base::Result<Spec> read_spec(std::string_view text, std::string_view file);

// With {task} and the like replaced. `task` as its name; a '/' in it stays.
std::string expand(std::string_view text, std::string_view arm, std::string_view task, int sample, int turn);

inline constexpr int kMostSamples = 10'000;           // a task
inline constexpr int kMostTurns = 100;                // a sample
inline constexpr int64_t kMostQuestions = 1'000'000;  // in all

}  // namespace ptxlab::loop
