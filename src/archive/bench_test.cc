#include "archive/bench.h"

#include <gtest/gtest.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "archive/sole.h"
#include "base/file.h"

namespace ptxlab::archive {
namespace {

std::unique_ptr<Archive> must_open(const std::filesystem::path& file) {
  auto archive = Archive::open(file);
  EXPECT_TRUE(archive.ok()) << base::render(archive.findings(), "");
  return archive.ok() ? std::move(*archive) : nullptr;
}

Answer answer_of(Cell cell, std::string ptx) {
  Answer answer;
  answer.cell = std::move(cell);
  answer.seconds = 1.5;
  answer.brief_json = "{\"seed\": 7}";
  answer.usage = record::Usage{.requests = 2, .asked = 300, .answered = 40, .reasoning = 10, .dollars = 0.25};
  answer.note = "one of two";
  answer.findings = {{"LLM0006", base::Severity::warning, {}, "unencrypted", "", {}}};
  record::Candidate candidate;
  candidate.ptx = std::move(ptx);
  candidate.cuda = "__global__ void k();";
  candidate.name = "s1t1";
  candidate.prompt = "Make it faster.";
  candidate.answer = "No \xff.";
  answer.candidate = candidate;
  return answer;
}

record::Attempt attempt_of(const std::string& run, const Answer& answer) {
  record::Attempt attempt;
  attempt.run = run;
  attempt.task = answer.cell.task;
  attempt.candidate = *answer.candidate;
  attempt.brief_json = answer.brief_json;
  attempt.verdict.outcome = record::OutcomeName::wrong;
  return attempt;
}

class BenchRows : public ::testing::Test {
 protected:
  void SetUp() override {
    archive = must_open(folder.path() / "archive.db");
    run.command = "ptxlab bench x.toml";
    ASSERT_TRUE(archive->add_bench(run, "{\"schema\": \"ptxlab.lock/1\"}").empty());
  }
  base::Findings add(Answer& answer) {
    std::vector<Answer> one = {answer};
    auto findings = archive->add_answers(run.id, one);
    answer = one.front();
    return findings;
  }
  base::TemporaryFolder folder{"bench-rows"};
  std::unique_ptr<Archive> archive;
  archive::Run run;
};

TEST_F(BenchRows, AnAnswerComesBackWholeAndItsAttemptBesideIt) {
  auto answer = answer_of({"model", "norm/x", 2, 1}, "// ptx");
  ASSERT_TRUE(add(answer).empty());
  auto list = archive->answers(run.id);
  ASSERT_TRUE(list.ok()) << base::render(list.findings(), "");
  ASSERT_EQ(list->size(), 1u);
  EXPECT_FALSE(list->front().attempt);
  EXPECT_EQ(list->front().cell, answer.cell);
  auto waiting = archive->answer(answer.id);
  ASSERT_TRUE(waiting.ok()) << base::render(waiting.findings(), "");
  EXPECT_EQ(waiting->candidate->ptx, "// ptx");
  EXPECT_EQ(waiting->candidate->cuda, "__global__ void k();");
  EXPECT_EQ(waiting->candidate->answer, "No \xff.");
  EXPECT_EQ(waiting->brief_json, answer.brief_json);
  EXPECT_EQ(waiting->usage->reasoning, 10);
  EXPECT_EQ(waiting->usage->cost(), 0.25);
  EXPECT_EQ(waiting->findings.at(0).code, "LLM0006");
  auto attempt = attempt_of(run.id, answer);
  ASSERT_TRUE(archive->add_judged(answer, attempt, 0.5).ok());
  auto done = archive->answers(run.id);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->front().attempt, attempt.id);
  EXPECT_EQ(done->front().judge_seconds, 0.5);
  EXPECT_FALSE(done->front().candidate);
  auto back = archive->attempt(attempt.id);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->candidate.cuda, "__global__ void k();");
  EXPECT_EQ(archive->attempt(attempt.id, false)->candidate.prompt, "");
}

