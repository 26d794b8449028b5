#include "loop/optimise.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "loop/files_proposer.h"
#include "loop/transcript.h"

namespace ptxlab::loop {
namespace {

using record::Candidate;
using record::OutcomeName;
using record::Verdict;

Candidate candidate(std::string name) {
  Candidate c;
  c.ptx = "// " + name;
  c.name = std::move(name);
  c.proposer = "fixed";
  return c;
}

class FixedProposer : public record::Proposer {
 public:
  explicit FixedProposer(std::vector<std::string> names) : names_(std::move(names)) {}
  std::string name() const override { return "fixed"; }
  base::Result<Proposal> propose(const record::Brief&, int count) override {
    Proposal proposal;
    for (const auto& n : names_) {
      if (static_cast<int>(proposal.candidates.size()) < count) proposal.candidates.push_back(candidate(n));
    }
    return proposal;
  }

 private:
  std::vector<std::string> names_;
};

class BrokenProposer : public record::Proposer {
 public:
  std::string name() const override { return "broken"; }
  base::Result<Proposal> propose(const record::Brief&, int) override {
    return base::Finding{"LOOP0001", base::Severity::error, {}, "no answer", "", {}};
  }
};

// Names say how they are judged: "right-1.5" is unverified with that estimate, "measured-1.5" timed, "measured-0.9/2.5" timed
// beside a stronger baseline than the user's kernel too, "wrong" is wrong ...
Verdict judge_by_name(const Candidate& c) {
  Verdict v;
  if (c.name.starts_with("measured")) {
    v.timing.emplace();
    v.timing->device = "H200";
    double speedup = v.timing->speedup = std::stod(c.name.substr(9));
    v.timing->low = speedup - 0.01, v.timing->high = speedup + 0.01;
    if (size_t at = c.name.find('/'); at != c.name.npos) {
      double own = std::stod(c.name.substr(at + 1));
      v.timing->first = {"own.ptx", own, own - 0.01, own + 0.01};
      v.timing->sizes.emplace_back().baseline = "triton.ptx";
    }
    v.outcome = speedup > 1.02 ? OutcomeName::faster : speedup < 0.98 ? OutcomeName::slower : OutcomeName::same;
  } else if (c.name.starts_with("right")) {
    v.outcome = OutcomeName::unverified;
    if (c.name.size() > 6) v.estimated_speedup = std::stod(c.name.substr(6));
  } else {
    v.outcome = c.name == "same" ? OutcomeName::same : OutcomeName::wrong;
  }
  return v;
}

Optimised run_with(std::vector<record::Proposer*> proposers, OptimiseOptions options = {},
                   archive::Archive* archive = nullptr) {
  record::Brief brief;
  brief.task.name = "test";
  return optimise(brief, proposers, judge_by_name, archive, options);
}

TEST(Optimise, AsFastAsYourKernelIsNotAsFastAsTheStrongest) {
  FixedProposer faster({"measured-1.2/2.5"}), slower({"measured-0.9/2.0"});
  auto result = run_with({&faster});
  EXPECT_NE(result.reason.find("was measured 2.500 times as fast as your kernel (2.490 to 2.510)"), std::string::npos)
      << result.reason;
  result = run_with({&slower});
  EXPECT_TRUE(result.original_kept);
  EXPECT_NE(result.reason.find("0.900 times as fast as triton.ptx"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("2.000 times as fast as own.ptx"), std::string::npos) << result.reason;
}

TEST(Optimise, NamesTheBestAndKeepsTheOriginal) {
  FixedProposer proposer({"right-1.2", "wrong", "right-1.8", "right-0.5"});
  auto result = run_with({&proposer});
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.attempts[*result.best].candidate.name, "right-1.8");
  EXPECT_TRUE(result.original_kept);
  EXPECT_EQ(result.ranking.size(), 3u);
  EXPECT_NE(result.reason.find("nothing was measured"), std::string::npos);
}

// Candidates that the estimate cannot tell apart: judged with an uncertainty of 6 %, and each with its steps and code.
class Simplicity : public testing::Test {
 protected:
  struct One {
    std::string name;
    double speedup;
    int steps;
    uint64_t code;
  };
  class Proposer : public record::Proposer {
   public:
    explicit Proposer(const std::vector<One>& ones) : ones_(ones) {}
    std::string name() const override { return "fixed"; }
    base::Result<Proposal> propose(const record::Brief&, int) override {
      Proposal proposal;
      for (const auto& one : ones_) {
        Candidate c;
        c.name = c.ptx = one.name;
        c.steps = one.steps;
        proposal.candidates.push_back(c);
      }
      return proposal;
    }

