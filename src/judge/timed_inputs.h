// What a timed size is timed on: the task's inputs whole, a second variant of them that differs in one element, and the right
// answers of some elements of both. Made once and used for every candidate; they may be gigabytes.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/contest.h"
#include "task/case.h"
#include "task/oracle.h"
#include "task/task.h"

namespace ptxlab::judge {

// Elements of one output whose right values are known.
struct SampledAnswer {
  std::string output;  // a view's name
  std::vector<uint64_t> indices;
  std::vector<task::Expected> expected;
};

struct TimedInput {
  task::CaseData data;  // of the first variant
  gpu::Contest::Change change;
  std::string changed;  // "element 1234 of 'x' is 0.5 instead of -1.25"; empty: nothing could be changed
  std::array<std::vector<SampledAnswer>, gpu::kVariants> answers;  // empty without a reference
};

// The case data of a variant, for the oracle. 0 is the data itself.
task::CaseData variant_of(const TimedInput& input, uint8_t variant);

// `oracle` null: there is none, and what the baseline puts out is right. Errors: TASK00xx, ORA00xx.
base::Result<TimedInput> make_timed_input(const task::Task& task, const task::Case& what, task::Oracle* oracle);

// The element that differs in the second variant, and its value: that of another element of the same buffer. Only where the fill
// lets every element have every other's value: never in what is ordered, a permutation, or from a file. Empty where there is none.
gpu::Contest::Change choose_change(const task::Task& task, const task::CaseData& data, uint64_t seed,
                                   std::string& changed);

// First and last elements, ends of rows, and some drawn at random: what is looked at with the reference.
std::vector<uint64_t> sampled_indices(uint64_t elements, uint64_t row, uint64_t seed);

// Keeps the inputs of the sizes that were timed last, within a bound on their bytes.
class TimedInputs {
 public:
  using Kept = std::shared_ptr<const base::Result<TimedInput>>;
  Kept get(const std::string& key, const std::function<base::Result<TimedInput>()>& make);

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, Kept>> kept_;  // the last one used is the last
};

}  // namespace ptxlab::judge
