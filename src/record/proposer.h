// The two interfaces of the loop: who proposes candidates, and who says cheaply how good one is.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::record {

// What a proposer has used of a model.
struct Usage {
  int64_t requests = 0;             // tries included
  int64_t asked = 0, answered = 0;  // tokens
  bool estimated = false;           // the server did not count all of them, so some are estimated
  int64_t reasoning = 0;            // of `answered`: thought, which costs as much as what is said
  int64_t cached = 0;               // of `asked`: read from the server's cache, at a lower price
  int64_t cache_written = 0;        // of `asked`: written into it, at a price of its own
  double dollars = 0;               // of all that has a known price
  bool unpriced = false;            // some of it has none, so that nobody knows what all of it costs
  std::optional<double> cost() const { return unpriced ? std::nullopt : std::optional<double>(dollars); }
  void add(const Usage& other) {
    requests += other.requests, asked += other.asked, answered += other.answered, estimated |= other.estimated;
    reasoning += other.reasoning, cached += other.cached, cache_written += other.cache_written;
    dollars += other.dollars, unpriced |= other.unpriced;
  }
};

// "3 requests, 1200 tokens asked (800 of them cached), 400 answered (300 of them thinking), $0.0123": for people. An unknown price is
// said to be unknown.
std::string describe(const Usage& usage);

// What went over the wire with a model's server, as it was: for transcripts. A key never stands in it.
struct Exchange {
  struct Try {
    int status = 0;                                // HTTP's; 0: no answer
    std::string end;                               // in words
    std::chrono::milliseconds took{0}, waited{0};  // waited before the next
  };
  std::string request, response;  // bodies
  std::vector<Try> tries;
  std::optional<Usage> usage;       // of this exchange alone, where its answer could be read
  std::optional<size_t> candidate;  // which of the proposal's candidates came of it
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  // Whether another call with more earlier attempts in the brief may bring something new. One that does not learn is asked
  // once.
  virtual bool learns() const { return false; }
  // At most `count` candidates, all different; fewer is an honest answer, and `note` says why. None and an error among the
  // findings: it could not answer, which is the same as returning that error but for the exchanges.
  struct Proposal {
    std::vector<Candidate> candidates;
    std::string note;
    base::Findings findings;
    std::vector<Exchange> exchanges;
    std::optional<Usage> usage;  // of this call
  };
  virtual base::Result<Proposal> propose(const Brief& brief, int count) = 0;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Estimated nanoseconds of all timed sizes, weighted; smaller is better. Errors: what made it impossible.
  virtual base::Result<Estimate> estimate(const Candidate& candidate) = 0;
};

}  // namespace ptxlab::record
