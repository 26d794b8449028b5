// The outputs of one case as a diagnosis looks at them: element by element what came, what was to come, and what is wrong with it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "judge/answers.h"
#include "judge/emulate.h"

namespace ptxlab::judge {

// Unwritten: never given a defined value, or wrong and as it was before the launch.
enum class ElementState : uint8_t { not_counted, right, wrong, unwritten, half_written };

struct WrongOutput {
  std::string name;  // of its view
  isa::Type type = isa::Type::none;
  size_t buffer = 0;
  std::vector<int64_t> shape;
  std::vector<double> got, want, magnitude;  // by element; magnitude: what its rounding errors are relative to
  std::vector<ElementState> state;
  size_t counted = 0, wrong = 0, unwritten = 0, half_written = 0;
  bool accumulates = false;  // integers that launches add to: they begin at zero, and what is missing is not unwritten
  bool by_budget = false;    // every element is within its bound, their errors together are not
  double rms = 0;            // of error / magnitude, of the finite elements
  size_t bad() const { return wrong + unwritten + half_written; }
  bool is_bad(size_t i) const { return state[i] > ElementState::right; }
};

// A case that ran to its end.
struct WrongCase {
  const PreparedCase* prepared = nullptr;
  std::vector<WrongOutput> outputs;
  bool right = true;
  uint64_t ctas = 0, baseline_ctas = 0;  // of the largest launch, the candidate's and the baseline's; 0: not known
  std::string label() const { return prepared->data.what.label(); }
};

// CTAs of a plan's largest launch.
uint64_t most_ctas(const launch::ResolvedPlan& plan);

WrongCase look_at(const task::Task& task, const PreparedCase& prepared, const CaseRun& run);

}  // namespace ptxlab::judge
