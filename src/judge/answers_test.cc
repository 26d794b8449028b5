// What a user's own kernel does is granted to candidates; what a task of the repository does wrong stops it.
#include "judge/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/file.h"
#include "judge/fake_engine.h"

namespace ptxlab::judge {
namespace {

constexpr const char* kTask = R"(schema = "ptxlab.task/1"
name = "inc"
targets = ["sm_80"]
params = ["n"]
arg = [
  { name = "x", kind = "in", type = "f32", shape = ["n"], fill = ["normal"], special = ["inf"] },
  { name = "y", kind = "out", type = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", type = "u32", value = "n" },
]
[sizes]
emulate = [{ n = 33 }, { n = 300 }]
[tolerance.y]
kind = "float"
accumulate = "f32"
terms = "2"
)";

std::string kernel(const std::string& entry) {
  return ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry " + entry +
         "(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n  ret;\n}\n";
}

// x + 1 in double precision.
class Plus : public task::Oracle {
 public:
  std::string describe() const override { return "x + 1"; }
  base::Result<std::vector<task::Expected>> expected(const task::CaseData& data, std::string_view,
                                                     std::span<const uint64_t> indices) override {
    std::vector<task::Expected> all;
    uint64_t count = indices.empty() ? data.inputs[0].size() / 4 : indices.size();
    for (uint64_t i = 0; i < count; ++i) {
      double x = task::element(data.inputs[0], isa::Type::f32, indices.empty() ? i : indices[i]);
      task::Expected one;
      one.value = x + 1;
      one.magnitude = std::isfinite(x) ? std::fabs(x) + 1 : 0;
      all.push_back(one);
    }
    return all;
  }
};

struct Answers : ::testing::Test {
  base::TemporaryFolder folder{"ptxlab-answers-test"};
  task::Task task;