   private:
    const std::vector<One>& ones_;
  };
  Optimised run(const std::vector<One>& ones) {
    Proposer proposer(ones);
    std::vector<record::Proposer*> proposers{&proposer};
    record::Brief brief;
    brief.task.name = "test";
    auto judge = [&](const Candidate& c) {
      Verdict v;
      v.outcome = OutcomeName::unverified;
      for (const auto& one : ones) {
        if (one.name != c.name) continue;
        v.estimated_speedup = one.speedup;
        v.estimate.emplace().uncertainty = 0.06;
        v.resources.resize(1);
        v.resources[0].code_bytes = one.code;
      }
      return v;
    };
    return optimise(brief, proposers, judge, nullptr, {});
  }
  static std::string order(const Optimised& result) {
    std::string out;
    for (size_t i : result.ranking) out += result.attempts[i].candidate.name + " ";
    return out;
  }
};

TEST_F(Simplicity, FewerStepsComeFirstWhereTheEstimateCannotTell) {
  auto result = run({{"chain", 1.43, 3, 500}, {"wide", 1.40, 1, 900}, {"narrow", 1.39, 1, 700}, {"slow", 1.2, 1, 100}});
  EXPECT_EQ(order(result), "narrow wide chain slow ");
  EXPECT_EQ(result.attempts[*result.best].candidate.name, "narrow");
}

TEST_F(Simplicity, AClearLeadBeatsSimplicity) {
  EXPECT_EQ(order(run({{"plain", 1.40, 1, 100}, {"chain", 1.60, 4, 9000}})), "chain plain ");
}

TEST_F(Simplicity, NothingWithinTheUncertaintyIsBetterThanTheOriginal) {
  auto result = run({{"hardly", 1.05, 1, 100}});
  EXPECT_FALSE(result.best.has_value());
  EXPECT_NE(result.reason.find("uncertainty (6 %)"), std::string::npos) << result.reason;
  EXPECT_TRUE(run({{"enough", 1.07, 1, 100}}).best.has_value());
}

TEST(Optimise, AnEstimateReplacesTheOriginalOnlyWhenAsked) {
  FixedProposer proposer({"right-1.2"});
  OptimiseOptions options;
  options.accept_estimate = true;
  EXPECT_FALSE(run_with({&proposer}, options).original_kept);
  FixedProposer slower({"right-0.9"});
  EXPECT_TRUE(run_with({&slower}, options).original_kept);
}

TEST(Optimise, WhatWasMeasuredFasterReplacesTheOriginal) {
  FixedProposer proposer({"measured-1.1", "right-3.0", "measured-1.4", "measured-0.8", "wrong"});
  auto result = run_with({&proposer});
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.attempts[*result.best].candidate.name, "measured-1.4") << "no estimate beats a measurement";
  EXPECT_FALSE(result.original_kept);
  EXPECT_NE(result.reason.find("measured 1.400 times as fast"), std::string::npos) << result.reason;
  FixedProposer slow({"measured-1.0", "measured-0.8"});
  auto kept = run_with({&slow});
  EXPECT_FALSE(kept.best);
  EXPECT_TRUE(kept.original_kept);
  EXPECT_NE(kept.reason.find("No candidate was measured to be faster"), std::string::npos) << kept.reason;
}

TEST(Optimise, SaysWhyThereIsNoBetterOne) {
  FixedProposer same({"same"});
  EXPECT_NE(run_with({&same}).reason.find("own machine code"), std::string::npos);
  FixedProposer wrong({"wrong"}), slower({"right-0.9"}), unknown({"right"}), none({});
  EXPECT_NE(run_with({&wrong}).reason.find("No candidate was found right (1 wrong)"), std::string::npos);
  EXPECT_NE(run_with({&slower}).reason.find("estimated to be faster"), std::string::npos);
  EXPECT_NE(run_with({&unknown}).reason.find("could be estimated"), std::string::npos);
  EXPECT_NE(run_with({&none}).reason.find("No proposer had a candidate"), std::string::npos);
  for (auto* p : {&wrong, &slower, &unknown, &none}) EXPECT_FALSE(run_with({p}).best.has_value());
}

TEST(Optimise, TakesTurnsAndLeavesCopiesOut) {
  FixedProposer a({"right-1.1", "right-1.2", "right-1.3"}), b({"right-1.1", "right-1.4"});
  OptimiseOptions options;
  options.candidates = 3;
  auto result = run_with({&a, &b}, options);
  ASSERT_EQ(result.attempts.size(), 3u);
  EXPECT_EQ(result.attempts[0].candidate.name, "right-1.1");
  EXPECT_EQ(result.attempts[1].candidate.name, "right-1.2");
  EXPECT_EQ(result.attempts[2].candidate.name, "right-1.4");
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.front().find("copies"), std::string::npos);
}

