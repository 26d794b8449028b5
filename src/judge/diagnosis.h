// Why a result is wrong: a pattern with a name, read off the wrong values themselves and off what the checkers found, with the
// evidence for it. Nothing is said where nothing fits: a wrong name costs more than none.
//
// Three kinds of evidence, in this order: which elements are wrong (diagnosis_places.cc); trials (diagnosis_trials.cc): the baseline
// runs on the engine once more with one thing spoilt, and where that gives the candidate's values the candidate spoils the same thing;
// and what the values have to do with the right ones (diagnosis_values.cc).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "judge/baseline.h"
#include "judge/wrong_output.h"
#include "simt/engine.h"

namespace ptxlab::judge {

enum class Pattern : uint8_t {
  barrier,        // threads do not wait for each other
  special,        // only where values are not ordinary
  tail,           // the last few, where a size is no multiple of a vector's width
  grid,           // whole CTAs are missing: the grid is rounded down, or is a part of it
  off_by_one,     // one element at an end, whatever the size
  width,          // every second or fourth element, or a half of each
  unwritten,      // elements that nobody stores, without a pattern in their places
  swapped,        // rows and columns
  shifted,        // the right values, a constant distance off
  misplaced,      // the right values in another order
  exchanged,      // two inputs
  signedness,     // signed and unsigned
  scalar,         // another scalar, or another size, than the right one
  factor,         // a constant times the right values
  offset,         // a constant more than the right values
  precision,      // sums or inputs kept too coarsely
  reduction,      // each row is off by a factor of its own
  updates,        // of what is counted, some is lost, or counted twice
  wrong_bin,      // as many as there should be, some of them in another place
  left_out,       // an input has no effect
  approximation,  // as precision, and it uses approximate instructions that the kernel does not
  kEnd,
};
std::string_view name_of(Pattern pattern);  // "tail", "off by one"
std::string_view code_of(Pattern pattern);  // "CMP0201"

struct Diagnosis {
  Pattern pattern = Pattern::kEnd;
  std::string evidence;  // one sentence, with figures
};

// All that is known of a candidate whose cases ran.
struct DiagnosisInput {
  const task::Task& task;
  const Baseline& baseline;
  std::vector<WrongCase> cases;      // those that ran to their end, right ones among them
  base::Findings findings;           // of the checkers, of all cases
  bool differs_by_schedule = false;  // right under one order of warps, wrong under another
  std::function<std::unique_ptr<simt::Engine>()> engine;
  uint64_t seed = 1;
  const ptx::Module* candidate = nullptr;  // may be absent
};

std::optional<Diagnosis> diagnose(const DiagnosisInput& input);

// As the emulate gate says it: a warning with the pattern's name, the evidence and what to look at.
base::Finding finding_of(const Diagnosis& diagnosis);

// The parts, exposed for their tests. Each looks at the cases that are wrong; the right ones are evidence too.
std::optional<Diagnosis> diagnose_places(const std::vector<WrongCase>& cases);
std::optional<Diagnosis> diagnose_values(const task::Task& task, const std::vector<WrongCase>& cases);
std::optional<Diagnosis> diagnose_by_trials(const DiagnosisInput& input);
// What nobody writes, in no regular places; or with `zeros` zeros instead of all that belongs there.
std::optional<Diagnosis> diagnose_unwritten(const std::vector<WrongCase>& cases, bool zeros);
std::optional<Diagnosis> diagnose_counts(const std::vector<WrongCase>& cases);

}  // namespace ptxlab::judge
