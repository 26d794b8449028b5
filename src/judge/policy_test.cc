#include "judge/policy.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

// A module around some declarations and the body of one entry.
std::string module_text(const std::string& declarations, const std::string& body, const std::string& target = "sm_90") {
  return ".version 8.3\n.target " + target + "\n.address_size 64\n" + declarations +
         "\n.visible .entry k(.param .u64 p)\n{\n  .reg .pred %p<4>;\n  .reg .b32 %r<8>;\n  .reg .f32 %f<4>;\n  .reg "
         ".b64 %rd<8>;\n" +
         body + "\n  ret;\n}\n";
}

struct Policy : ::testing::Test {
  task::Task task;
  isa::Target target{90, 0};
  ptx::Module module;

  void read(const std::string& text) {
    auto checked = ptx::check(text, "k.ptx");
    ASSERT_TRUE(checked.ok()) << base::render(checked.findings, text);
    module = std::move(checked.module);
  }
  std::vector<std::string> codes(uint64_t baseline_bytes = 0) {
    std::vector<std::string> all;
    for (const auto& finding : check_policy(module, task, target, baseline_bytes)) all.push_back(finding.code);
    return all;
  }
  using Codes = std::vector<std::string>;
};

TEST_F(Policy, AnHonestKernelHasNothingToFear) {
  read(
      module_text(".const .align 4 .f32 taps[4] = {0f3f800000, 0f3f800000, 0f3f800000, 0f3f800000};\n"
                  ".shared .align 4 .b8 tile[512];",
                  "  ld.param.u64 %rd1, [p];\n  cvta.to.global.u64 %rd1, %rd1;\n  ld.const.f32 %f1, [taps+4];\n"
                  "  st.shared.f32 [tile], %f1;\n  bar.sync 0;\n  st.global.f32 [%rd1], %f1;"));
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, ClocksAreForbiddenUnlessAllowed) {
  for (const char* read_clock : {"mov.u32 %r1, %clock;", "mov.u64 %rd1, %clock64;", "mov.u64 %rd1, %globaltimer;"}) {
    read(module_text("", std::string("  ") + read_clock));
    EXPECT_EQ(codes(), Codes{"POL0002"}) << read_clock;
    task.allow = {"clock"};
    EXPECT_EQ(codes(), Codes{}) << read_clock;
    task.allow.clear();
  }
  read(module_text("", "  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, %smid;"));
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, LinesKeptInL2AreNotedAndNotHeldAgainstIt) {
  for (const char* keeps : {"createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;",
                            "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5;",
                            "prefetch.global.L2::evict_last [%rd1];"}) {
    read(module_text("", std::string("  ") + keeps));
    auto findings = check_policy(module, task, target, 0);
    ASSERT_EQ(findings.size(), 1u) << keeps;
    EXPECT_EQ(findings[0].code, "POL0016");
    EXPECT_EQ(findings[0].severity, base::Severity::note);
  }
  read(module_text("", "  createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;\n  prefetch.global.L2 [%rd1];"));
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, AWrittenDownCachePolicyIsReadWhereItIsKnown) {
  struct Hint {
    const char* body;
    bool noted;
  };
  const char* load = "\n  ld.global.L2::cache_hint.f32 %f1, [%rd2], %rd1;";
  for (const Hint& hint : {Hint{"  mov.b64 %rd1, 0x14F0000000000000;", true},
                           {"  mov.b64 %rd1, 0x12F0000000000000;", false},
                           {"  mov.b64 %rd1, 0x1000000000000000;", false},
                           {"  ld.param.u64 %rd1, [p];", true},
                           {"  mov.b64 %rd3, 0x14F0000000000000;\n  mov.b64 %rd1, %rd3;", true},
                           {"  createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;", false},
                           {"  createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;", true}}) {
    read(module_text("", std::string(hint.body) + load));
    EXPECT_EQ(codes(), hint.noted ? Codes{"POL0016"} : Codes{}) << hint.body;
  }
}