TEST(Optimise, SaysWhenThereAreFewerThanAsked) {
  FixedProposer a({"right-1.1"});
  auto result = run_with({&a});
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes.front(), "1 of 8 candidates: the proposers had no more");
}

TEST(Optimise, OneBrokenProposerDoesNotStopTheOthers) {
  FixedProposer a({"right-1.1"});
  BrokenProposer broken;
  auto result = run_with({&broken, &a});
  EXPECT_FALSE(result.failed);
  EXPECT_TRUE(result.best.has_value());
  EXPECT_TRUE(base::has_error(result.findings));
  EXPECT_TRUE(run_with({&broken}).failed);
}

TEST(Optimise, EveryAttemptIsArchivedBeforeProgressTellsOfIt) {
  base::TemporaryFolder folder("loop");
  auto archive = archive::Archive::open(folder.path() / "archive.db");
  ASSERT_TRUE(archive.ok());
  FixedProposer a({"right-1.1", "wrong", "right-1.2", "right-1.3"});
  record::Brief brief;
  brief.task.name = "test";
  std::vector<record::Proposer*> proposers{&a};
  OptimiseOptions options;
  options.threads = 2;
  auto result = optimise(brief, proposers, judge_by_name, archive->get(), options,
                         [&](size_t done, size_t total, const record::Attempt& attempt) {
                           auto rows = (*archive)->attempts({});
                           ASSERT_TRUE(rows.ok());
                           EXPECT_EQ(rows->size(), done);
                           EXPECT_EQ(total, 4u);
                           EXPECT_GT(attempt.id, 0);
                         });
  EXPECT_EQ(result.attempts.size(), 4u);
  EXPECT_FALSE(result.run.id.empty());
}

