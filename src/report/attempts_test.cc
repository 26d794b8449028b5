#include "report/attempts.h"

#include <gtest/gtest.h>

namespace ptxlab::report {
namespace {

record::Attempt attempt(std::string name, record::OutcomeName outcome, std::optional<double> speedup) {
  record::Attempt a;
  a.candidate.name = std::move(name);
  a.candidate.idea = "idea of " + a.candidate.name;
  a.verdict.outcome = outcome;
  a.verdict.reason = "reason of " + a.candidate.name;
  a.verdict.estimated_speedup = speedup;
  return a;
}

TEST(RankedTable, RightOnesFirstWithTheirIdeasThenTheOthersWithTheirReasons) {
  std::vector<record::Attempt> attempts = {attempt("bad", record::OutcomeName::wrong, {}),
                                           attempt("good", record::OutcomeName::unverified, 1.25)};
  attempts[1].verdict.resources.push_back({.entry = "a", .registers = 24});
  attempts[1].verdict.resources.push_back({.entry = "b", .registers = 40});
  std::vector<size_t> ranking = {1};
  EXPECT_EQ(ranked_table(attempts, ranking),
            "#  candidate  outcome     estimate  registers  idea or reason\n"
            "-  ---------  ----------  --------  ---------  --------------\n"
            "1  good       unverified     1.25x         40  idea of good\n"
            "-  bad        wrong              -          -  reason of bad\n");
}

TEST(AttemptList, ShowsTimeInUtc) {
  archive::AttemptRow row;
  row.id = 7;
  row.task = "t";
  row.outcome = "wrong";
  row.reason = "because";
  EXPECT_NE(attempt_list(std::vector{row}).find(" 7  1970-01-01 00:00:00  t "), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::report
