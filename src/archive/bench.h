// What the archive keeps of a run of bench beside its attempts: the lock, who was asked what and when, and what came back. A
// sample's turn is a cell; it has at most one answer, and an answer has at most one attempt.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "record/proposer.h"
#include "record/record.h"

namespace ptxlab::archive {

struct Cell {
  std::string arm, task;
  int sample = 1, turn = 1;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

// What came back, or why nothing did.
struct Answer {
  int64_t id = 0;
  Cell cell;
  std::chrono::system_clock::time_point at{};
  double seconds = 0;                          // that the proposer took
  std::optional<record::Usage> usage;          // of a model
  std::string note;                            // its proposer's
  base::Findings findings;                     // of the call, not of the candidate
  std::string brief_json;                      // as it was told
  std::optional<record::Candidate> candidate;  // nothing: it had none
  // Filled by the queries.
  bool has_candidate = false;
  std::optional<int64_t> attempt;              // the newest, where it was judged more than once
  std::optional<record::OutcomeName> outcome;  // of that attempt
  double judge_seconds = 0;                    // all times together
  bool machine_trouble() const { return outcome == record::OutcomeName::infrastructure; }
};

// A question that got no answer: the server's trouble, a budget that was used up.
struct Unanswered {
  Cell cell;
  std::chrono::system_clock::time_point at{};
  std::optional<record::Usage> usage;
  base::Findings findings;
};

struct Bench {
  Run run;
  std::string lock;      // JSON text, as it began
  std::string rejudged;  // a run's id, or ""
  // Under which locks it went on since, the newest last: other builds of the program, other budgets.
  struct Continued {
    std::chrono::system_clock::time_point at{};
    int64_t after = 0;  // attempts up to this one were there
    std::string lock;
  };
  std::vector<Continued> continued;
  const std::string& lock_now() const { return continued.empty() ? lock : continued.back().lock; }
};

}  // namespace ptxlab::archive