// RLIMIT_FSIZE plays the disk that is full from the second attempt on, in a process of its own.
TEST(Optimise, AnArchiveThatFailsStopsTheRunAndKeepsTheOriginal) {
  base::TemporaryFolder folder("loop");
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto archive = archive::Archive::open(folder.path() / "archive.db");
    if (!archive.ok()) _exit(10);
    FixedProposer a({"right-1.1", "right-1.2", "right-1.3"});
    record::Brief brief;
    std::vector<record::Proposer*> proposers{&a};
    OptimiseOptions options;
    options.threads = 1;
    options.accept_estimate = true;
    int judged = 0;
    auto judge = [&](const Candidate& c) {
      rlimit none{1, 1};
      if (++judged == 2) setrlimit(RLIMIT_FSIZE, &none);
      return judge_by_name(c);
    };
    auto result = optimise(brief, proposers, judge, archive->get(), options);
    bool as_wanted = result.failed && result.original_kept && judged == 2 && result.attempts.size() == 1 &&
                     !result.best && base::has_error(result.findings);
    _exit(as_wanted ? 0 : 11);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto archive = archive::Archive::open(folder.path() / "archive.db");
  ASSERT_TRUE(archive.ok());
  auto rows = (*archive)->attempts({});
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().name, "right-1.1");
}

// Answers each call with the next of its lists; a name "nothing" is an answer without a candidate. Remembers what it was told.
class LearningProposer : public record::Proposer {
 public:
  explicit LearningProposer(std::vector<std::vector<std::string>> turns) : turns_(std::move(turns)) {}
  std::string name() const override { return "learning"; }
  bool learns() const override { return true; }
  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    counts.push_back(count);
    briefs.push_back(brief);
    Proposal proposal;
    if (counts.size() > turns_.size()) return proposal;
    for (const auto& n : turns_[counts.size() - 1]) {
      if (static_cast<int>(proposal.candidates.size()) == count) break;
      proposal.candidates.push_back(candidate(n));
      if (n != "nothing") continue;
      auto& last = proposal.candidates.back();
      last.ptx.clear();
      last.prompt = "the question";
      last.answer = "no code";
      last.findings = {{"LLM0020", base::Severity::error, {}, "the answer holds no block of PTX", "", {}}};
    }
    proposal.usage = record::Usage{2, 30, 4, false};
    proposal.exchanges.push_back({"asked \xff", "answered", {{200, "the server answered", {}, {}}}});
    return proposal;
  }
  std::vector<int> counts;
  std::vector<record::Brief> briefs;

 private:
  std::vector<std::vector<std::string>> turns_;
};

TEST(Turns, WhatWasFoundGoesIntoTheNextBrief) {
  LearningProposer proposer({{"wrong", "nothing"}, {"right-1.2", "wrong", "right-1.3"}});
  OptimiseOptions options;
  options.candidates = 5;
  options.turns = 2;
  auto result = run_with({&proposer}, options);
  EXPECT_EQ(proposer.counts, (std::vector<int>{2, 3}));
  ASSERT_EQ(result.attempts.size(), 4u);  // the second "wrong" is a copy
  EXPECT_EQ(result.attempts[1].verdict.outcome, OutcomeName::malformed);
  EXPECT_EQ(result.attempts[1].verdict.reason, "the answer holds no block of PTX");
  EXPECT_EQ(result.attempts[1].verdict.gate(record::GateName::check).findings.front().code, "LLM0020");
  EXPECT_EQ(result.attempts[*result.best].candidate.name, "right-1.3");
  EXPECT_TRUE(proposer.briefs[0].earlier.empty());
  ASSERT_EQ(proposer.briefs[1].earlier.size(), 2u);
  EXPECT_EQ(proposer.briefs[1].earlier[0].verdict.outcome, OutcomeName::wrong);
  EXPECT_EQ(proposer.briefs[1].earlier[1].candidate.answer, "no code");
  EXPECT_EQ(proposer.briefs[1].earlier[1].candidate.prompt, "");
  ASSERT_EQ(result.used.size(), 1u);
  EXPECT_EQ(result.used[0].usage.requests, 4);
  EXPECT_EQ(result.used[0].usage.asked, 60);
}

