#include "record/text.h"

#include <gtest/gtest.h>

namespace ptxlab::record {
namespace {

TEST(Text, Ranges) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({3, 4, 5, 9, 11, 12}), "3-5, 9, 11-12");
}

TEST(Text, SaysOutcomeGatesFindingsCasesAndEstimate) {
  Verdict verdict;
  verdict.outcome = OutcomeName::wrong;
  verdict.reason = "1 of 2 cases is wrong";
  verdict.task = "norm/rmsnorm_bf16";
  verdict.target = "sm_90a";
  verdict.oracle = "reference.cc in double precision";
  verdict.gate(GateName::check).status = GateStatus::passed;
  verdict.gate(GateName::check).milliseconds = 3;
  verdict.gate(GateName::emulate).status = GateStatus::failed;
  verdict.gate(GateName::time).status = GateStatus::skipped;
  verdict.gate(GateName::time).reason = "no GPU here";
  base::Finding finding;
  finding.code = "RUN0003";
  finding.place = {"k.ptx", 2, 3, 3};
  finding.message = "out of bounds";
  finding.hint = "guard it";
  base::Finding note = finding;
  note.severity = base::Severity::note;
  note.place = {"k.plan.toml", 1, 1, 1};
  note.message = "a remark";
  verdict.gate(GateName::emulate).findings = {note, finding};
  verdict.cases = {{"m=1", true, ""}, {"m=3 n=7", false, "7 of 21 elements differ"}};
  verdict.resources.push_back({"rms", 27, 4, 8, 0, 1024, 1, 4096, 0});
  Estimate estimate;
  estimate.nanoseconds = 15000;
  estimate.bound_by = "DRAM latency";
  verdict.baseline_estimate = estimate;
  estimate.nanoseconds = 12300;
  estimate.bound_by = "DRAM bandwidth";
  estimate.device = "H200";
  estimate.size = "m=16384 n=4096";
  estimate.size_ns = 13000;
  estimate.uncertainty = 0.06;
  estimate.launch_ns = 4200;
  estimate.occupancy = 0.75;
  estimate.occupancy_limit = "registers";
  estimate.resident_ctas = 6;
  estimate.waves = 1.9;
  estimate.tail = 0.04;
  estimate.limits = {{"DRAM bandwidth", 7800}, {"L2 bandwidth", 5100}, {"issue slots", 900}, {"fp32 pipe", 40}};
  estimate.waits = {{"a value from DRAM", 0.81}, {"a barrier", 0.1}};
  estimate.dram_bytes = 33.6e6;
  estimate.l2_bytes = 34e6;
  estimate.l1_hit_bytes = 512;
  estimate.bank_conflicts = 4096;
  estimate.assumptions = {"32 registers a thread"};
  verdict.estimate = estimate;
  verdict.estimated_speedup = 1.22;
  verdict.unexecuted_lines = {8, 9};
  TextOptions options;
  options.sources = {{"k.ptx", "one\n  ld.x\n"}};
  options.name = "vectorise-4";
  std::string out = text(verdict, options);
  EXPECT_EQ(
      out,
      "WRONG vectorise-4 on norm/rmsnorm_bf16 for sm_90a: 1 of 2 cases is wrong\n"
      "  check     passed       3 ms\n"
      "  assemble  not run\n"
      "  emulate   failed\n"
      "  execute   not run\n"
      "  time      skipped            no GPU here\n"
      "k.ptx:2:3: error[RUN0003]: out of bounds\n"
      "     2 |   ld.x\n"
      "       |   ^~~\n"
      "       hint: guard it\n"
      "k.plan.toml:1:1: note[RUN0003]: a remark\n"
      "       hint: guard it\n"
      "1 of 2 cases right; right is what this says: reference.cc in double precision\n"
      "  m=3 n=7: 7 of 21 elements differ\n"
      "  entry                    registers  spills   stack  shared barriers      code\n"
      "  rms                             27      12       0    1024        1      4096\n"
      "estimated, not measured: 12.3 us (bound by DRAM bandwidth), the baseline 15.0 us (bound by DRAM latency): 1.22 "
      "times as fast, give or take 6 %\n"
      "  mostly at m=16384 n=4096, 13.0 us:\n"
      "  on H200: 6 CTAs an SM (occupancy 75 %, limited by registers), 1.9 waves, 4 % of the SMs' time unused\n"
      "  each alone: DRAM bandwidth 7.8 us, L2 bandwidth 5.1 us, issue slots 900 ns; launches 4.2 us\n"
      "  warps wait for: a value from DRAM 81 %, a barrier 10 %\n"
      "  bytes: 33.6 MB from and to DRAM, 34.0 MB through L2, 512 B found in L1\n"
      "  more passes than needed: 4.1 k by bank conflicts, 0 by scattered addresses\n"
      "  assumed: 32 registers a thread\n"
      "PTX lines that no case executed: 8-9\n");
}

TEST(Text, ManyFindingsAreCounted) {
  Verdict verdict;
  base::Finding finding;
  finding.code = "X1";
  finding.message = "again";
  verdict.gate(GateName::check).findings.assign(25, finding);
  std::string out = text(verdict, {});
  EXPECT_NE(out.find("... and 5 more findings of the check gate"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::record