TEST_F(BenchRows, ACellHasOneAnswerAndAnAnswerOneAttempt) {
  auto answer = answer_of({"model", "norm/x", 1, 1}, "// a"), again = answer_of({"model", "norm/x", 1, 1}, "// b");
  ASSERT_TRUE(add(answer).empty());
  EXPECT_EQ(add(again).at(0).code, "ARC0003");
  auto attempt = attempt_of(run.id, answer), second = attempt;
  ASSERT_TRUE(archive->add_judged(answer, attempt, 1).ok());
  EXPECT_FALSE(archive->add_judged(answer, second, 1).ok());
  // Several go in together or not at all.
  std::vector<Answer> several = {answer_of({"model", "norm/x", 2, 1}, "// c"), again};
  EXPECT_EQ(archive->add_answers(run.id, several).at(0).code, "ARC0003");
  EXPECT_EQ(archive->answers(run.id)->size(), 1u);
  // The refused one's attempt went with it.
  EXPECT_EQ(archive->attempts({.run = run.id})->size(), 1u);
}

TEST_F(BenchRows, QuestionsWithoutAnAnswerAreCounted) {
  Cell first{"model", "norm/x", 1, 1}, second{"model", "norm/x", 2, 1};
  ASSERT_TRUE(archive->add_question(run.id, first).empty());
  ASSERT_TRUE(archive->add_question(run.id, second).empty());
  EXPECT_EQ(*archive->interrupted(run.id), 2);
  auto answer = answer_of(first, "// a");
  answer.usage.reset();
  ASSERT_TRUE(add(answer).empty());
  // One that needs no question counts for none.
  auto unasked = answer_of({"rules", "norm/x", 1, 1}, "// a");
  ASSERT_TRUE(add(unasked).empty());
  EXPECT_EQ(*archive->interrupted(run.id), 1);
  base::Findings trouble = {{"LLM0010", base::Severity::error, {}, "no answer", "", {}}};
  ASSERT_TRUE(archive->add_unanswered(run.id, {second, {}, std::nullopt, trouble}).empty());
  EXPECT_EQ(*archive->interrupted(run.id), 0);
  auto rows = archive->unanswered(run.id);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().cell, second);
  EXPECT_EQ(rows->front().findings.at(0).code, "LLM0010");
  // Answered at a later try: no longer among them.
  auto late = answer_of(second, "// b");
  ASSERT_TRUE(add(late).empty());
  EXPECT_TRUE(archive->unanswered(run.id)->empty());
}

TEST_F(BenchRows, ARunIsFoundByItsBeginningOrAsTheLast) {
  EXPECT_EQ(archive->run("last")->id, run.id);
  EXPECT_EQ(archive->run(run.id.substr(0, 15))->id, run.id);
  EXPECT_EQ(archive->run("1999").findings().at(0).code, "ARC0007");
  EXPECT_EQ(archive->bench("last")->lock, "{\"schema\": \"ptxlab.lock/1\"}");
  archive::Run plain;
  ASSERT_TRUE(archive->add_run(plain).empty());
  EXPECT_EQ(archive->run("2").findings().at(0).code, "ARC0007");  // two begin so
  EXPECT_EQ(archive->bench(plain.id).findings().at(0).code, "ARC0008");
  ASSERT_EQ(archive->benches()->size(), 1u);
}

TEST_F(BenchRows, WhatIsJudgedOnceMoreCountsAndTheFirstStays) {
  auto answer = answer_of({"model", "t", 1, 1}, "a");
  ASSERT_TRUE(add(answer).empty());
  auto first = attempt_of(run.id, answer);
  first.verdict.outcome = record::OutcomeName::infrastructure;
  ASSERT_TRUE(archive->add_judged(answer, first, 2).ok());
  auto row = archive->answers(run.id)->at(0);
  EXPECT_EQ(row.attempt, first.id);
  EXPECT_TRUE(row.machine_trouble());
  auto second = attempt_of(run.id, answer);
  ASSERT_TRUE(archive->add_judged(row, second, 3).ok());
  row = *archive->answer(answer.id);
  EXPECT_EQ(row.attempt, second.id);
  EXPECT_FALSE(row.machine_trouble());
  EXPECT_EQ(row.judge_seconds, 5);
  EXPECT_TRUE(archive->attempt(first.id).ok());
}

