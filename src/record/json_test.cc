#include "record/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/finding_json.h"

namespace ptxlab::record {
namespace {

using nlohmann::json;

Candidate a_candidate() {
  Candidate candidate;
  candidate.ptx = "// \"quotes\"\n.version 7.8\n\ttab";
  candidate.plan = "schema = 'ptxlab.plan/1'";
  candidate.proposer = "rules";
  candidate.idea = "4 neighbouring elements a thread";
  candidate.name = "vectorise-4";
  return candidate;
}

Verdict a_verdict() {
  Verdict verdict;
  verdict.outcome = OutcomeName::wrong;
  verdict.reason = "2 of 3 cases are wrong";
  verdict.task = "norm/rmsnorm_bf16";
  verdict.target = "sm_90a";
  verdict.oracle = "reference.cc";
  verdict.code_digest = "abc";
  verdict.unexecuted_lines = {3, 4, 9};
  Gate& check = verdict.gate(GateName::check);
  check.status = GateStatus::passed;
  check.milliseconds = 1.25;
  base::Finding finding;
  finding.code = "PTX0012";
  finding.severity = base::Severity::warning;
  finding.place = {"k.ptx", 3, 5, 7};
  finding.message = "odd";
  finding.hint = "mend";
  finding.fix = {{{10, 12}, "x"}};
  check.findings.push_back(finding);
  verdict.gate(GateName::emulate).status = GateStatus::failed;
  verdict.gate(GateName::time).status = GateStatus::skipped;
  verdict.gate(GateName::time).reason = "no GPU worker";
  toolchain::Resources resources;
  resources.entry = "k";
  resources.registers = 32;
  resources.code_bytes = 4096;
  verdict.resources.push_back(resources);
  toolchain::SassFacts facts;
  facts.entry = "k";
  facts.instructions = 100, facts.in_loops = 60, facts.loops = 2, facts.calls = 1;
  facts.mix = {{toolchain::SassClass::integer, 70}, {toolchain::SassClass::tensor, 30}};
  facts.global_loads = {{16, 2}, {128, 4}};
  facts.shared_stores = {{32, 1}};
  facts.local_loads = 3, facts.local_stores = 4, facts.local_in_loops = 2;
  facts.async_copies = 5, facts.bulk_copies = 6, facts.tensor_copies = 7, facts.matrix_loads = 8;
  facts.matrix = {{"HMMA.16816.F32", 30}};
  verdict.sass.push_back(facts);
  verdict.counters = {
      "n=7", {{"DRAM bytes read", "B", 1048576, 2097152.0}, {"stalled: barrier", "warps an instruction", 1.5, {}}}};
  verdict.cases = {{"m=1", true, ""}, {"m=2", false, "1 of 2"}};
  verdict.estimate.emplace();
  verdict.estimate->nanoseconds = 1500.5;
  verdict.estimate->bound_by = "DRAM latency";
  verdict.estimate->device = "H200";
  verdict.estimate->size = "n=7";
  verdict.estimate->size_ns = 1200;
  verdict.estimate->limits = {{"DRAM bandwidth", 700}, {"issue slots", 3.5}};
  verdict.estimate->waits = {{"a barrier", 0.25}};
  verdict.estimate->resident_ctas = 8;
  verdict.estimate->assumptions = {"32 registers a thread"};
  verdict.estimated_speedup = 1.25;
  verdict.profile = {"all cases", {{7, 10, 320, 0, 0, 0, 0, 0}, {9, 10, 320, 10, 40, 20, 0, 0}}};
  verdict.baseline_profile = {"all cases", {{8, UINT64_MAX / 2, 1, 2, 3, 4, 5, 6}}};
  return verdict;
}

TEST(CandidateJson, AModelsWordsAndAnyBytesComeBack) {
  Candidate candidate = a_candidate();
  EXPECT_FALSE(to_json(candidate).contains("answer"));
  EXPECT_FALSE(to_json(candidate).contains("cuda"));
  candidate.cuda = "__global__ void k() {} // \xff";
  candidate.ptx = std::string("// \xff\x00 bytes", 10);
  candidate.plan = "\xc3";
  candidate.prompt = "Make it faster.";
  candidate.answer = "I cannot \xf0.";
  candidate.findings = {{"LLM0020", base::Severity::error, {"answer.md", 0, 0, 0}, "no block", "", {}}};
  auto back = read_candidate(base::print_json(to_json(candidate)));
  ASSERT_TRUE(back.ok()) << base::render(back.findings(), "");
  EXPECT_EQ(back->ptx, candidate.ptx);
  EXPECT_EQ(back->plan, candidate.plan);
  EXPECT_EQ(back->cuda, candidate.cuda);
  EXPECT_EQ(back->prompt, candidate.prompt);
  EXPECT_EQ(back->answer, candidate.answer);
  ASSERT_EQ(back->findings.size(), 1u);
  EXPECT_EQ(back->findings[0].code, "LLM0020");
  json bad = to_json(candidate);
  bad["ptx"] = {{"base64", "!!!!"}};
  EXPECT_EQ(candidate_from_json(bad).findings().front().code, "REC0001");
  bad.erase("ptx");
  EXPECT_EQ(candidate_from_json(bad).findings().front().code, "REC0001");
}

TEST(Json, CandidateGoesRound) {
  Candidate before = a_candidate();
  json made = to_json(before);
  auto after = read_candidate(base::print_json(made));
  ASSERT_TRUE(after);
  EXPECT_EQ(to_json(*after), made);
  EXPECT_EQ(after->ptx, before.ptx);
  EXPECT_EQ(after->plan, before.plan);
  before.plan.reset();
  EXPECT_EQ(candidate_from_json(to_json(before))->plan, std::nullopt);
}

TEST(Json, VerdictGoesRoundWithItsSchema) {
  Verdict before = a_verdict();
  json made = to_json(before);
  EXPECT_EQ(made["schema"], "ptxlab.verdict/1");
  EXPECT_EQ(made["gates"].size(), 5u);
  EXPECT_TRUE(made["baseline_estimate"].is_null());
  auto after = read_verdict(base::print_json(made));
  ASSERT_TRUE(after) << base::render(after.findings(), "");
  EXPECT_EQ(to_json(*after), made);
  EXPECT_EQ(after->outcome, OutcomeName::wrong);
  EXPECT_EQ(after->gate(GateName::check).findings.at(0).fix.at(0).text, "x");
  EXPECT_EQ(after->estimate->bound_by, "DRAM latency");
  EXPECT_EQ(after->estimate->device, "H200");
  EXPECT_EQ(after->estimate->size, "n=7");
  EXPECT_EQ(after->estimate->size_ns, 1200);
  EXPECT_EQ(after->estimate->limits, before.estimate->limits);
  EXPECT_EQ(after->estimate->waits, before.estimate->waits);
  EXPECT_EQ(after->estimate->resident_ctas, 8);
  EXPECT_EQ(after->estimate->assumptions, before.estimate->assumptions);
  EXPECT_EQ(after->sass, before.sass);
  EXPECT_EQ(after->counters, before.counters);
  EXPECT_EQ(after->profile, before.profile);
  EXPECT_EQ(after->baseline_profile, before.baseline_profile);
  EXPECT_FALSE(after->baseline_estimate);
}

TEST(Json, ProfilesThatDoNotFitAreFindings) {
  json made = to_json(a_verdict());
  made["profile"]["lines"][0].erase(0);
  EXPECT_EQ(verdict_from_json(made).findings().front().code, "REC0001");
  made["profile"]["lines"] = {{uint64_t{1} << 32, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(verdict_from_json(made).findings().front().code, "REC0001");
  made.erase("profile");  // as verdicts of earlier versions
  EXPECT_FALSE(verdict_from_json(made)->profile);
}

TEST(Json, EveryNameGoesRound) {
  for (int i = 0; i <= static_cast<int>(OutcomeName::infrastructure); ++i) {
    Verdict verdict = a_verdict();
    verdict.outcome = static_cast<OutcomeName>(i);
    auto after = verdict_from_json(to_json(verdict));
    ASSERT_TRUE(after);
    EXPECT_EQ(after->outcome, verdict.outcome);
    EXPECT_FALSE(name_of(verdict.outcome).empty());
  }
}

TEST(Json, BriefGoesRoundAndNamesItsTask) {
  Brief before;
  before.task.name = "norm/rmsnorm_bf16";
  before.task.version = 3;
  before.target = {90, 'a'};
  before.baseline_ptx = "ptx";
  before.baseline_plan = "plan";
  before.source = "cu";
  before.language = Language::cuda;
  before.constraints.max_registers = 64;
  before.earlier.push_back({a_candidate(), a_verdict()});
  before.hardware = {{"memory bandwidth", "4300 GB/s"}};
  before.baseline_profile = LineProfile{"all cases", {{.line = 7, .warps = 3}}};
  before.baseline_estimate = Estimate{.nanoseconds = 12};
  before.asks = {{Job::repair, 0, "vectorise", "wider accesses", 0.7}, {}};
  before.seed = 0xffffffffffffffffu;
  json made = to_json(before);
  auto after = brief_from_json(json::parse(base::print_json(made)), before.task);
  ASSERT_TRUE(after) << base::render(after.findings(), "");
  EXPECT_EQ(to_json(*after), made);
  EXPECT_EQ(after->seed, before.seed);
  EXPECT_EQ(after->language, Language::cuda);
  EXPECT_EQ(after->asks, before.asks);
  EXPECT_EQ(after->hardware, before.hardware);
  EXPECT_EQ(after->baseline_profile, before.baseline_profile);
  EXPECT_EQ(after->baseline_estimate->nanoseconds, 12);
  EXPECT_EQ(after->constraints.max_registers, 64);
  EXPECT_FALSE(after->constraints.vector_bytes);
  task::Task other = before.task;
  other.version = 4;
  EXPECT_EQ(brief_from_json(made, other).findings().at(0).code, "REC0002");
}

TEST(Json, AttemptGoesRound) {
  Attempt before;
  before.id = 12;
  before.run = "r1";
  before.at = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'795'000'000'123));
  before.task = "t";
  before.candidate = a_candidate();
  before.verdict = a_verdict();
  Brief brief;
  brief.target = {80, 0};
  before.brief_json = base::print_json(to_json(brief), -1);
  auto after = read_attempt(base::print_json(to_json(before)));
  ASSERT_TRUE(after) << base::render(after.findings(), "");
  EXPECT_EQ(to_json(*after), to_json(before));
  EXPECT_EQ(after->at, before.at);
  EXPECT_EQ(after->brief_json, before.brief_json);
  before.brief_json.clear();
  EXPECT_EQ(attempt_from_json(to_json(before))->brief_json, "");
}

TEST(Json, WhatIsWrongIsNamed) {
  json verdict = to_json(a_verdict());
  auto message = [](const json& value) {
    auto read = verdict_from_json(value);
    return read ? std::string("ok") : read.findings().at(0).message;
  };
  json changed = verdict;
  changed["gates"][1]["status"] = "perhaps";
  EXPECT_EQ(message(changed), "verdict.gates[1].status is 'perhaps', which is none of its values");
  changed = verdict;
  changed.erase("target");
  EXPECT_EQ(message(changed), "verdict has no 'target'");
  changed = verdict;
  changed["schema"] = "ptxlab.verdict/9";
  EXPECT_EQ(message(changed), "verdict.schema is 'ptxlab.verdict/9', wanted 'ptxlab.verdict/1'");
  changed = verdict;
  changed["cases"][0]["right"] = 3;
  EXPECT_EQ(message(changed), "verdict.cases[0].right has the wrong type");
  changed = verdict;
  changed["gates"].erase(2);
  EXPECT_EQ(message(changed), "verdict.gates has not all five gates");
  EXPECT_EQ(read_verdict("{").findings().at(0).code, "REC0003");
  EXPECT_EQ(read_verdict("[]").findings().at(0).code, "REC0001");
}

// Each member taken away or replaced must give a finding, never an exception.
TEST(Json, EveryMemberIsChecked) {
  json verdict = to_json(a_verdict());
  for (const auto& [key, value] : verdict.items()) {
    for (const json& instead : {json(nullptr), json(1.5), json("x"), json::array({1}), json::object()}) {
      json changed = verdict;
      changed[key] = instead;
      auto read = verdict_from_json(changed);
      if (!read) {
        EXPECT_EQ(read.findings().at(0).code, "REC0001") << key;
      }
    }
  }
}

}  // namespace
}  // namespace ptxlab::record
