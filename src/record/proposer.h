// The two interfaces of the loop: who proposes candidates, and who says cheaply how good one is.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::record {

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  // At most `count` candidates, all different; fewer is an honest answer, and `note` says why.
  struct Proposal {
    std::vector<Candidate> candidates;
    std::string note;
    base::Findings findings;
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
