#include "rewrite/proposer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rewrite/test_subject.h"

namespace ptxlab::rewrite {
namespace {

record::Brief brief_of(const TestSubject& subject) {
  record::Brief brief;
  brief.task = subject.task;
  brief.target = *isa::target_named("sm_90a");
  brief.baseline_ptx = subject.text;
  brief.baseline_plan = subject.plan_text;
  return brief;
}

// Likes short text.
class ByLength final : public record::Evaluator {
 public:
  base::Result<record::Estimate> estimate(const record::Candidate& candidate) override {
    ++asked;
    record::Estimate estimate;
    estimate.nanoseconds = static_cast<double>(candidate.ptx.size());
    return estimate;
  }
  int asked = 0;
};

TEST(RulesProposer, TasksGetAtLeastTwoDifferentCandidates) {
  for (const std::string name : {"elementwise/vector_add_f32", "norm/rmsnorm_bf16", "softmax/softmax_f32"}) {
    auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/" + name);
    auto proposal = make_rules_proposer()->propose(brief_of(subject), 8);
    ASSERT_TRUE(proposal.ok()) << base::render(proposal.findings(), "");
    EXPECT_GE(proposal->candidates.size(), 2u) << name << ": " << proposal->note;
    EXPECT_LE(proposal->candidates.size(), 8u);
    EXPECT_TRUE(proposal->findings.empty()) << base::render(proposal->findings, "");
    std::set<std::string> texts, names;
    for (const auto& candidate : proposal->candidates) {
      EXPECT_TRUE(texts.insert(candidate.ptx + candidate.plan.value_or("")).second);
      EXPECT_TRUE(names.insert(candidate.name).second) << candidate.name;
      EXPECT_EQ(candidate.proposer, "rules");
      EXPECT_FALSE(candidate.idea.empty());
    }
    if (proposal->candidates.size() < 8) {
      EXPECT_NE(proposal->note.find("of 8 candidates"), std::string::npos);
    }
  }
}

TEST(RulesProposer, HandsInNoMoreThanAskedFor) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  EXPECT_EQ(make_rules_proposer()->propose(brief_of(subject), 1)->candidates.size(), 1u);
  EXPECT_TRUE(make_rules_proposer()->propose(brief_of(subject), 0)->candidates.empty());
}

TEST(RulesProposer, NothingToDoIsSaid) {
  TestSubject subject(module_of("ret;\n"), plan_of("k", "1", "32", "\"x\", \"y\", \"n\""),
                      task::Tolerance::Kind::exact);
  auto proposal = make_rules_proposer()->propose(brief_of(subject), 4);
  ASSERT_TRUE(proposal.ok());
  EXPECT_TRUE(proposal->candidates.empty());
  EXPECT_NE(proposal->note.find("nothing to vectorise"), std::string::npos) << proposal->note;
}

TEST(RulesProposer, BestFirstByTheEvaluator) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  ByLength evaluator;
  auto proposal = make_rules_proposer(&evaluator)->propose(brief_of(subject), 3);
  ASSERT_TRUE(proposal.ok());
  ASSERT_GE(proposal->candidates.size(), 2u);
  EXPECT_GE(evaluator.asked, static_cast<int>(proposal->candidates.size()));
  for (size_t i = 1; i < proposal->candidates.size(); ++i)
    EXPECT_LE(proposal->candidates[i - 1].ptx.size(), proposal->candidates[i].ptx.size());
}

TEST(RulesProposer, ShowsSeveralFamiliesAndTheSameForTheSameSeed) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/norm/rmsnorm_bf16");
  ByLength evaluator;
  auto proposal = make_rules_proposer(&evaluator)->propose(brief_of(subject), 8);
  auto again = make_rules_proposer(&evaluator)->propose(brief_of(subject), 8);
  ASSERT_TRUE(proposal.ok() && again.ok());
  std::set<Family> families;
  std::map<std::string, int> of_kind;
  for (size_t i = 0; i < proposal->candidates.size(); ++i) {
    EXPECT_EQ(proposal->candidates[i].name, again->candidates[i].name);
    const auto& name = proposal->candidates[i].name;
    for (const Rule* rule : all_rules())
      if (name.find(std::string(rule->name())) != std::string::npos) families.insert(rule->family());
  }
  EXPECT_GE(families.size(), 4u);
  // Rules upon rules are among what was looked at.
  EXPECT_GT(evaluator.asked, 40);
}

// A tie goes to the shorter chain, and a chain that gains nothing comes after what does not contain it.
class AllAlike final : public record::Evaluator {
 public:
  base::Result<record::Estimate> estimate(const record::Candidate&) override {
    record::Estimate estimate;
    estimate.nanoseconds = 1000;
    return estimate;
  }
};

TEST(RulesProposer, TiesGoToTheShorterChain) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  AllAlike evaluator;
  auto proposal = make_rules_proposer(&evaluator)->propose(brief_of(subject), 6);
  ASSERT_TRUE(proposal.ok());
  for (const auto& candidate : proposal->candidates)
    EXPECT_EQ(candidate.name.find('+'), std::string::npos) << candidate.name;
}

TEST(RulesProposer, EveryRuleThatHasNothingToDoSaysSo) {
  TestSubject subject(module_of("ret;\n"), plan_of("k", "1", "32", "\"x\", \"y\", \"n\""),
                      task::Tolerance::Kind::exact);
  auto proposal = make_rules_proposer()->propose(brief_of(subject), 4);
  ASSERT_TRUE(proposal.ok());
  for (const auto* rule : {"vectorise-", "unswitch-", "unroll-", "promote-", "invariant-", "address-", "narrow-",
                           "cse-", "dead-", "contract-", "readonly-", "cache-", "registers-"})
    EXPECT_NE(proposal->note.find(rule), std::string::npos) << rule << ": " << proposal->note;
}

TEST(RulesProposer, DoesNotRepeatEarlierAttempts) {
  auto subject = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  auto brief = brief_of(subject);
  auto first = make_rules_proposer()->propose(brief, 2);
  ASSERT_TRUE(first.ok());
  for (const auto& candidate : first->candidates) brief.earlier.push_back({candidate, {}});
  auto second = make_rules_proposer()->propose(brief, 2);
  ASSERT_TRUE(second.ok());
  for (const auto& candidate : second->candidates)
    for (const auto& earlier : first->candidates)
      EXPECT_NE(candidate.ptx + candidate.plan.value_or(""), earlier.ptx + earlier.plan.value_or(""));
}

TEST(RulesProposer, ABaselineThatDoesNotParseIsAFinding) {
  record::Brief brief;
  brief.baseline_ptx = "not PTX";
  EXPECT_FALSE(make_rules_proposer()->propose(brief, 2).ok());
}

}  // namespace
}  // namespace ptxlab::rewrite
