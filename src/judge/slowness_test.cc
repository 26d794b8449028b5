// Slower variants of real kernels, made by hand, and what is said of them. Each loses by one thing; that one is found, with figures.
#include "judge/slowness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "judge/edited_text.h"
#include "judge/judge.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;
struct Variant {
  const char* task;
  const char* what;
  const char* code;  // what has to be said
  const char* word;  // in its message
  Edits ptx, plan;
};

// Instructions that the assembler cannot fold and that change nothing: %r9 gets the bits of %f3, and n / 2^31, which is 0, is added and
// taken by turns.
std::string padding(int pairs) {
  std::string text = "mov.b32 %r9, %f3;\n\tshr.u32 %r8, %r2, 31;\n";
  for (int i = 0; i < pairs; ++i) text += "\tadd.s32 %r9, %r9, %r8;\n\txor.b32 %r9, %r9, %r8;\n";
  return text + "\tmov.b32 %f3, %r9;\n\tst.global.f32";
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> kVariants{
      {"elementwise/vector_add_f32",
       "unrolled beyond the instruction cache",
       "JDG0081",
       "machine code has grown",
       {{".reg .b32 %r<6>;", ".reg .b32 %r<12>;"}, {"st.global.f32", padding(1500)}},
       {}},
      {"elementwise/vector_add_f32",
       "shared memory that nobody needs",
       "JDG0082",
       "limited by shared memory",
       {},
       {{"args = ", "shared = \"65536\"\nargs = "}}},
      {"gemm/sgemm_f32", "too few registers", "JDG0083", "spilled", {{".minnctapersm 2", ".maxnreg 48"}}, {}},
      {"elementwise/vector_add_f32",
       "lanes across sectors",
       "JDG0084",
       "what the bytes would fill",
       {{"mad.lo.s32 %r1, %r3, %r4, %r5;",
         "and.b32 %r1, %r5, 31;\n\tshl.b32 %r1, %r1, 3;\n\tshr.u32 %r5, %r5, 5;\n\tadd.s32 %r5, %r1, "
         "%r5;\n\tmad.lo.s32 %r1, %r3, "
         "%r4, %r5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "through one bank",
       "JDG0085",
       "bank conflicts",
       {{"{\n", "{\n\t.shared .align 16 .b8 room[32768];\n\t.reg .b32 %s<4>;\n"},
        {"st.global.f32",
         "mov.u32 %s0, %tid.x;\n\tshl.b32 %s1, %s0, 7;\n\tmov.u32 %s2, room;\n\tadd.s32 %s2, %s2, "
         "%s1;\n\tst.shared.f32 [%s2], "
         "%f3;\n\tld.shared.f32 %f3, [%s2];\n\tst.global.f32"}},
       {}},
      {"quant/dequant_int8_f16",
       "the narrow path for all",
       "JDG0086",
       "bytes wide a thread",
       {{"setp.eq.s32 %p2, %r17, 0;", "setp.eq.s32 %p2, %r17, 7;"}},
       {}},
      {"norm/rmsnorm_bf16",
       "the root for each element",
       "JDG0088",
       "special functions",
       {{"$L__BB0_12:\n",
         "$L__BB0_12:\n\tdiv.rn.f32 %f34, %f32, %f33;\n\tadd.f32 %f35, %f34, %f9;\n\trsqrt.approx.f32 %f8, %f35;\n"}},
       {}},
      {"elementwise/vector_add_f32",
       "a load for even lanes and one for odd ones",
       "JDG0089",
       "16.0 lanes",
       {{".reg .pred %p<2>;", ".reg .pred %p<3>;"},
        {"ld.global.f32 %f1, [%rd8];",
         "and.b32 %r5, %r1, 1;\n\tsetp.eq.s32 %p1, %r5, 1;\n\t@%p1 ld.global.f32 %f1, [%rd8];\n\t@!%p1 ld.global.f32 "
         "%f1, [%rd8];"},
        {"ld.global.f32 %f2, [%rd6];", "@%p1 ld.global.f32 %f2, [%rd6];\n\t@!%p1 ld.global.f32 %f2, [%rd6];"}},
       {}},
      {"elementwise/vector_add_f32",
       "two launches",
       "JDG0090",
       "launches cost",
       {},
       {{"args = [\"a\", \"b\", \"c\", \"n\"]",
         "args = [\"a\", \"b\", \"c\", \"n\"]\n[[launch]]\nentry = \"vector_add\"\ngrid = [\"ceildiv(n, 256)\"]\nblock "
         "= [\"256\"]\nargs = [\"a\", "
         "\"b\", \"c\", \"n\"]"}}},
  };
  return kVariants;
}

struct Slowness : ::testing::Test {
  static Judge& judge() {
    static Judge the_judge;
    return the_judge;
  }
  static record::Verdict judged(const char* name, const Edits& ptx, const Edits& plan) {
    auto task = task::find_task(name, fs::path(PTXLAB_SOURCE_DIR) / "tasks");
    EXPECT_TRUE(task);
    record::Candidate candidate;
    auto module = ptx::check(*base::read_file(*task->ptx), "baseline.ptx");
    candidate.ptx = edited(ptx::print(module.module), ptx);
    candidate.plan = edited(*base::read_file(task->plan), plan);
    JudgeOptions options;
    options.target = *isa::target_named("sm_80");
    options.sass = false;
    // The cases are not what is asked here.
    options.emulate = false;
    return judge().judge(*task, candidate, options);
  }
  static const base::Finding* find(const record::Verdict& verdict, std::string_view code) {
    for (const auto& finding : verdict.gate(record::GateName::time).findings)
      if (finding.code == code) return &finding;
    return nullptr;
  }
};

TEST_F(Slowness, EachLossIsFoundWithItsFigures) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "there is no ptxas here";
  for (const auto& one : variants()) {
    const auto verdict = judged(one.task, one.ptx, one.plan);
    std::string said;
    for (const auto& gate : verdict.gates) said += base::render(gate.findings, "");
    const auto* found = find(verdict, one.code);
    EXPECT_TRUE(found) << one.what << ": " << verdict.reason << ", " << verdict.estimated_speedup.value_or(0) << "\n"
                       << said;
    if (found) {
      EXPECT_NE(found->message.find(one.word), std::string::npos) << found->message;
    }
    if (std::getenv("PTXLAB_ALL"))
      fmt::print("{} ({:.2f}):\n{}\n", one.what, verdict.estimated_speedup.value_or(0), said);
  }
}

TEST_F(Slowness, NothingIsSaidOfWhatDidNotGetWorse) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "there is no ptxas here";
  // The same kernel with one instruction more: no figure of it is worse by as much as would be worth a word.
  const auto verdict = judged("norm/rmsnorm_bf16", {{"bar.sync 0;", "membar.cta;\n\tbar.sync 0;"}}, {});
  for (const char* code :
       {"JDG0081", "JDG0082", "JDG0083", "JDG0084", "JDG0085", "JDG0086", "JDG0087", "JDG0088", "JDG0089", "JDG0090"})
    EXPECT_FALSE(find(verdict, code)) << code;
  EXPECT_TRUE(find(verdict, "JDG0091"));
}

TEST_F(Slowness, NothingIsSaidOfWhatIsFaster) {
  record::Verdict verdict;
  verdict.outcome = record::OutcomeName::unverified;
  verdict.estimated_speedup = 1.2;
  EXPECT_TRUE(explain_slowness(verdict, {}, {}).empty());
  verdict.estimated_speedup.reset();
  EXPECT_TRUE(explain_slowness(verdict, {}, {}).empty());
}

}  // namespace
}  // namespace ptxlab::judge
