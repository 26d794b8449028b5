// Real faults in real kernels, and the names that they get: a confusion matrix over the tasks of the repository. Each fault has one
// name, and no other pattern may claim it.
#include "judge/diagnosis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/file.h"
#include "base/thread_pool.h"
#include "judge/edited_text.h"
#include "judge/judge.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "task/mutants.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;

// What a task's faults are compared with, made once.
struct Subject {
  task::Task task;
  Baseline baseline;
  PreparedTask prepared;
  std::vector<size_t> cases;  // those that cost little
  std::string ptx;            // the baseline as ptxlab prints it, so that edits are easy to write
};

const Subject& subject(const std::string& name) {
  static std::map<std::string, Subject> all;
  if (auto known = all.find(name); known != all.end()) return known->second;
  Subject& made = all[name];
  made.task = *task::find_task(name, fs::path(PTXLAB_SOURCE_DIR) / "tasks");
  made.baseline = *read_baseline(made.task, *isa::target_named("sm_80"), {});
  const auto parts = installed_parts({});
  auto prepared = prepare(made.task, made.baseline, {1, 0, parts.engine, parts.reference});
  EXPECT_TRUE(prepared) << base::render(prepared.findings(), "");
  made.prepared = *std::move(prepared);
  for (size_t i = 0; i < made.prepared.cases.size(); ++i)
    if (made.prepared.cases[i].baseline_instructions < 400'000) made.cases.push_back(i);
  made.ptx = ptx::print(made.baseline.module);
  return made;
}

// The name that a candidate's results get: "right" where there is nothing to name, "faulted" where the engine stops it, else a
// pattern's, or "-".
struct Named {
  std::string name;
  std::string evidence;
};

Named named(const Subject& s, const std::string& text, const std::string& plan_text, bool checkers) {
  auto checked = ptx::check(text, "candidate.ptx");
  if (!checked.ok()) return {"malformed", base::render(checked.findings, text)};
  auto plan = launch::read_plan(plan_text, "plan.toml");
  if (!plan) return {"malformed", base::render(plan.findings(), plan_text)};
  const auto parts = installed_parts({});
  DiagnosisInput input{s.prepared.task, s.baseline, {}, {}, false, parts.engine, 1, &checked.module};
  std::string stopped;
  for (size_t i : s.cases) {
    const auto& one = s.prepared.cases[i];
    auto resolved = launch::resolve(*plan, checked.module, one.data.binding);
    if (!resolved) return {"malformed", base::render(resolved.findings(), plan_text)};
    auto engine = parts.engine();
    CaseOptions how;
    how.seed = 2 * i;
    how.checkers = checkers;
    how.budget = std::max<uint64_t>(1'000'000, 32 * one.baseline_instructions);
    auto run = run_case(*engine, checked.module, *resolved, one.data, how);
    input.findings.insert(input.findings.end(), run.findings.begin(), run.findings.end());
    if (run.faulted() || !run.supported) {
      stopped = run.findings.empty() ? "?" : run.findings.front().message;
      continue;
    }
    input.cases.push_back(look_at(s.prepared.task, one, run));
    input.cases.back().ctas = most_ctas(*resolved);
    auto theirs = launch::resolve(s.baseline.plan, s.baseline.module, one.data.binding);
    if (theirs) input.cases.back().baseline_ctas = most_ctas(*theirs);
  }
  const bool race = std::any_of(input.findings.begin(), input.findings.end(), [](const auto& f) {
    return f.code.starts_with("CHK") && f.severity == base::Severity::error;
  });
  if (!stopped.empty() && !race) return {"faulted", stopped};
  if (!race && std::all_of(input.cases.begin(), input.cases.end(), [](const auto& c) { return c.right; }))
    return {"right", ""};
  auto found = diagnose(input);
  return found ? Named{std::string(name_of(found->pattern)), found->evidence} : Named{"-", ""};
}

struct Fault {
  const char* task;
  const char* what;
  Pattern pattern;
  Edits ptx, plan;
  bool checkers = false;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults{
      {"elementwise/vector_add_f32",
       "the grid is rounded down",
       Pattern::grid,
       {},
       {{"ceildiv(n, 256)", "max(1, n / 256)"}}},
      {"elementwise/vector_add_f32", "half of the grid", Pattern::grid, {}, {{"ceildiv(n, 256)", "ceildiv(n, 512)"}}},
      {"elementwise/vector_add_f32",
       "no tail of a vector of 4",
       Pattern::tail,
       {{"setp.ge.s32 %p1, %r1, %r2;", "and.b32 %r5, %r2, -4;\n\tsetp.ge.s32 %p1, %r1, %r5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "the last element alone",
       Pattern::off_by_one,
       {{"setp.ge.s32 %p1, %r1, %r2;", "add.s32 %r5, %r2, -1;\n\tsetp.ge.s32 %p1, %r1, %r5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "the first element alone",
       Pattern::off_by_one,
       {{"@%p1 bra $L__BB0_2;", "@%p1 bra $L__BB0_2;\n\tsetp.eq.s32 %p1, %r1, 0;\n\t@%p1 bra $L__BB0_2;"}},
       {}},
      {"elementwise/vector_add_f32",
       "the neighbour's value",
       Pattern::shifted,
       {{"mul.wide.s32 %rd5, %r1, 4;", "max.s32 %r5, %r1, 1;\n\tadd.s32 %r5, %r5, -1;\n\tmul.wide.s32 %rd5, %r5, 4;"},
        {"add.s64 %rd10, %rd9, %rd5;", "mul.wide.s32 %rd5, %r1, 4;\n\tadd.s64 %rd10, %rd9, %rd5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "every second element",
       Pattern::width,
       {{"st.global.f32", "and.b32 %r5, %r1, 1;\n\tsetp.eq.s32 %p1, %r5, 1;\n\t@!%p1 st.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "half of each element",
       Pattern::width,
       {{"st.global.f32 [%rd10], %f3;", "mov.b32 %r5, %f3;\n\tst.global.u16 [%rd10], %r5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "rounded to f16",
       Pattern::precision,
       {{"st.global.f32", "{ .reg .b16 %h; cvt.rn.f16.f32 %h, %f3; cvt.f32.f16 %f3, %h; }\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "rounded to bf16",
       Pattern::precision,
       {{"st.global.f32", "mov.b32 %r5, %f3;\n\tand.b32 %r5, %r5, -65536;\n\tmov.b32 %f3, %r5;\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "1.1 times",
       Pattern::factor,
       {{"st.global.f32", "mul.f32 %f3, %f3, 0f3F8CCCCD;\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "1 more",
       Pattern::offset,
       {{"st.global.f32", "add.f32 %f3, %f3, 0f3F800000;\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "without its sign",
       Pattern::signedness,
       {{"st.global.f32", "abs.f32 %f3, %f3;\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32", "no denormals", Pattern::special, {{"add.f32", "add.ftz.f32"}}, {}},
      {"elementwise/vector_add_f32",
       "no NaN",
       Pattern::special,
       {{"st.global.f32", "max.f32 %f3, %f3, 0fFF800000;\n\tst.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "negative ones are not stored",
       Pattern::unwritten,
       {{"st.global.f32", "setp.lt.f32 %p1, %f3, 0f00000000;\n\t@!%p1 st.global.f32"}},
       {}},
      {"elementwise/vector_add_f32",
       "pairs exchanged",
       Pattern::misplaced,
       {{"add.s64 %rd10, %rd9, %rd5;",
         "xor.b32 %r5, %r1, 1;\n\tsetp.ge.s32 %p1, %r5, %r2;\n\tselp.b32 %r5, %r1, %r5, %p1;\n\tmul.wide.s32 %rd5, "
         "%r5, "
         "4;\n\tadd.s64 %rd10, %rd9, %rd5;"}},
       {}},
      // One length alone is wrong, by one element: which it is shows in the grid.
      {"elementwise/vector_add_f32",
       "the grid is rounded down at one length alone",
       Pattern::grid,
       {},
       {{"ceildiv(n, 256)", "n == 257 ? 1 : ceildiv(n, 256)"}}},
      {"elementwise/vector_add_f32",
       "the last element of one length alone",
       Pattern::off_by_one,
       {{"setp.ge.s32 %p1, %r1, %r2;",
         "setp.eq.s32 %p1, %r2, 257;\n\tselp.s32 %r5, 1, 0, %p1;\n\tsub.s32 %r5, %r2, %r5;\n\tsetp.ge.s32 %p1, %r1, "
         "%r5;"}},
       {}},
      {"elementwise/vector_add_f32",
       "b is not added",
       Pattern::left_out,
       {{"add.f32 %f3, %f2, %f1;", "mov.f32 %f3, %f2;"}},
       {}},
      {"elementwise/vector_add_f32",
       "a comes from the element before",
       Pattern::shifted,
       {{"ld.global.f32 %f2, [%rd6];",
         "setp.eq.s32 %p1, %r1, 0;\n\t@!%p1 add.s64 %rd6, %rd6, -4;\n\tld.global.f32 %f2, [%rd6];"}},
       {}},
      {"histogram/histogram_u8",
       "sums of 1 are lost",
       Pattern::updates,
       {{"setp.eq.s32 %p4, %r10, 0;", "setp.le.u32 %p4, %r10, 1;"}},
       {}},
      {"histogram/histogram_u8",
       "one of four counts twice",
       Pattern::updates,
       {{"atom.shared.add.u32 %r28, [%r27], 1;", "atom.shared.add.u32 %r28, [%r27], 2;"}},
       {}},
      {"histogram/histogram_u8",
       "one of four loses its lowest bit",
       Pattern::wrong_bin,
       {{"mul.wide.u16 %r29, %rs4, 4;", "and.b16 %rs4, %rs4, 254;\n\tmul.wide.u16 %r29, %rs4, 4;"}},
       {}},
      {"histogram/histogram_u8",
       "no tail of a vector of 4",
       Pattern::tail,
       {{"and.b32 %r32, %r11, 3;", "mov.u32 %r32, 0;"}},
       {}},
      {"norm/rmsnorm_bf16",
       "1 more",
       Pattern::offset,
       {{"cvt.rn.bf16.f32 %rs4, %f38;", "add.f32 %f38, %f38, 0f3F800000;\n\tcvt.rn.bf16.f32 %rs4, %f38;"}},
       {}},
      {"stencil/wave3d_r4_f32",
       "the grid along y is rounded down",
       Pattern::grid,
       {},
       {{"ceildiv(ny, 8)", "max(1, ny / 8)"}}},
      {"softmax/softmax_f32",
       "0.9 times",
       Pattern::factor,
       {{"st.global.f32 [", "mul.f32 %f101, %f101, 0f3F666666;\n\tst.global.f32 ["}},
       {}},
      {"softmax/softmax_f32",
       "divided by an approximate inverse of too few bits",
       Pattern::approximation,
       {{"st.global.f32 [",
         "rcp.approx.ftz.f32 %f101, %f101;\n\tmov.b32 %r1, %f101;\n\tand.b32 %r1, %r1, -4096;\n\tmov.b32 %f101, "
         "%r1;\n\trcp.approx.ftz.f32 %f101, %f101;\n\tst.global.f32 ["}},
       {}},
      {"stencil/wave3d_r4_f32", "u and v exchanged", Pattern::exchanged, {}, {{"\"u\", \"v\"", "\"v\", \"u\""}}},
      {"stencil/wave3d_r4_f32",
       "the grid is rounded down",
       Pattern::grid,
       {},
       {{"ceildiv(nx, 32)", "max(1, nx / 32)"}}},
      {"gemm/sgemm_f32",
       "alpha and beta exchanged",
       Pattern::scalar,
       {},
       {{"\"alpha\", \"beta\"", "\"beta\", \"alpha\""}}},
      {"activation/bias_gelu_dropout_bf16",
       "seed and offset exchanged",
       Pattern::scalar,
       {},
       {{"\"seed\", \"offset\"", "\"offset\", \"seed\""}}},
      {"quant/dequant_int8_f16",
       "no tail of a vector of 4",
       Pattern::tail,
       {{"setp.ge.u32 %p3, %r21, %r10;", "and.b32 %r19, %r10, -4;\n\tsetp.ge.u32 %p3, %r21, %r19;"},
        {"setp.ge.u32 %p4, %r4, %r10;", "and.b32 %r19, %r10, -4;\n\tsetp.ge.u32 %p4, %r4, %r19;"},
        {"setp.ge.u32 %p5, %r5, %r10;", "and.b32 %r19, %r10, -4;\n\tsetp.ge.u32 %p5, %r5, %r19;"},
        {"setp.ge.u32 %p6, %r6, %r10;", "and.b32 %r19, %r10, -4;\n\tsetp.ge.u32 %p6, %r6, %r19;"}},
       {}},
      {"quant/dequant_int8_f16",
       "the sign of the scale is lost, that of zeros too",
       Pattern::signedness,
       {{"cvt.f32.f16 %f2, %rs1;", "cvt.f32.f16 %f2, %rs1;\n\tabs.f32 %f2, %f2;"},
        {"cvt.f32.f16 %f11, %rs10;", "cvt.f32.f16 %f11, %rs10;\n\tabs.f32 %f11, %f11;"}},
       {}},
      {"attention/rope_bf16",
       "only every second CTA",
       Pattern::grid,
       {{"@%p1 bra $L__BB0_3;",
         "@%p1 bra $L__BB0_3;\n\tmov.u32 %r10, %ctaid.x;\n\tand.b32 %r10, %r10, 1;\n\tsetp.eq.s32 %p1, %r10, "
         "1;\n\t@%p1 bra $L__BB0_3;"}},
       {}},
  };
  return kFaults;
}

TEST(Diagnosis, EachFaultGetsItsOwnName) {
  std::string table;
  size_t right = 0;
  for (const auto& fault : faults()) {
    const auto& s = subject(fault.task);
    const auto got = named(s, edited(s.ptx, fault.ptx), edited(s.baseline.plan_text, fault.plan), fault.checkers);
    const std::string want(name_of(fault.pattern));
    EXPECT_EQ(got.name, want) << fault.task << ": " << fault.what << "\n" << got.evidence;
    right += got.name == want;
    table += fmt::format("{:<36} {:<30} {:<28} {}\n", fault.task, fault.what, got.name, got.evidence);
  }
  if (std::getenv("PTXLAB_ALL")) fmt::print("{}{} of {}\n", table, right, faults().size());
}

// Which names a class of planted faults may get: a thread that is left out takes what it does with it, which in rope are two elements of
// a row, in a sum over 32 lanes' sums the last of these, and in a histogram the four bytes of a word. Of four stores in a row one
// that is missing looks like a width. A place may be harmless, stop the engine, or spoil so much that nothing fits.
struct Class {
  const char* mutant;
  std::vector<Pattern> names;
};
const std::vector<Class>& classes() {
  static const std::vector<Class> kClasses{
      {"barrier_removed", {Pattern::barrier}},
      {"f16_accumulation", {Pattern::precision, Pattern::special}},
      {"last_term_dropped", {Pattern::off_by_one, Pattern::unwritten, Pattern::updates}},
      {"guard_too_narrow", {Pattern::off_by_one, Pattern::unwritten, Pattern::tail, Pattern::reduction}},
      {"wrong_sign", {Pattern::signedness}},
      {"store_removed", {Pattern::unwritten, Pattern::width}},
      {"store_misplaced", {Pattern::shifted}},
  };
  return kClasses;
}

TEST(Diagnosis, PlantedFaultsAreNamedForWhatTheyAre) {
  std::map<std::string, std::map<std::string, size_t>> matrix;
  const std::vector<std::string> tasks{"elementwise/vector_add_f32", "softmax/softmax_f32", "norm/rmsnorm_bf16",
                                       "quant/dequant_int8_f16",     "attention/rope_bf16", "histogram/histogram_u8"};
  for (const auto& name : tasks) {
    const auto& s = subject(name);
    for (const auto& mutant : task::ptx_mutants()) {
      auto known =
          std::find_if(classes().begin(), classes().end(), [&](const auto& c) { return c.mutant == mutant.name; });
      if (known == classes().end() && !std::getenv("PTXLAB_ALL")) continue;
      auto planted = mutant.apply(s.baseline.module);
      // The first few places of each: unrolled code has the same fault dozens of times.
      if (planted.size() > 3) planted.resize(3);
      for (const auto& one : planted) {
        const auto got = named(s, one.text, s.baseline.plan_text, mutant.name == "barrier_removed");
        ++matrix[mutant.name][got.name];
        if (std::getenv("PTXLAB_ALL"))
          fmt::print("{} {} {}: {} {}\n", name, mutant.name, one.what, got.name, got.evidence);
        if (known == classes().end() || got.name == "right" || got.name == "faulted" || got.name == "-" ||
            got.name == "malformed")
          continue;
        const bool own =
            std::any_of(known->names.begin(), known->names.end(), [&](Pattern p) { return got.name == name_of(p); });
        EXPECT_TRUE(own) << name << " " << mutant.name << " " << one.what << " is called '" << got.name
                         << "': " << got.evidence;
      }
    }
  }
  for (const auto& c : classes()) {
    size_t own = 0, unnamed = matrix[c.mutant]["-"];
    for (Pattern p : c.names) own += matrix[c.mutant][std::string(name_of(p))];
    EXPECT_GT(own, 0u) << c.mutant;
    EXPECT_LE(unnamed, own) << c.mutant << ": most of them have no name";
  }
  if (!std::getenv("PTXLAB_ALL")) return;
  for (const auto& [mutant, row] : matrix) {
    fmt::print("{:<20}", mutant);
    for (const auto& [name, count] : row) fmt::print("  {} {}", name, count);
    fmt::print("\n");
  }
}

TEST(Diagnosis, NaNEverywhereIsNoOverflow) {
  const auto& s = subject("elementwise/vector_add_f32");
  const auto text = edited(s.ptx, {{"add.f32 %f3, %f2, %f1;", "mov.f32 %f3, 0f7FFFFFFF;"}});
  EXPECT_EQ(named(s, text, s.baseline.plan_text, false).name, "-");
}

TEST(Diagnosis, WhatIsRightHasNoName) {
  const auto& s = subject("norm/rmsnorm_bf16");
  EXPECT_EQ(named(s, s.ptx, s.baseline.plan_text, true).name, "right");
  EXPECT_FALSE(diagnose({s.prepared.task, s.baseline, {}, {}, false, nullptr, 1}));
}

TEST(Diagnosis, EveryPatternHasWordsOfItsOwn) {
  std::map<std::string_view, int> names, codes;
  for (int i = 0; i < static_cast<int>(Pattern::kEnd); ++i) {
    ++names[name_of(static_cast<Pattern>(i))];
    ++codes[code_of(static_cast<Pattern>(i))];
    EXPECT_FALSE(finding_of({static_cast<Pattern>(i), "so it is"}).hint.empty());
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Pattern::kEnd));
  EXPECT_EQ(codes.size(), static_cast<size_t>(Pattern::kEnd));
}

}  // namespace
}  // namespace ptxlab::judge