TEST_F(Policy, TablesInTheCodeAreTables) {
  std::string body, few;
  for (int i = 0; i < 16'500; ++i) body += "  mov.u32 %r1, " + std::to_string(100'000 + i) + ";\n";
  for (int i = 0; i < 20'000; ++i) few += "  mov.u32 %r1, " + std::to_string(100'000 + i % 7) + ";\n";
  read(module_text("", body));
  EXPECT_EQ(constant_bytes(module), 4u * 16'500);
  EXPECT_EQ(codes(), Codes{"POL0006"});
  EXPECT_EQ(codes(128 * 1024), Codes{});
  read(module_text("", few + "  mov.u32 %r1, -1;\n  mov.u32 %r1, 65535;"));
  EXPECT_EQ(constant_bytes(module), 4u * 7);
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, ApproximateInstructionsNeedLeave) {
  read(module_text("", "  rsqrt.approx.f32 %f1, %f2;\n  rsqrt.approx.f32 %f2, %f1;\n  ex2.approx.ftz.f32 %f1, %f2;"));
  EXPECT_EQ(codes(), (Codes{"POL0004", "POL0004"}));  // one an instruction, not one a place
  task.allow = {"approx"};
  EXPECT_EQ(codes(), Codes{});
  task.allow.clear();
  read(module_text("",
                   "  sqrt.rn.f32 %f1, %f2;\n  div.rn.f32 %f1, %f2, %f1;\n  rcp.rn.f32 %f1, %f2;\n  fma.rn.f32 %f1, "
                   "%f1, %f1, %f2;"));
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, StreamOrderAndDeviceSideLaunches) {
  read(module_text("", "  griddepcontrol.wait;"));
  EXPECT_EQ(codes(), Codes{"POL0003"});
  task.allow = {"griddepcontrol"};
  EXPECT_EQ(codes(), Codes{});
  read(module_text(".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);", ""));
  EXPECT_EQ(codes(), Codes{"POL0001"});
}

TEST_F(Policy, PrintingIsNoCrimeAndTheHeapIs) {
  read(module_text(
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".global .align 1 .b8 $str[3] = {104, 105, 0};",
      "  mov.u64 %rd1, $str;\n  cvta.global.u64 %rd2, %rd1;\n  {\n  .param .b64 p0;\n  st.param.b64 [p0], %rd2;\n"
      "  .param .b64 p1;\n  st.param.b64 [p1], 0;\n  .param .b32 r0;\n  call.uni (r0), vprintf, (p0, p1);\n  }"));
  EXPECT_EQ(codes(), Codes{});
  read(module_text(".extern .func (.param .b64 r) malloc(.param .b64 a);", ""));
  EXPECT_EQ(codes(), Codes{"POL0007"});
}

// Each way for a value to outlive its launch.
TEST_F(Policy, WrittenVariablesAreState) {
  const std::string variable = ".global .align 8 .b8 kept[64];\n";
  const char* kWrites[] = {
      "  st.global.u32 [kept+4], %r1;",
      "  atom.global.add.u32 %r1, [kept], 1;",
      "  red.global.add.u32 [kept], 1;",
      "  mov.u64 %rd1, kept;\n  add.u64 %rd2, %rd1, 8;\n  st.global.u32 [%rd2], %r1;",
      "  mov.u64 %rd1, kept;\n  cvta.global.u64 %rd2, %rd1;\n  st.u32 [%rd2], %r1;",
      "  mov.u64 %rd1, kept;\n  selp.b64 %rd3, %rd1, %rd2, %p1;\n  st.global.u32 [%rd3], %r1;",
      // The address itself goes where nobody can follow it.
      "  ld.param.u64 %rd2, [p];\n  mov.u64 %rd1, kept;\n  st.global.u64 [%rd2], %rd1;",
      // In a loop the store comes before the address in the text.
      "  mov.u64 %rd3, 0;\nL:\n  st.global.u32 [%rd3], %r1;\n  mov.u64 %rd3, kept;\n  @%p1 bra L;",
  };
  for (const char* body : kWrites) {
    read(module_text(variable, body));
    EXPECT_EQ(written_variables(module), Codes{"kept"}) << body;
    EXPECT_EQ(codes(), Codes{"POL0005"}) << body;
  }
  task.allow = {"state"};
  EXPECT_EQ(codes(), Codes{});
}

TEST_F(Policy, ReadVariablesAreNotState) {
  const std::string variable = ".global .align 4 .u32 table[4] = {1, 2, 3, 4};\n";
  const char* kReads[] = {
      "  ld.global.u32 %r1, [table+4];",
      "  ld.param.u64 %rd2, [p];\n  mov.u64 %rd1, table;\n  ld.global.u32 %r1, [%rd1];\n  st.global.u32 [%rd2], %r1;",
  };
  for (const char* body : kReads) {
    read(module_text(variable, body));
    EXPECT_EQ(written_variables(module), Codes{}) << body;
  }
  // Its address in another variable can be loaded by anyone.
  read(module_text(variable + ".global .align 8 .u64 where[1] = {table};\n",
                   "  ld.global.u64 %rd1, [where];\n  st.global.u32 [%rd1], %r1;"));
  EXPECT_EQ(written_variables(module), Codes{"table"});
}

TEST_F(Policy, AddressesHandedToFunctionsMayBeWritten) {
  read(module_text(
      ".global .align 4 .u32 kept[4];\n"
      ".func write(.param .b64 a)\n{\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [a];\n  st.global.u32 [%rd1], 1;\n  "
      "ret;\n}\n",
      "  mov.u64 %rd1, kept;\n  {\n  .param .b64 p0;\n  st.param.b64 [p0], %rd1;\n  call.uni write, (p0);\n  }"));
  EXPECT_EQ(written_variables(module), Codes{"kept"});
}

TEST_F(Policy, BakedInDataIsCapped) {
  auto with = [&](size_t elements) {
    std::string values = "1";
    for (size_t i = 1; i < elements; ++i) values += ",1";
    return module_text(".global .align 4 .u32 a[" + std::to_string(elements) + "] = {" + values + "};", "");
  };
  read(with(16 * 1024));
  EXPECT_EQ(initialised_bytes(module), 64u * 1024);
  EXPECT_EQ(codes(), Codes{});
  read(with(16 * 1024 + 1));
  EXPECT_EQ(codes(), Codes{"POL0006"});
  EXPECT_EQ(codes(128 * 1024), Codes{});  // as much as the baseline itself has
}

TEST_F(Policy, TheTargetHasToFit) {
  struct Fit {
    const char* needs;
    isa::Target judged;
    bool fits;
  };
  for (const Fit& fit : {Fit{"sm_80", {90, 0}, true},
                         {"sm_80", {90, 'a'}, true},
                         {"sm_90", {80, 0}, false},
                         {"sm_90a", {90, 'a'}, true},
                         {"sm_90a", {90, 0}, false},
                         {"sm_90a", {100, 'a'}, false}}) {
    read(module_text("", "", fit.needs));
    target = fit.judged;
    EXPECT_EQ(codes(), fit.fits ? Codes{} : Codes{"POL0008"}) << fit.needs << " on " << fit.judged.name();
  }
}

launch::ResolvedPlan one_launch(uint32_t threads, uint32_t shared) {
  launch::ResolvedPlan plan;
  launch::ResolvedLaunch launch;
  launch.entry = "k";
  launch.block = {threads, 1, 1};
  launch.shared_bytes = shared;
  plan.launches.push_back(launch);
  return plan;
}

TEST_F(Policy, ConstraintsOfTheBrief) {
  read(module_text("",
                   "  ld.param.u64 %rd1, [p];\n  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n  st.global.v2.u32 "
                   "[%rd1], {%r1, %r2};"));
  auto plans = std::vector{one_launch(128, 1024), one_launch(256, 2048)};
  auto with = [&](record::Constraints constraints) {
    Codes all;
    for (const auto& finding : check_constraints(module, plans, constraints)) all.push_back(finding.code);
    return all;
  };
  EXPECT_EQ(with({}), Codes{});
  record::Constraints constraints;
  constraints.max_block_threads = 256;
  constraints.max_shared_bytes = 2048;
  constraints.vector_bytes = 16;
  EXPECT_EQ(with(constraints), Codes{});
  constraints.vector_bytes = 8;
  EXPECT_EQ(with(constraints), Codes{"POL0013"});
  constraints.vector_bytes = 4;
  EXPECT_EQ(with(constraints), (Codes{"POL0013", "POL0013"}));
  constraints = {};
  constraints.max_block_threads = 255;
  EXPECT_EQ(with(constraints), Codes{"POL0012"});
  constraints = {};
  constraints.max_shared_bytes = 2047;
  EXPECT_EQ(with(constraints), Codes{"POL0011"});
}

TEST(Scratch, GrowsWithTheTasksBuffers) {
  launch::ResolvedPlan plan;
  plan.buffers = {{"x", 1000, launch::ResolvedBuffer::Role::in}, {"part", 5000, launch::ResolvedBuffer::Role::scratch}};
  EXPECT_TRUE(check_scratch(plan, 5000).empty());
  EXPECT_TRUE(check_scratch(plan, 100).empty());  // five times the task's
  plan.buffers[1].bytes = 16001;
  EXPECT_EQ(check_scratch(plan, 5000).at(0).code, "POL0015");
  EXPECT_TRUE(check_scratch(plan, 20000).empty());
}

TEST_F(Policy, ResourcesAgainstTheBriefAndTheMachine) {
  toolchain::Resources resources;
  resources.entry = "k";
  resources.registers = 64;
  resources.shared = 1000;
  auto with = [&](uint32_t threads, uint32_t shared, record::Constraints constraints) {
    Codes all;
    for (const auto& finding : check_resources({resources}, {one_launch(threads, shared)}, target, constraints))
      all.push_back(finding.code);
    return all;
  };
  record::Constraints constraints;
  EXPECT_EQ(with(1024, 0, constraints), Codes{});
  constraints.max_registers = 63;
  EXPECT_EQ(with(256, 0, constraints), Codes{"POL0010"});
  constraints = {};
  constraints.max_shared_bytes = 3000;
  EXPECT_EQ(with(256, 2000, constraints), Codes{});
  EXPECT_EQ(with(256, 2001, constraints), Codes{"POL0011"});
  resources.registers = 72;
  EXPECT_EQ(with(1024, 0, {}), Codes{"POL0014"});
  EXPECT_EQ(with(512, 0, {}), Codes{});
}

}  // namespace
}  // namespace ptxlab::judge