TEST_F(BenchRows, ARunRemembersUnderWhichLocksItWentOn) {
  EXPECT_EQ(archive->bench(run.id)->lock_now(), archive->bench(run.id)->lock);
  auto answer = answer_of({"model", "t", 1, 1}, "a");
  ASSERT_TRUE(add(answer).empty());
  auto attempt = attempt_of(run.id, answer);
  ASSERT_TRUE(archive->add_judged(answer, attempt, 1).ok());
  ASSERT_TRUE(archive->add_continued(run.id, "second").empty());
  ASSERT_TRUE(archive->add_continued(run.id, "third").empty());
  auto bench = *archive->bench(run.id);
  EXPECT_EQ(bench.lock, "{\"schema\": \"ptxlab.lock/1\"}");
  ASSERT_EQ(bench.continued.size(), 2u);
  EXPECT_EQ(bench.continued[0].after, attempt.id);
  EXPECT_EQ(bench.lock_now(), "third");
}

// A clock that is set back makes no run the newest that is not.
TEST_F(BenchRows, TheLastRunIsTheLastThatBegan) {
  {
    SQLite::Database raw((folder.path() / "archive.db").string(), SQLite::OPEN_READWRITE);
    raw.exec(
        "INSERT INTO run VALUES ('20990101T000000-00000001', 4070908800000, 'of tomorrow', 't', 'sm_80', 'rules', "
        "'1')");
    raw.exec("INSERT INTO began(run) VALUES ('20990101T000000-00000001')");
    raw.exec(
        "INSERT INTO run VALUES ('20980101T000000-00000001', 4039372800000, 'older than the order', 't', 'sm_80', "
        "'rules', '1')");
  }
  archive::Run later;
  ASSERT_TRUE(archive->add_bench(later, "{}").empty());
  EXPECT_EQ(archive->run("last")->id, later.id);
  EXPECT_EQ(archive->benches()->front().run.id, later.id);
  auto runs = *archive->runs();
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].command, "of tomorrow");
  EXPECT_EQ(runs[2].id, run.id);
  EXPECT_EQ(runs[3].command, "older than the order");
}

TEST_F(BenchRows, OneIsAtWorkByWhateverNameTheArchiveIsCalled) {
  const auto file = folder.path() / "archive.db", link = folder.path() / "link.db";
  std::filesystem::create_symlink(file, link);
  {
    auto first = Sole::take(file);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(Sole::take(link).findings().at(0).code, "ARC0009");
    EXPECT_EQ(Sole::take(folder.path() / "." / "archive.db").findings().at(0).code, "ARC0009");
  }
  EXPECT_TRUE(Sole::take(link).ok());
}

TEST_F(BenchRows, OnlyGrow) {
  auto answer = answer_of({"model", "norm/x", 1, 1}, "// a");
  ASSERT_TRUE(archive->add_question(run.id, answer.cell).empty());
  ASSERT_TRUE(add(answer).empty());
  ASSERT_TRUE(archive->add_unanswered(run.id, {answer.cell, {}, std::nullopt, {}}).empty());
  auto attempt = attempt_of(run.id, answer);
  ASSERT_TRUE(archive->add_judged(answer, attempt, 1).ok());
  answer.attempt = attempt.id;
  ASSERT_TRUE(archive->add_judged(answer, attempt, 1).ok());
  ASSERT_TRUE(archive->add_continued(run.id, "{}").empty());
  SQLite::Database raw((folder.path() / "archive.db").string(), SQLite::OPEN_READWRITE);
  for (const char* table :
       {"bench", "question", "answer", "unanswered", "judged", "judged_again", "continued", "began"}) {
    EXPECT_THROW(raw.exec(std::string("DELETE FROM ") + table), SQLite::Exception) << table;
    const char* column = std::string_view(table) == "bench"              ? "lock"
                         : std::string_view(table) == "began"            ? "run"
                         : std::string_view(table).starts_with("judged") ? "seconds"
                                                                         : "at_ms";
    EXPECT_THROW(raw.exec(std::string("UPDATE ") + table + " SET " + column + " = 0"), SQLite::Exception) << table;
  }
}

}  // namespace
}  // namespace ptxlab::archive
