// For tests of bench: a model, rules, a compiler and a judge that are played, a run in an archive of its own, and what it leaves.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "loop/bench.h"
#include "record/json.h"

namespace ptxlab::loop {

using archive::Archive;
using archive::Cell;

// A model that is played: its answer follows from the question alone, so that two runs can be compared. One answer in four is
// right; a later turn knows the first and is right more often.
class Played : public record::Proposer {
 public:
  using Answer = std::function<base::Result<Proposal>(const record::Brief&, int)>;
  Played(Answer answer, bool learns) : answer_(std::move(answer)), learns_(learns) {}
  std::string name() const override { return "played"; }
  bool learns() const override { return learns_; }
  base::Result<Proposal> propose(const record::Brief& brief, int count) override { return answer_(brief, count); }

 private:
  Answer answer_;
  bool learns_;
};

inline record::Candidate candidate_of(std::string ptx) {
  record::Candidate candidate;
  candidate.ptx = std::move(ptx);
  candidate.proposer = "played";
  candidate.name = "x";
  candidate.prompt = "What now?";
  candidate.answer = candidate.ptx;
  return candidate;
}

inline base::Result<record::Proposer::Proposal> model_answer(const record::Brief& brief, int) {
  record::Proposer::Proposal proposal;
  bool right = brief.seed % 4 == 0 || (!brief.earlier.empty() && brief.seed % 3 == 0);
  proposal.candidates.push_back(candidate_of((right ? "right " : "wrong ") + std::to_string(brief.seed) + " after " +
                                             std::to_string(brief.earlier.size()) +
                                             (brief.earlier.empty() ? "" : brief.earlier.back().candidate.ptx)));
  // Some have something to say of their own, some hold no PTX, some are CUDA C.
  auto& candidate = proposal.candidates.back();
  if (brief.seed % 7 == 0)
    candidate.findings.push_back({"LLM0028", base::Severity::warning, {}, "an unmarked block was taken", "", {}});
  if (brief.seed % 5 == 0) {
    candidate.ptx.clear();
    candidate.findings.push_back(base::error("LLM0020", "no block", ""));
  } else if (brief.seed % 5 == 1) {
    candidate.ptx.clear();
    candidate.cuda = brief.seed % 2 ? "broken" : "__global__ void k();";
  }
  candidate.steps = 1 + static_cast<int>(brief.seed % 3);
  proposal.usage = record::Usage{.requests = 1, .asked = 100, .answered = 20, .dollars = 0.01};
  return proposal;
}

inline base::Result<record::Proposer::Proposal> rules_answer(const record::Brief& brief, int count) {
  record::Proposer::Proposal proposal;
  for (int i = 0; i < std::min(count, 2); ++i)
    proposal.candidates.push_back(candidate_of("right rule " + std::to_string(i) + brief.task.name));
  proposal.note = "no more than two";
  return proposal;
}

inline record::Verdict played_judge(size_t task, const record::Candidate& candidate) {
  record::Verdict verdict;
  verdict.task = "t" + std::to_string(task);
  bool right = candidate.ptx.starts_with("right");
  verdict.outcome = right ? record::OutcomeName::unverified : record::OutcomeName::wrong;
  verdict.reason = right ? "right" : "wrong";
  if (right) verdict.estimated_speedup = 1 + static_cast<double>(candidate.ptx.size() % 7) / 10;
  for (auto& gate : verdict.gates) gate.milliseconds = static_cast<double>(rand() % 100);  // as clocks are
  return verdict;
}

inline Lock lock_of(int tasks, int k, int turns, Stop stop = Stop::right) {
  Lock lock;
  lock.spec.name = "played";
  lock.spec.k = k;
  lock.spec.turns = turns;
  lock.spec.stop = stop;
  lock.spec.seed = 7;
  ArmSpec model;
  model.name = "model";
  model.parallel = 3;
  ArmSpec rules;
  rules.name = "rules";
  lock.spec.arms = {model, rules};
  for (int t = 0; t < tasks; ++t) {
    LockedTask one;
    one.task.name = "t" + std::to_string(t);
    one.target = *isa::target_named("sm_80");
    lock.tasks.push_back(one);
  }
  lock.json = {{"schema", "ptxlab.lock/1"}};
  return lock;
}

struct World {
  Played::Answer model = model_answer, rules = rules_answer;
  std::function<record::Verdict(size_t, const record::Candidate&)> judge = played_judge;
};

inline BenchParts parts_of(const Lock& lock, Archive& archive, const World& world) {
  BenchParts parts;
  parts.archive = &archive;
  parts.brief = [&lock](size_t task) -> base::Result<record::Brief> {
    record::Brief brief;
    brief.task = lock.tasks[task].task;
    brief.target = lock.tasks[task].target;
    brief.baseline_ptx = "// baseline";
    return brief;
  };
  parts.proposer = [&world](size_t arm, const Cell&) -> base::Result<std::unique_ptr<record::Proposer>> {
    return std::unique_ptr<record::Proposer>(std::make_unique<Played>(arm == 0 ? world.model : world.rules, arm == 0));
  };
  parts.judge = world.judge;
  parts.compile = [](size_t, record::Candidate& candidate) {
    if (candidate.cuda.find("broken") != std::string::npos)
      candidate.findings.push_back(base::error("CUC0002", "does not compile", ""));
    else
      candidate.ptx = "right " + candidate.cuda;
    return base::Findings();
  };
  return parts;
}

class Bench : public ::testing::Test {
 protected:
  void SetUp() override {
    archive = *Archive::open(folder.path() / "archive.db");
    ASSERT_TRUE(archive->add_bench(run, "{}").empty());
  }
  BenchResult go(const Lock& lock, const World& world, size_t jobs = 2) {
    return run_bench(lock, run.id, parts_of(lock, *archive, world), {jobs, {}});
  }
  base::TemporaryFolder folder{"bench"};
  std::unique_ptr<Archive> archive;
  archive::Run run;
};

// A loop over what a temporary holds would outlive it.
inline std::vector<archive::Answer> rows_of(base::Result<std::vector<archive::Answer>> rows) {
  EXPECT_TRUE(rows.ok());
  return rows.ok() ? *std::move(rows) : std::vector<archive::Answer>();
}

// All that a run leaves, without clocks and numbers of rows.
inline std::map<Cell, std::string> left_by(Archive& archive, const std::string& run) {
  const auto without_times = [](nlohmann::json verdict) {
    for (auto& gate : verdict["gates"]) gate["milliseconds"] = 0;
    return verdict;
  };
  std::map<Cell, std::string> left;
  for (const auto& row : rows_of(archive.answers(run))) {
    auto answer = *archive.answer(row.id);
    auto brief = nlohmann::json::parse(answer.brief_json);
    for (auto& earlier : brief["earlier"]) earlier["verdict"] = without_times(earlier["verdict"]);
    nlohmann::json kept = {{"brief", brief}, {"note", answer.note}};
    if (answer.usage) kept["usage"] = record::to_json(*answer.usage);
    if (answer.candidate) kept["candidate"] = record::to_json(*answer.candidate);
    if (answer.attempt) {
      auto attempt = *archive.attempt(*answer.attempt);
      kept["judged"] = record::to_json(attempt.candidate);
      kept["verdict"] = without_times(record::to_json(attempt.verdict));
    }
    left[answer.cell] = base::print_json(kept);
  }
  return left;
}

}  // namespace ptxlab::loop
