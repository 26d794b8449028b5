#include "loop/bench.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "base/random.h"
#include "loop/played_bench.h"
#include "loop/rejudge.h"

namespace ptxlab::loop {
namespace {

TEST_F(Bench, EverySampleTakesItsTurnsAndEndsWhenItIsRight) {
  Lock lock = lock_of(3, 4, 3);
  World world;
  auto result = go(lock, world);
  EXPECT_TRUE(result.whole) << base::render(result.findings, "");
  auto rows = *archive->answers(run.id);
  std::map<std::pair<std::string, int>, std::vector<archive::Answer>> chains;
  for (const auto& row : rows) {
    if (row.cell.arm == "model") chains[{row.cell.task, row.cell.sample}].push_back(*archive->answer(row.id));
  }
  EXPECT_EQ(chains.size(), 12u);
  bool several = false;
  for (const auto& [key, chain] : chains) {
    for (size_t i = 0; i < chain.size(); ++i) {
      EXPECT_EQ(chain[i].cell.turn, static_cast<int>(i) + 1);
      auto verdict = archive->attempt(*chain[i].attempt)->verdict;
      bool last = i + 1 == chain.size();
      EXPECT_TRUE(last || !record::is_right(verdict.outcome));
      EXPECT_TRUE(!last || record::is_right(verdict.outcome) || chain.size() == 3);
      // It was told of its own earlier turns and of no other's.
      auto brief = nlohmann::json::parse(chain[i].brief_json);
      ASSERT_EQ(brief["earlier"].size(), i);
      if (i > 0) {
        EXPECT_EQ(brief["earlier"][i - 1]["candidate"]["name"], chain[i - 1].candidate->name);
      }
    }
    several |= chain.size() > 1;
  }
  EXPECT_TRUE(several);
  // Rules had two for each task and said so; two samples stay empty.
  int with = 0, without = 0;
  for (const auto& row : rows) {
    if (row.cell.arm == "rules") (row.attempt ? with : without)++;
  }
  EXPECT_EQ(with, 6);
  EXPECT_EQ(without, 6);
}

TEST_F(Bench, WhenSpeedIsWantedEveryTurnIsTaken) {
  Lock lock = lock_of(2, 3, 2, Stop::turns);
  World world;
  EXPECT_TRUE(go(lock, world).whole);
  int turns = 0;
  for (const auto& row : rows_of(archive->answers(run.id))) turns += row.cell.arm == "model";
  EXPECT_EQ(turns, 2 * 3 * 2);
}

TEST_F(Bench, ASecondCallOfAWholeRunDoesNothing) {
  Lock lock = lock_of(2, 2, 2);
  World world;
  go(lock, world);
  auto before = left_by(*archive, run.id);
  auto again = go(lock, world);
  EXPECT_TRUE(again.whole);
  EXPECT_EQ(again.asked, 0);
  EXPECT_EQ(again.judged, 0);
  EXPECT_EQ(left_by(*archive, run.id), before);
}

TEST_F(Bench, TroubleIsNoAnswerAndIsAskedAgain) {
  Lock lock = lock_of(1, 3, 1);
  World world;
  std::atomic<int> calls = 0;
  world.model = [&](const record::Brief& brief, int count) -> base::Result<record::Proposer::Proposal> {
    if (++calls == 2) return base::error("LLM0010", "the server gave no whole answer", "");
    return model_answer(brief, count);
  };
  auto first = go(lock, world);
  EXPECT_FALSE(first.whole);
  EXPECT_EQ(first.unanswered, 1);
  ASSERT_EQ(archive->unanswered(run.id)->size(), 1u);
  EXPECT_EQ(first.findings.at(0).code, "LLM0010");
  auto second = go(lock, world);
  EXPECT_TRUE(second.whole);
  EXPECT_EQ(second.asked, 1);
  EXPECT_EQ(calls, 4);
  EXPECT_TRUE(archive->unanswered(run.id)->empty());
}

TEST_F(Bench, AQuestionThatIsTooLongIsAnswerEnough) {
  Lock lock = lock_of(1, 2, 3);
  World world;
  world.model = [](const record::Brief&, int) -> base::Result<record::Proposer::Proposal> {
    return base::error("LLM0005", "the question is too long", "");
  };
  auto result = go(lock, world);
  EXPECT_TRUE(result.whole);
  for (const auto& row : rows_of(archive->answers(run.id))) {
    if (row.cell.arm != "model") continue;
    EXPECT_EQ(row.cell.turn, 1);
    EXPECT_EQ(row.findings.at(0).code, "LLM0005");
    EXPECT_FALSE(archive->answer(row.id)->candidate);
  }
}

TEST_F(Bench, AProposerThatThrowsIsTroubleAndNotTheEnd) {
  Lock lock = lock_of(1, 2, 1);
  World world;
  world.model = [](const record::Brief&, int) -> base::Result<record::Proposer::Proposal> {
    throw std::runtime_error("out of luck");
  };
  auto result = go(lock, world);
  EXPECT_FALSE(result.failed);
  EXPECT_EQ(result.unanswered, 2);
  EXPECT_EQ(result.findings.at(0).code, "BENCH0014");
}

TEST_F(Bench, ABudgetEndsTheAskingAndCountsWhatEarlierCallsHaveUsed) {
  Lock lock = lock_of(2, 4, 1);
  World world;
  auto parts = parts_of(lock, *archive, world);
  int64_t limit = 300;
  parts.refused = [&](size_t, const record::Usage& used, double) -> std::optional<std::string> {
    if (used.asked + used.answered < limit) return std::nullopt;
    return "its budget is used up";
  };
  lock.spec.arms[0].parallel = 1;
  auto first = run_bench(lock, run.id, parts, {1, {}});
  EXPECT_FALSE(first.whole);
  EXPECT_EQ(first.unanswered, 8 - 3);  // 120 tokens each
  EXPECT_EQ(first.findings.at(0).code, "BENCH0012");
  auto second = run_bench(lock, run.id, parts, {1, {}});
  EXPECT_EQ(second.asked, 0);
  EXPECT_EQ(second.unanswered, 5);
}

// A candidate of which the machine could say nothing is judged when the run goes on, and its sample goes on from there.
TEST_F(Bench, WhatMetTroubleOfTheMachineIsJudgedOnceMore) {
  Lock lock = lock_of(2, 3, 3);
  World calm, troubled;
  std::atomic<int> calls = 0;
  troubled.judge = [&](size_t task, const record::Candidate& candidate) {
    auto verdict = played_judge(task, candidate);
    if (++calls % 3 == 0) verdict.outcome = record::OutcomeName::infrastructure, verdict.reason = "no space left";
    return verdict;
  };
  go(lock, troubled);
  int trouble = 0;
  for (const auto& row : rows_of(archive->answers(run.id))) trouble += row.machine_trouble();
  ASSERT_GT(trouble, 0);
  auto second = go(lock, calm);
  EXPECT_TRUE(second.whole);
  EXPECT_GE(second.judged, trouble);
  for (const auto& row : rows_of(archive->answers(run.id))) EXPECT_FALSE(row.machine_trouble());
  // It has come to what it would have come to.
  archive::Run other;
  ASSERT_TRUE(archive->add_bench(other, "{}").empty());
  EXPECT_TRUE(run_bench(lock, other.id, parts_of(lock, *archive, calm), {2, {}}).whole);
  EXPECT_EQ(left_by(*archive, run.id), left_by(*archive, other.id));
}

TEST_F(Bench, ACompilerInTroubleIsNotTheCandidatesFault) {
  Lock lock = lock_of(1, 8, 1);
  World world;
  auto parts = parts_of(lock, *archive, world);
  auto compile = parts.compile;
  parts.compile = [](size_t, record::Candidate&) -> base::Findings {
    return {base::error("CUC0004", "no place for nvcc's files", "")};
  };
  EXPECT_TRUE(run_bench(lock, run.id, parts, {2, {}}).whole);
  int compiled = 0;
  for (const auto& row : rows_of(archive->answers(run.id))) {
    auto answer = *archive->answer(row.id);
    if (!answer.candidate || answer.candidate->cuda.empty()) continue;
    ++compiled;
    auto verdict = archive->attempt(*row.attempt)->verdict;
    EXPECT_EQ(verdict.outcome, record::OutcomeName::infrastructure);
    EXPECT_EQ(verdict.reason, "no place for nvcc's files");
  }
  EXPECT_GT(compiled, 0);
  parts.compile = compile;
  EXPECT_EQ(run_bench(lock, run.id, parts, {2, {}}).judged, compiled);
}

// Each arm has its own places: that one has many questions leaves the other no fewer.
TEST_F(Bench, ArmsAreAskedSideBySide) {
  Lock lock = lock_of(1, 40, 1);
  lock.spec.arms[1] = lock.spec.arms[0];
  lock.spec.arms[0].parallel = lock.spec.arms[1].parallel = 2;
  lock.spec.arms[1].name = "other";
  World world;
  std::mutex mutex;
  std::map<std::string, int> busy;
  bool met = false;
  auto parts = parts_of(lock, *archive, world);
  parts.proposer = [&](size_t, const Cell& cell) -> base::Result<std::unique_ptr<record::Proposer>> {
    auto answer = [&, arm = cell.arm](const record::Brief& brief, int count) {
      {
        std::lock_guard guard(mutex);
        ++busy[arm];
        EXPECT_LE(busy[arm], 2);
        met |= busy["model"] > 0 && busy["other"] > 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::lock_guard guard(mutex);
      --busy[arm];
      return model_answer(brief, count);
    };
    return std::unique_ptr<record::Proposer>(std::make_unique<Played>(answer, true));
  };
  EXPECT_TRUE(run_bench(lock, run.id, parts, {1, {}}).whole);
  EXPECT_TRUE(met);
}

// A server that answers at once while judging takes its time: what is answered and not yet judged stays few.
TEST_F(Bench, NoMoreIsAskedThanCanBeJudgedSoon) {
  Lock lock = lock_of(1, 200, 1);
  World world;
  std::atomic<int> asked = 0, judged = 0, most = 0;
  world.model = [&](const record::Brief& brief, int count) {
    ++asked;
    most = std::max<int>(most, asked - judged);
    auto proposal = model_answer(brief, count);
    proposal->candidates[0].findings.clear();
    return proposal;
  };
  world.judge = [&](size_t task, const record::Candidate& candidate) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++judged;
    return played_judge(task, candidate);
  };
  auto parts = parts_of(lock, *archive, world);
  parts.compile = [](size_t, record::Candidate& candidate) {
    candidate.ptx = "right";
    return base::Findings();
  };
  lock.spec.arms.resize(1);
  EXPECT_TRUE(run_bench(lock, run.id, parts, {2, {}}).whole);
  EXPECT_EQ(judged, 200);
  EXPECT_LE(most, 2 * 2 + 8 + 3 + 2);
}

TEST_F(Bench, AMachineInTroubleEndsTheRun) {
  Lock lock = lock_of(1, 100, 1);
  World world;
  world.judge = [](size_t, const record::Candidate&) {
    record::Verdict verdict;
    verdict.outcome = record::OutcomeName::infrastructure;
    verdict.reason = "no space left";
    return verdict;
  };
  auto result = go(lock, world, 1);
  EXPECT_TRUE(result.failed);
  EXPECT_FALSE(result.whole);
  EXPECT_LE(archive->attempts({.run = run.id, .outcome = "infrastructure", .limit = 1000})->size(),
            static_cast<size_t>(kMachineTrouble) + 2);
  EXPECT_TRUE(std::any_of(result.findings.begin(), result.findings.end(), [](const auto& f) {
    return f.code == "BENCH0013" && f.message.find("no space left") != std::string::npos;
  }));
}

TEST_F(Bench, CudaIsCompiledAndWhatDoesNotIsMalformed) {
  Lock lock = lock_of(1, 2, 1);
  World world;
  world.rules = [](const record::Brief&, int) -> base::Result<record::Proposer::Proposal> {
    record::Proposer::Proposal proposal;
    for (const char* cuda : {"__global__ void k() {}", "broken"}) {
      auto candidate = candidate_of("");
      candidate.cuda = cuda;
      proposal.candidates.push_back(candidate);
    }
    return proposal;
  };
  EXPECT_TRUE(go(lock, world).whole);
  std::vector<record::Attempt> attempts;
  for (const auto& row : rows_of(archive->answers(run.id))) {
    if (row.cell.arm == "rules") attempts.push_back(*archive->attempt(*row.attempt));
  }
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].verdict.outcome, record::OutcomeName::unverified);
  EXPECT_EQ(attempts[0].candidate.ptx, "right __global__ void k() {}");
  EXPECT_EQ(attempts[1].verdict.outcome, record::OutcomeName::malformed);
  EXPECT_EQ(attempts[1].verdict.gate(record::GateName::check).findings.at(0).code, "CUC0002");
  EXPECT_EQ(attempts[1].candidate.cuda, "broken");
}