  base::Result<PreparedTask> prepare_with(const std::string& entry, bool reference = true) {
    std::ofstream(folder.path() / "inc.ptx") << kernel(entry);
    std::ofstream(folder.path() / "inc.plan.toml")
        << "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"" + entry +
               "\"\ngrid = [\"ceildiv(n, 128)\"]\nblock = [\"128\"]\nargs = [\"x\", \"y\", \"n\"]\n";
    std::ofstream(folder.path() / "inc.reference.cc") << "// stands for the one in this test\n";
    auto read = task::read_task_text(kTask, folder.path() / "inc.task.toml");
    EXPECT_TRUE(read) << base::render(read.findings(), kTask);
    task = *read;
    if (!reference) {
      task.reference.reset();
      task.tolerances["y"].kind = task::Tolerance::Kind::exact;
    }
    auto baseline = read_baseline(task, {80, 0}, {});
    EXPECT_TRUE(baseline);
    PrepareOptions options;
    options.engine = [] { return std::make_unique<FakeEngine>(); };
    options.reference = [](const task::Task&) -> base::Result<std::unique_ptr<task::Oracle>> {
      return std::unique_ptr<task::Oracle>(std::make_unique<Plus>());
    };
    task.user = user;
    return prepare(task, *baseline, options);
  }
  bool user = true;
};

TEST_F(Answers, AnExactKernelIsGrantedNothing) {
  auto prepared = prepare_with("f_right");
  ASSERT_TRUE(prepared) << base::render(prepared.findings(), "");
  EXPECT_EQ(prepared->oracle, "x + 1");
  EXPECT_EQ(prepared->task.tolerances["y"].granted, 1);
  EXPECT_TRUE(prepared->findings.empty());
  EXPECT_GT(prepared->cases.size(), 2u);
  for (const auto& one : prepared->cases) {
    ASSERT_EQ(one.answers.size(), 1u);
    EXPECT_EQ(one.answers[0].expected.size(), one.data.inputs[0].size() / 4);
    EXPECT_TRUE(one.answers[0].indices.empty());
    EXPECT_GT(one.baseline_instructions, 0u);
  }
}

TEST_F(Answers, AnInexactUsersKernelIsGrantedTwiceItsErrorAndToldSo) {
  auto prepared = prepare_with("f_rough");
  ASSERT_TRUE(prepared) << base::render(prepared.findings(), "");
  double granted = prepared->task.tolerances["y"].granted;
  EXPECT_GT(granted, 2);
  ASSERT_FALSE(prepared->findings.empty());
  EXPECT_EQ(prepared->findings[0].code, "JDG0012");
  // The kernel itself passes by what it was granted.
  FakeEngine engine;
  auto module = ptx::Module(read_baseline(task, {80, 0}, {})->module);
  auto plan = launch::read_plan(read_baseline(task, {80, 0}, {})->plan_text, "p");
  for (const auto& one : prepared->cases) {
    auto resolved = launch::resolve(*plan, module, one.data.binding);
    ASSERT_TRUE(resolved);
    CaseOptions how;
    how.checkers = false;
    auto verdict = compare_case(prepared->task, one, run_case(engine, module, *resolved, one.data, how));
    EXPECT_TRUE(verdict.right) << verdict.summary;
  }
}

TEST_F(Answers, AnInexactBaselineOfTheRepositoryStopsItsTask) {
  user = false;
  auto prepared = prepare_with("f_rough");
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.findings()[0].code, "JDG0011");
}

TEST_F(Answers, SpecialInputsOnWhichTheUsersKernelIsWrongAreLeftOut) {
  auto right = prepare_with("f_right");
  auto prepared = prepare_with("f_nan");
  ASSERT_TRUE(prepared) << base::render(prepared.findings(), "");
  EXPECT_LT(prepared->cases.size(), right->cases.size());
  ASSERT_FALSE(prepared->findings.empty());
  EXPECT_EQ(prepared->findings[0].code, "JDG0013");
  user = false;
  EXPECT_FALSE(prepare_with("f_nan"));
}

TEST_F(Answers, WithoutAReferenceTheKernelItselfIsRight) {
  auto prepared = prepare_with("f_rough", false);
  ASSERT_TRUE(prepared) << base::render(prepared.findings(), "");
  EXPECT_NE(prepared->oracle.find("baseline"), std::string::npos);
  const auto& one = prepared->cases[0];
  float x;
  std::memcpy(&x, one.data.inputs[0].data(), 4);
  EXPECT_EQ(one.answers[0].expected[0].value, (x + 1) * (1 + 0x1p-16f));
}

TEST_F(Answers, ElementsThatTheBaselineLeavesAloneAreNotAskedFor) {
  auto prepared = prepare_with("unwritten_tail", false);
  ASSERT_TRUE(prepared) << base::render(prepared.findings(), "");
  const auto& one = prepared->cases[0];
  EXPECT_EQ(one.answers[0].indices.size(), one.data.inputs[0].size() / 4 - 1);
}

TEST_F(Answers, ABaselineThatCannotRunIsTroubleOnlyWhereNothingElseKnows) {
  auto alone = prepare_with("lacks", false);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.findings()[0].code, "JDG0010");
  EXPECT_NE(alone.findings()[0].message.find("wgmma"), std::string::npos);
  auto with = prepare_with("lacks", true);
  ASSERT_TRUE(with);
  EXPECT_EQ(with->cases[0].baseline_instructions, 0u);
}

TEST_F(Answers, ABaselineThatFaultsEverywhereJudgesNothing) {
  auto alone = prepare_with("faults", false);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.findings()[0].code, "JDG0011");
  EXPECT_NE(alone.findings()[0].message.find("your own kernel faults in every case; the first is n="),
            std::string::npos)
      << alone.findings()[0].message;
}

TEST(MergeFindings, CountsCasesNotFindings) {
  base::Finding finding;
  finding.code = "RUN0002";
  finding.place = {"k.ptx", 7, 3, 1};
  finding.message = "out of bounds at 0x100";
  base::Finding other = finding;
  other.message = "out of bounds at 0x200";
  auto merged = merge_findings({{finding, other}, {}, {other}}, {"m=1", "m=2", "m=3"});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].message, "out of bounds at 0x100 (case m=1 and 1 more)");
  other.place.line = 8;
  EXPECT_EQ(merge_findings({{finding, other}}, {"m=1"}).size(), 2u);
  finding.place.line = other.place.line = 0;
  EXPECT_EQ(merge_findings({{finding, other}}, {"m=1"}).size(), 1u);
  other.message = "something else";
  EXPECT_EQ(merge_findings({{finding, other}}, {"m=1"}).size(), 2u);
}

}  // namespace
}  // namespace ptxlab::judge