TEST(Turns, OthersAreAskedOnceAndFillWhatIsLeftOver) {
  LearningProposer learning({{"right-2.1"}, {"right-2.2"}, {}});
  FixedProposer fixed({"right-1.1", "right-1.2", "right-1.3", "right-1.4", "right-1.5", "right-1.6", "right-1.7"});
  OptimiseOptions options;
  options.candidates = 6;
  options.turns = 3;
  auto result = run_with({&fixed, &learning}, options);
  EXPECT_EQ(learning.counts, (std::vector<int>{1, 1, 1}));
  std::vector<std::string> names;
  for (const auto& attempt : result.attempts) names.push_back(attempt.candidate.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"right-1.1", "right-2.1", "right-1.2", "right-1.3", "right-2.2", "right-1.4"}));
  EXPECT_EQ(learning.briefs[2].earlier.size(), 5u);
}

TEST(Turns, FewCandidatesAreJudgedAtOnce) {
  for (int candidates = 1; candidates < 5; ++candidates) {
    LearningProposer proposer({{"right-1.1", "right-1.2"}, {"right-1.3", "right-1.4"}, {"right-1.5", "right-1.6"}});
    OptimiseOptions options;
    options.candidates = candidates;
    options.turns = 3;
    auto result = run_with({&proposer}, options);
    EXPECT_EQ(result.attempts.size(), static_cast<size_t>(candidates));
    EXPECT_FALSE(result.failed);
    int asked = 0;
    for (int count : proposer.counts) asked += count;
    EXPECT_EQ(asked, candidates);
  }
}

TEST(Turns, ALearnerThatFailsIsNotAskedAgain) {
  class Failing : public LearningProposer {
   public:
    Failing() : LearningProposer({}) {}
    base::Result<Proposal> propose(const record::Brief& brief, int count) override {
      (void)LearningProposer::propose(brief, count);
      Proposal proposal;
      proposal.findings = {{"LLM0010", base::Severity::error, {}, "no connection", "", {}}};
      return proposal;
    }
  } failing;
  FixedProposer fixed({"right-1.1", "right-1.2", "right-1.3", "right-1.4"});
  OptimiseOptions options;
  options.candidates = 4;
  options.turns = 3;
  auto result = run_with({&failing, &fixed}, options);
  EXPECT_EQ(failing.counts.size(), 1u);
  EXPECT_EQ(result.attempts.size(), 4u);
  EXPECT_FALSE(result.failed);
  EXPECT_TRUE(run_with({&failing}, options).failed);
}

TEST(FilesProposer, ReadsCandidatesWithTheirPlans) {
  base::TemporaryFolder folder("files");
  ASSERT_TRUE(base::write_file(folder.path() / "b.ptx", "// b").empty());
  ASSERT_TRUE(base::write_file(folder.path() / "a.ptx", "// a").empty());
  ASSERT_TRUE(base::write_file(folder.path() / "a.plan.toml", "schema = 1").empty());
  ASSERT_TRUE(base::write_file(folder.path() / "notes.txt", "x").empty());
  auto proposer = make_files_proposer(folder.path());
  auto proposal = proposer->propose({}, 8);
  ASSERT_TRUE(proposal.ok());
  ASSERT_EQ(proposal->candidates.size(), 2u);
  EXPECT_EQ(proposal->candidates[0].name, "a");
  EXPECT_EQ(proposal->candidates[0].plan, "schema = 1");
  EXPECT_FALSE(proposal->candidates[1].plan.has_value());
  auto fewer = proposer->propose({}, 1);
  ASSERT_TRUE(fewer.ok());
  EXPECT_EQ(fewer->candidates.size(), 1u);
  EXPECT_NE(fewer->note.find("1 of 2 files"), std::string::npos);
  EXPECT_FALSE(make_files_proposer(folder.path() / "missing")->propose({}, 1).ok());
}