TEST_F(Bench, AnArchiveThatCannotBeWrittenEndsTheRunAndSaysWhy) {
  Lock lock = lock_of(1, 2, 1);
  World world;
  auto result = run_bench(lock, "no such run", parts_of(lock, *archive, world), {2, {}});
  EXPECT_TRUE(result.failed);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings.front().code, "ARC0003");
}

TEST_F(Bench, AsManyAreAskedAndJudgedAtOnceAsAllowed) {
  Lock lock = lock_of(1, 8, 1);
  World world;
  std::atomic<int> asking = 0, judging = 0, most_asking = 0, most_judging = 0;
  const auto within = [](std::atomic<int>& now, std::atomic<int>& most) {
    int reached = ++now;
    for (int seen = most; reached > seen && !most.compare_exchange_weak(seen, reached);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    --now;
  };
  world.model = [&](const record::Brief& brief, int count) {
    within(asking, most_asking);
    return model_answer(brief, count);
  };
  world.judge = [&](size_t task, const record::Candidate& candidate) {
    within(judging, most_judging);
    return played_judge(task, candidate);
  };
  EXPECT_TRUE(go(lock, world, 2).whole);
  EXPECT_EQ(most_asking, 3);
  EXPECT_EQ(most_judging, 2);
}

// The candidates of a run, judged again by another judge: nobody is asked, every turn is there, and CUDA C is compiled anew.
TEST_F(Bench, JudgedAgainTheSameCandidatesGetOtherVerdicts) {
  Lock lock = lock_of(2, 4, 3);
  World world;
  ASSERT_TRUE(go(lock, world).whole);
  archive::Run again;
  ASSERT_TRUE(archive->add_bench(again, "{}", run.id).empty());
  std::atomic<int> asked = 0;
  World other;
  other.model = other.rules = [&](const record::Brief& brief, int count) {
    ++asked;
    return model_answer(brief, count);
  };
  other.judge = [](size_t task, const record::Candidate& candidate) {
    auto verdict = played_judge(task, candidate);
    verdict.outcome = record::OutcomeName::slower;
    return verdict;
  };
  Lock relock = lock_of(2, 4, 3, Stop::turns);
  auto parts = rejudge_parts(*archive, run.id, parts_of(relock, *archive, other));
  ASSERT_TRUE(parts.ok());
  auto result = run_bench(relock, again.id, *parts, {2, {}});
  EXPECT_TRUE(result.whole) << base::render(result.findings, "");
  EXPECT_EQ(asked, 0);
  auto before = rows_of(archive->answers(run.id)), after = rows_of(archive->answers(again.id));
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].cell, after[i].cell);
    EXPECT_EQ(before[i].attempt.has_value(), after[i].attempt.has_value());
    if (!after[i].attempt) continue;
    auto old = *archive->attempt(*before[i].attempt), now = *archive->attempt(*after[i].attempt);
    EXPECT_EQ(old.candidate.ptx, now.candidate.ptx);
    EXPECT_EQ(old.candidate.cuda, now.candidate.cuda);
    EXPECT_EQ(now.verdict.outcome,
              old.candidate.ptx.empty() ? record::OutcomeName::malformed : record::OutcomeName::slower);
  }
  EXPECT_EQ(*archive->interrupted(again.id), 0);
  // And once more there is nothing to do.
  EXPECT_EQ(run_bench(relock, again.id, *parts, {2, {}}).judged, 0);
}

}  // namespace
}  // namespace ptxlab::loop
