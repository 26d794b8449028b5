#include "report/failures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "ptx/codes.h"

namespace ptxlab::report {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;

constexpr OutcomeName kOutcomes[] = {
    OutcomeName::malformed,  OutcomeName::rejected, OutcomeName::faulted,        OutcomeName::wrong,
    OutcomeName::unverified, OutcomeName::slower,   OutcomeName::same,           OutcomeName::faster,
    OutcomeName::unstable,   OutcomeName::cheating, OutcomeName::infrastructure,
};

// Every code that stands in the tree, tests apart.
std::set<std::string> codes_in_the_tree() {
  std::set<std::string> codes;
  std::regex code("\"([A-Z]{2,6}[0-9]{4})\"");
  for (const auto& entry : std::filesystem::recursive_directory_iterator("src")) {
    const auto& path = entry.path();
    if (path.extension() != ".cc" && path.extension() != ".h") continue;
    if (path.string().ends_with("_test.cc") || path.string().find("failures") != std::string::npos) continue;
    auto text = base::read_file(path);
    EXPECT_TRUE(text.ok());
    for (std::sregex_iterator at(text->begin(), text->end(), code), end; at != end; ++at) codes.insert((*at)[1]);
  }
  for (const auto& row : ptx::kCodes) codes.insert(ptx::spelling(row.code));
  return codes;
}

bool of_a_verdict(const std::string& code) {
  for (const char* family : {"PTX", "PLAN", "POL", "ASM", "CUC", "RUN", "CHK", "CMP", "ORA", "JDG", "LLM", "GPU"}) {
    if (code.starts_with(family)) return true;
  }
  return false;
}

TEST(Failures, TheTableKnowsEveryCodeThatAVerdictCanHold) {
  auto codes = codes_in_the_tree();
  EXPECT_GT(codes.size(), 250u);
  for (const auto& code : codes) {
    if (of_a_verdict(code)) {
      EXPECT_TRUE(knows_code(code)) << code << ": give it a line in src/report/failures.inc";
    }
  }
}

TEST(Failures, ThereAreAtLeastTwentyKindsAndEachHasWords) {
  EXPECT_GE(failure_kinds().size(), 20u);
  std::set<std::string_view> names;
  for (const auto& info : failure_kinds()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.words.empty());
    EXPECT_EQ(info_of(info.kind).name, info.name);
  }
}

// Whatever the outcome and the code: one kind, of a stage that goes with the outcome.
TEST(Failures, EveryVerdictHasExactlyOneKind) {
  const auto stages_of = [](OutcomeName outcome) -> std::set<std::string_view> {
    switch (outcome) {
      case OutcomeName::malformed: return {"answer", "compile", "check"};
      case OutcomeName::rejected: return {"policy", "assemble"};
      case OutcomeName::faulted: return {"run"};
      case OutcomeName::wrong: return {"result"};
      case OutcomeName::unverified: return {"right", "result"};
      case OutcomeName::slower:
      case OutcomeName::same:
      case OutcomeName::unstable: return {"speed"};
      case OutcomeName::faster: return {"right"};
      case OutcomeName::cheating: return {"result"};
      case OutcomeName::infrastructure: return {"machine"};
    }
    return {};
  };
  for (const auto& code : codes_in_the_tree()) {
    for (auto outcome : kOutcomes) {
      for (auto gate : {GateName::check, GateName::assemble, GateName::emulate, GateName::execute, GateName::time}) {
        record::Verdict verdict;
        verdict.outcome = outcome;
        verdict.gate(gate).status = GateStatus::failed;
        verdict.gate(gate).findings.push_back(base::error(code, "found", ""));
        auto failure = failure_of(verdict);
        EXPECT_TRUE(stages_of(outcome).count(info_of(failure.kind).stage))
            << record::name_of(outcome) << " " << code << ": " << name_of(failure.kind);
        EXPECT_TRUE(failure.code.empty() || failure.code == code);
      }
    }
  }
}

record::Verdict verdict_with(OutcomeName outcome, GateName gate, const char* code,
                             base::Severity severity = base::Severity::error) {
  record::Verdict verdict;
  verdict.outcome = outcome;
  verdict.gate(gate).status = GateStatus::failed;
  verdict.gate(gate).findings.push_back({code, severity, {}, "found", "", {}});
  return verdict;
}

TEST(Failures, ByWhatWasFound) {
  const auto kind = [](const record::Verdict& verdict) { return name_of(failure_of(verdict).kind); };
  EXPECT_EQ(kind(verdict_with(OutcomeName::malformed, GateName::check, "LLM0020")), "no_block");
  EXPECT_EQ(kind(verdict_with(OutcomeName::malformed, GateName::check, "PTX0013")), "predicate");
  EXPECT_EQ(kind(verdict_with(OutcomeName::malformed, GateName::check, "PTX0302")), "width_or_type");
  EXPECT_EQ(kind(verdict_with(OutcomeName::malformed, GateName::check, "PLAN0024")), "plan");
  EXPECT_EQ(kind(verdict_with(OutcomeName::malformed, GateName::check, "CUC0002")), "cuda_refused");
  EXPECT_EQ(kind(verdict_with(OutcomeName::rejected, GateName::check, "POL0002")), "forbidden");
  EXPECT_EQ(kind(verdict_with(OutcomeName::rejected, GateName::assemble, "ASM0002")), "ptxas_refused");
  EXPECT_EQ(kind(verdict_with(OutcomeName::faulted, GateName::emulate, "CHK0001")), "race");
  EXPECT_EQ(kind(verdict_with(OutcomeName::faulted, GateName::emulate, "RUN0003")), "out_of_bounds");
  EXPECT_EQ(kind(verdict_with(OutcomeName::faulted, GateName::execute, "JDG0030")), "gpu_fault");
  EXPECT_EQ(kind(verdict_with(OutcomeName::wrong, GateName::emulate, "CMP0101")), "not_written");
  EXPECT_EQ(kind(verdict_with(OutcomeName::wrong, GateName::emulate, "CMP0203", base::Severity::note)), "tail");
  EXPECT_EQ(kind(verdict_with(OutcomeName::infrastructure, GateName::check, "JDG0004")), "disagreement");
  // A warning decides nothing.
  EXPECT_EQ(kind(verdict_with(OutcomeName::faulted, GateName::emulate, "CHK0001", base::Severity::warning)),
            "fault_other");
}

TEST(Failures, WrongValuesAreToldByWhereTheyAre) {
  record::Verdict verdict;
  verdict.outcome = OutcomeName::wrong;
  verdict.gate(GateName::emulate).status = GateStatus::failed;
  verdict.cases = {{"n=1", false, ""}, {"n=2", false, ""}};
  EXPECT_EQ(failure_of(verdict).kind, FailureKind::wrong_everywhere);
  verdict.cases[0].right = true;
  EXPECT_EQ(failure_of(verdict).kind, FailureKind::wrong_somewhere);
  verdict.gate(GateName::time).status = GateStatus::failed;
  EXPECT_EQ(failure_of(verdict).kind, FailureKind::wrong_when_timed);
}

// What nothing could execute is not called right.
TEST(Failures, UnverifiedIsRightOnlyIfItRan) {
  record::Verdict verdict;
  verdict.outcome = OutcomeName::unverified;
  EXPECT_EQ(failure_of(verdict).kind, FailureKind::not_executed);
  verdict.gate(GateName::emulate).status = GateStatus::passed;
  EXPECT_EQ(failure_of(verdict).kind, FailureKind::none);
}

}  // namespace
}  // namespace ptxlab::report