TEST(Transcript, ReplaysWhatWasRecorded) {
  base::TemporaryFolder folder("transcript");
  record::Brief brief;
  brief.task.name = "test";
  {
    auto recording =
        make_recording_proposer(std::make_unique<FixedProposer>(std::vector<std::string>{"x", "y"}), folder.path());
    ASSERT_TRUE(recording->propose(brief, 2).ok());
    ASSERT_TRUE(recording->propose(brief, 1).ok());
  }
  auto proposers = make_replay_proposers(folder.path());
  ASSERT_EQ(proposers.size(), 1u);
  auto& replay = proposers.front();
  auto first = replay->propose(brief, 2);
  ASSERT_TRUE(first.ok()) << base::render(first.findings(), "");
  ASSERT_EQ(first->candidates.size(), 2u);
  EXPECT_EQ(first->candidates[1].ptx, "// y");
  EXPECT_EQ(first->candidates[1].proposer, "fixed");
  EXPECT_TRUE(first->findings.empty());
  brief.baseline_ptx = "changed";
  auto second = replay->propose(brief, 2);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->candidates.size(), 1u);
  ASSERT_EQ(second->findings.size(), 1u);
  EXPECT_EQ(second->findings.front().code, "LOOP0003");
  auto third = replay->propose(brief, 2);
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(third->candidates.empty());
  EXPECT_FALSE(third->note.empty());
}

TEST(Transcript, SeveralProposersAreReplayedAsTheyTookTurns) {
  base::TemporaryFolder folder("transcript");
  OptimiseOptions options;
  options.candidates = 5;
  options.turns = 2;
  auto names = [](const Optimised& result) {
    std::string all;
    for (const auto& attempt : result.attempts) {
      all += attempt.candidate.name + "/" + attempt.candidate.answer + "/" +
             std::string(record::name_of(attempt.verdict.outcome)) + " ";
    }
    return all;
  };
  auto learning =
      std::make_unique<LearningProposer>(std::vector<std::vector<std::string>>{{"nothing"}, {"right-1.5", "wrong"}});
  auto fixed = std::make_unique<FixedProposer>(std::vector<std::string>{"right-1.1", "right-1.2", "right-1.3"});
  auto first = make_recording_proposer(std::move(fixed), folder.path());
  auto second = make_recording_proposer(std::move(learning), folder.path());
  auto recorded = run_with({first.get(), second.get()}, options);
  auto proposers = make_replay_proposers(folder.path());
  ASSERT_EQ(proposers.size(), 2u);
  auto replayed = run_with({proposers[0].get(), proposers[1].get()}, options);
  EXPECT_EQ(names(replayed), names(recorded));
  EXPECT_TRUE(replayed.findings.empty()) << base::render(replayed.findings, "");
  // What went over the wire is kept as it was, bytes that are not UTF-8 included.
  auto text = base::read_file(folder.path() / "0002-learning.json");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("\"base64\": \"YXNrZWQg/w==\""), std::string::npos) << *text;
  EXPECT_NE(text->find("\"tokens_asked\": 30"), std::string::npos);
}

TEST(Transcript, ARefusalIsRecordedToo) {
  base::TemporaryFolder folder("transcript");
  auto recording = make_recording_proposer(std::make_unique<BrokenProposer>(), folder.path());
  (void)recording->propose({}, 1);
  auto again = make_replay_proposers(folder.path()).front()->propose({}, 1);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->findings.front().code, "LOOP0001");
  EXPECT_TRUE(again->candidates.empty());
}

TEST(Transcript, DamagedFilesAreFindings) {
  base::TemporaryFolder folder("transcript");
  EXPECT_EQ(make_replay_proposers(folder.path()).front()->propose({}, 1).findings().front().code, "LOOP0002");
  for (const char* text : {"{", "[]", "{\"schema\":\"ptxlab.transcript/1\"}", "{\"schema\":\"x\",\"candidates\":[]}"}) {
    ASSERT_TRUE(base::write_file(folder.path() / "0001-x.json", text).empty());
    auto proposal = make_replay_proposers(folder.path()).front()->propose({}, 1);
    ASSERT_FALSE(proposal.ok()) << text;
    EXPECT_EQ(proposal.findings().front().code, "LOOP0002");
  }
}

}  // namespace
}  // namespace ptxlab::loop
