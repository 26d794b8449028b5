#include "report/run_text.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "report/made_run.h"

namespace ptxlab::report {
namespace {

struct RunText : ::testing::Test {
  MadeRun made{3000, std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks"};
  std::string text() const { return run_text(made.run, compute(made.run, {.draws = 50})); }
};

TEST_F(RunText, EveryFigureHasItsIntervalAndSourcesStandApart) {
  const std::string out = text();
  const std::string head = out.substr(out.find("arm "), out.find('\n', out.find("arm ")) - out.find("arm "));
  for (const char* title :
       {"tasks x samples", "right, pass@1", "right, pass@8", "assembles, pass@1", "fast_1@8 measured",
        "best of 8 measured", "fast_1@8 estimated", "best of 8 estimated", "cost a success"})
    EXPECT_NE(head.find(title), std::string::npos) << title << "\n" << head;
  EXPECT_NE(out.find(" to "), std::string::npos);
  EXPECT_NE(out.find("(in parentheses: 95 % intervals"), std::string::npos);
  EXPECT_NE(out.find("an access out of bounds"), std::string::npos) << "what went wrong";
  EXPECT_NE(out.find("norm/rmsnorm_bf16"), std::string::npos) << "by task";
}

TEST_F(RunText, ASpeedUpSaysWhichBaselineItIsAgainst) {
  const std::string out = text();
  EXPECT_NE(out.find("measured speed-ups are against the strongest baseline: baseline.ptx at "), std::string::npos)
      << out;
  EXPECT_NE(out.find("over the first baseline"), std::string::npos);
  EXPECT_NE(out.find(" triton.ptx "), std::string::npos);
  for (auto& sample : made.run.samples)
    for (auto& turn : sample.turns) turn.measured_over_first.reset();
  EXPECT_EQ(text().find("over the first baseline"), std::string::npos) << "where there is one alone, nobody asks";
}

TEST_F(RunText, WithoutAGpuNothingIsCalledMeasured) {
  made.run.device.clear();
  for (auto& sample : made.run.samples)
    for (auto& turn : sample.turns) turn.measured.reset();
  const std::string out = text();
  EXPECT_NE(out.find("no GPU: nothing was measured"), std::string::npos);
  EXPECT_EQ(out.find("best of 8 measured"), std::string::npos);
  EXPECT_NE(out.find("best of 8 estimated"), std::string::npos);
}

TEST_F(RunText, APriceThatIsNotKnownIsNeverGuessed) {
  for (auto& sample : made.run.samples)
    for (auto& turn : sample.turns) turn.use.usd.reset();
  const std::string out = text();
  EXPECT_NE(out.find("price unknown"), std::string::npos);
  EXPECT_EQ(out.find('$'), std::string::npos);
}

TEST_F(RunText, NamesCannotActOnTheTerminal) {
  made.run.arms[0].name = "rules\x1b[2J";
  made.run.name = "run\x07";
  const std::string out = text();
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_EQ(out.find('\x07'), std::string::npos);
  EXPECT_NE(out.find("rules\\x1b[2J"), std::string::npos);
}

TEST(RunTextOfNothing, IsSaidAsWell) {
  RunData run;
  run.id = "20261130T000000-00000000";
  run.arms.emplace_back().name = "none";
  run.tasks.emplace_back().name = "a/b";
  run.bench = true, run.k = 2;
  const auto out = run_text(run, compute(run));
  EXPECT_NE(out.find("a/b"), std::string::npos);
  // Of no sample no share is said, not even a half.
  EXPECT_EQ(out.find("50 %"), std::string::npos) << out;
  EXPECT_EQ(out.find("(0 to 100)"), std::string::npos) << out;
}

// At k a figure is of the tasks that have k samples, and says so where the others have none.
TEST(RunTextOfSome, AFigureOfFewerTasksSaysOfHowMany) {
  RunData run;
  run.id = "20261130T000000-00000000", run.bench = true, run.k = 2, run.whole = false;
  run.arms.push_back({.name = "model", .proposer = "model", .model = true});
  for (const char* name : {"a/a", "a/b", "a/c"}) run.tasks.emplace_back().name = name;
  for (size_t task = 0; task < 3; ++task) {
    for (int number : {1, 2}) {
      Sample sample;
      sample.task = task, sample.number = number;
      sample.turns.emplace_back().right = true;
      if (task == 0 && number == 2) sample.unanswered = "not asked yet";
      run.samples.push_back(sample);
    }
  }
  const auto out = run_text(run, compute(run));
  EXPECT_NE(out.find("3, 5 in all"), std::string::npos) << out;
  const size_t first = out.find("of 2 tasks");
  ASSERT_NE(first, std::string::npos) << out;
  EXPECT_EQ(out.find("of 2 tasks", first + 1), std::string::npos) << "pass@1 is of all three\n" << out;
  EXPECT_NE(out.find("1/1"), std::string::npos) << "what does not count is not counted by task\n" << out;
}

}  // namespace
}  // namespace ptxlab::report
