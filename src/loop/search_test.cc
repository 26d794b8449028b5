#include "loop/search.h"

#include <gtest/gtest.h>

#include <map>

#include "loop/optimise.h"

namespace ptxlab::loop {
namespace {

using record::Candidate;
using record::Job;
using record::OutcomeName;
using record::Verdict;

record::Earlier attempt(OutcomeName outcome, double estimated = 0, double measured = 0,
                        const std::string& digest = "") {
  record::Earlier made;
  made.verdict.outcome = outcome;
  if (estimated > 0) made.verdict.estimated_speedup = estimated;
  if (measured > 0) {
    made.verdict.timing.emplace();
    made.verdict.timing->speedup = measured + 0.01;
    made.verdict.timing->low = measured;
  }
  made.verdict.code_digest = digest;
  return made;
}

SearchOptions options() {
  SearchOptions made;
  made.strategies = {{"wide", "wider"}, {"tile", "tiles"}, {"few", "fewer registers"}};
  made.temperatures = {0.2, 0.9};
  return made;
}

TEST(Search, TheFirstTurnTriesOneStrategyASample) {
  auto asks = plan_turn({}, 1, 5, 0, options());
  ASSERT_EQ(asks.size(), 5u);
  std::vector<std::string> strategies;
  for (const auto& ask : asks) {
    EXPECT_EQ(ask.job, Job::optimize);
    strategies.push_back(ask.strategy);
  }
  EXPECT_EQ(strategies, (std::vector<std::string>{"", "wide", "tile", "few", "wide"}));
  EXPECT_EQ(asks[1].advice, "wider");
  EXPECT_EQ(asks[0].temperature, 0.2);
  EXPECT_EQ(asks[1].temperature, 0.9);
  // A second proposer goes on where the first has left the list.
  EXPECT_EQ(plan_turn({}, 1, 1, 2, options())[0].strategy, "tile");
  EXPECT_FALSE(plan_turn({}, 1, 1, 0, {})[0].temperature);
}

TEST(Search, SurvivorsAreTheFastestAndTheNearestToRight) {
  std::vector<record::Earlier> earlier{attempt(OutcomeName::malformed),
                                       attempt(OutcomeName::unverified, 1.4, 0, "a"),
                                       attempt(OutcomeName::wrong),
                                       attempt(OutcomeName::unverified, 1.4, 0, "a"),  // the same code
                                       attempt(OutcomeName::faster, 9, 1.6, "b"),
                                       attempt(OutcomeName::same, 1, 0, "c"),
                                       attempt(OutcomeName::wrong),
                                       attempt(OutcomeName::cheating),
                                       attempt(OutcomeName::infrastructure)};
  EXPECT_EQ(survivors(earlier, 4), (std::vector<size_t>{4, 1, 6, 2}));
  EXPECT_EQ(survivors(earlier, 1), (std::vector<size_t>{4}));
  EXPECT_EQ(survivors(earlier, 9), (std::vector<size_t>{4, 1, 6, 2, 0}));
  // What was measured counts by what it is at least, not by what an estimate dreams of.
  EXPECT_EQ(speed_of(earlier[4].verdict), 1.6);
  EXPECT_EQ(survivors({attempt(OutcomeName::wrong), attempt(OutcomeName::rejected)}, 3), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(survivors({attempt(OutcomeName::wrong, 0, 0, "x"), attempt(OutcomeName::wrong, 0, 0, "x")}, 3),
            (std::vector<size_t>{1}));
  EXPECT_TRUE(survivors({attempt(OutcomeName::same)}, 3).empty());
}

TEST(Search, LaterTurnsMendAndGoOnAndBeginAnewOnceInFour) {
  std::vector<record::Earlier> earlier{attempt(OutcomeName::wrong), attempt(OutcomeName::unverified, 1.3, 0, "a")};
  auto made = options();
  made.beam = 2;
  auto asks = plan_turn(earlier, 2, 8, 0, made);
  std::vector<Job> jobs;
  for (const auto& ask : asks) jobs.push_back(ask.job);
  const Job go_on = Job::reflect, mend = Job::repair, anew = Job::optimize;
  EXPECT_EQ(jobs, (std::vector<Job>{go_on, mend, go_on, anew, mend, go_on, mend, anew}));
  EXPECT_EQ(asks[0].about, 1u);
  EXPECT_EQ(asks[1].about, 0u);
  EXPECT_EQ(asks[1].strategy, "");  // what failed is mended as it was meant
  EXPECT_EQ(asks[0].strategy, "");  // free at first
  EXPECT_FALSE(asks[2].strategy.empty());
  EXPECT_FALSE(asks[3].about);
}

TEST(Search, EndsWhereNothingIsGainedOrTheGoalIsMet) {
  auto made = options();
  made.patience = 2;
  Stopping idle(made);
  std::vector<record::Earlier> earlier{attempt(OutcomeName::wrong)};
  EXPECT_FALSE(idle.after_turn(earlier));
  earlier.push_back(attempt(OutcomeName::unverified, 0.9));  // the first right one is a gain
  EXPECT_FALSE(idle.after_turn(earlier));
  earlier.push_back(attempt(OutcomeName::unverified, 0.905));
  EXPECT_FALSE(idle.after_turn(earlier));
  EXPECT_EQ(idle.after_turn(earlier), "2 turns without gain: the search ends");
  made.patience = 0;
  made.goal = 1.5;
  Stopping goal(made);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(goal.after_turn(earlier));
  earlier.push_back(attempt(OutcomeName::faster, 0, 1.55));
  EXPECT_EQ(goal.after_turn(earlier), "the goal is met: an attempt is 1.550 times as fast, 1.500 were asked for");
}

// A model that does what it is asked: mends what was wrong, makes a fifth faster what is right, and notes what it was asked.
class Obedient : public record::Proposer {
 public:
  explicit Obedient(double ceiling) : ceiling_(ceiling) {}
  std::string name() const override { return "obedient"; }
  bool learns() const override { return true; }
  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    Proposal proposal;
    for (int i = 0; i < count; ++i) {
      const auto ask = record::ask_of(brief, static_cast<size_t>(i));
      double speed = ask.strategy.empty() ? -1 : 1.0 + 0.01 * static_cast<double>(ask.strategy.size());
      if (ask.about) {
        const auto& from = brief.earlier[*ask.about];
        speed = ask.job == Job::repair ? 1.05 : std::min(ceiling_, *from.verdict.estimated_speedup * 1.2);
      }
      Candidate c;
      c.name = speed < 0 ? "wrong" : "right-" + std::to_string(speed);
      c.ptx = "// " + std::to_string(asked.size());
      asked.push_back(std::string(record::name_of(ask.job)) + (ask.about ? " " + std::to_string(*ask.about) : "") +
                      " " + ask.strategy);
      proposal.candidates.push_back(c);
    }
    return proposal;
  }
  std::vector<std::string> asked;

 private:
  double ceiling_;
};

Verdict judged(const Candidate& c) {
  Verdict v;
  v.outcome = c.name == "wrong" ? OutcomeName::wrong : OutcomeName::unverified;
  if (c.name != "wrong") v.estimated_speedup = std::stod(c.name.substr(6));
  return v;
}

Optimised run(Obedient& proposer, int turns, SearchOptions search) {
  record::Brief brief;
  brief.task.name = "test";
  OptimiseOptions made;
  made.candidates = 4 * turns;
  made.turns = turns;
  made.search = std::move(search);
  std::vector<record::Proposer*> proposers{&proposer};
  return optimise(brief, proposers, judged, nullptr, made);
}

TEST(Search, ClimbsFromTurnToTurnAndIsTheSameAgain) {
  Obedient first(10), second(10);
  auto result = run(first, 4, options());
  EXPECT_EQ(result.attempts.size(), 16u);
  // wrong at first; 1.04 by a strategy; then a fifth faster with each turn.
  ASSERT_TRUE(result.best);
  EXPECT_NEAR(*result.attempts[*result.best].verdict.estimated_speedup, 1.04 * 1.2 * 1.2 * 1.2, 0.01);
  EXPECT_EQ(first.asked[0], "optimize ");
  EXPECT_EQ(first.asked[4], "reflect 1 ");
  EXPECT_EQ(first.asked[6], "repair 0 ");
  auto again = run(second, 4, options());
  EXPECT_EQ(first.asked, second.asked);
  EXPECT_EQ(again.attempts[*again.best].candidate.name, result.attempts[*result.best].candidate.name);
}

TEST(Search, StopsEarlyAndSaysWhy) {
  Obedient stuck(1.1);
  auto search = options();
  search.patience = 2;
  auto result = run(stuck, 9, search);
  EXPECT_EQ(result.attempts.size(), 16u);  // two turns that gain, two that do not
  EXPECT_EQ(result.notes.at(0), "2 turns without gain: the search ends");
  Obedient quick(10);
  search.goal = 1.4;
  result = run(quick, 9, search);
  EXPECT_EQ(result.attempts.size(), 12u);
  EXPECT_TRUE(result.notes.at(0).starts_with("the goal is met"));
}

TEST(Search, ProposersShareTheListOfStrategies) {
  Obedient a(10), b(10);
  record::Brief brief;
  brief.task.name = "test";
  OptimiseOptions made;
  made.candidates = 4;
  made.search = options();
  std::vector<record::Proposer*> proposers{&a, &b};
  optimise(brief, proposers, judged, nullptr, made);
  EXPECT_EQ(a.asked, (std::vector<std::string>{"optimize ", "optimize wide"}));
  EXPECT_EQ(b.asked, (std::vector<std::string>{"optimize tile", "optimize few"}));
}

}  // namespace
}  // namespace ptxlab::loop
