// Optimise: proposers hand in candidates, each is judged and archived, the best that was found right is named, and on
// any doubt the user's original stays the answer.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "loop/search.h"
#include "record/proposer.h"
#include "record/record.h"

namespace ptxlab::loop {

// Judges one candidate; called from several threads at once.
using Judging = std::function<record::Verdict(const record::Candidate&)>;

// Called after each attempt is archived: how many are done, of how many, and the attempt.
using Progress = std::function<void(size_t done, size_t total, const record::Attempt&)>;

struct OptimiseOptions {
  int candidates = 8;            // in all
  int turns = 1;                 // how often those that learn are asked, each time with what was found wrong so far
  size_t threads = 0;            // 0: the machine's cores
  bool accept_estimate = false;  // an estimate may replace the original
  std::string command;           // as typed, for the archive
  std::function<bool()> stop;    // true: nothing new is begun, and what there is is the result
  SearchOptions search;          // what the samples of each turn are asked, and when to stop
};

// What one proposer used of a model, all turns together.
struct Used {
  std::string proposer;
  record::Usage usage;
};

struct Optimised {
  archive::Run run;
  std::vector<record::Attempt> attempts;  // in the order proposed
  std::vector<size_t> ranking;            // indices of the right ones, best first
  std::optional<size_t> best;  // index of the best right one that is better than the original, by the estimate
  bool original_kept = true;
  std::string reason;              // why the answer is what it is, one or two sentences
  std::vector<std::string> notes;  // what else the user should know: fewer than asked, the same code twice
  std::vector<Used> used;
  base::Findings findings;  // of proposers and the archive
  bool failed = false;      // infrastructure: no proposer answered, or an attempt could not be archived
};

// An estimated speed-up below this is not called better, and neither is one within the estimate's own uncertainty.
// Among candidates whose estimates differ by less than that the simplest comes first: fewest steps, then shortest code.
inline constexpr double kWorthMentioning = 1.01;

// A proposer that does not learn is asked once, for all candidates. One that does is asked each turn for its share of them,
// since its answers may cost money. `archive` null: nothing is kept. Every attempt is archived before its slot takes the next; when that fails, no
// further attempt is begun, and the result says so.
Optimised optimise(const record::Brief& brief, std::span<record::Proposer* const> proposers, const Judging& judge,
                   archive::Archive* archive, const OptimiseOptions& options, const Progress& progress = {});

}  // namespace ptxlab::loop
