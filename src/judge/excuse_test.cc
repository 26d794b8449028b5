// What the user's own kernel does is not held against a candidate - and nothing beside it. Kernels run on the engine with
// every checker; the first of each pair is the user's own.
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "judge/emulate_gate.h"
#include "simt/run_kernel.h"

namespace ptxlab::judge {
namespace {

// Threads of two CTAs of 64 work on x (%x), y (%y) and a shared tile (%s), at their own place (%o, %a) and others.
CaseRun watch(const std::string& code, uint32_t ctas = 2) {
  simt::test::Kernel kernel(R"(
.visible .entry k(.param .u64 x, .param .u64 y)
{
  .shared .align 4 .b8 tile[512];
  .reg .pred %p;
  .reg .b32 %t, %c, %v, %w, %s, %a, %b;
  .reg .b64 %x, %y, %o, %q;
  ld.param.u64 %x, [x];
  ld.param.u64 %y, [y];
  cvta.to.global.u64 %x, %x;
  cvta.to.global.u64 %y, %y;
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %v, %c, 64, %t;
  mul.wide.u32 %o, %t, 4;
  mov.u32 %s, tile;
  mad.lo.u32 %a, %t, 4, %s;
  xor.b32 %b, %a, 128;
  st.shared.u32 [%a], %v;
  bar.sync 0;
)" + code + "  ret;\n}\n");
  kernel.out(1024, launch::ResolvedBuffer::Init::zero).out(1024, launch::ResolvedBuffer::Init::zero);
  kernel.shape({ctas, 1, 1}, {64, 1, 1});
  std::vector<std::unique_ptr<simt::Observer>> owned;
  std::vector<simt::Observer*> observers;
  for (const auto& checker : checkers::all_checkers()) {
    owned.push_back(checker.make());
    observers.push_back(owned.back().get());
  }
  CaseRun run;
  simt::RunReport report = kernel.run(observers);
  run.completed = report.completed;
  run.findings = report.findings;
  for (const auto* observer : observers) {
    run.doings.resize(run.findings.size());
    for (auto& finding : observer->findings()) run.findings.push_back(finding);
    for (auto& doing : observer->doings()) run.doings.push_back(doing);
  }
  EXPECT_EQ(run.findings.size(), run.doings.size());
  EXPECT_TRUE(run.completed) << base::render(run.findings, "");
  return run;
}

const char* const kStoreX = "  add.u64 %q, %x, %o;\n  st.global.u32 [%q], %v;\n";  // both CTAs, the same places
const char* const kStoreY = "  add.u64 %q, %y, %o;\n  st.global.u32 [%q], %v;\n";
const char* const kUpdateX =
    "  add.u64 %q, %x, %o;\n  ld.global.u32 %w, [%q];\n  add.u32 %w, %w, %v;\n  st.global.u32 [%q], %w;\n";
const char* const kLanes = "  xor.b32 %b, %a, 4;\n  st.shared.u32 [%a], %t;\n  ld.shared.u32 %w, [%b];\n";
const char* const kWarps = "  st.shared.u32 [%a], %t;\n  ld.shared.u32 %w, [%b];\n";

struct Pair {
  const char* what;
  std::string own, candidate;
  bool excused;
};

TEST(Excuse, TheSameThingAndNothingBesideIt) {
  const std::string x = kStoreX, y = kStoreY;
  const Pair pairs[] = {
      {"the same race", x, x, true},
      {"the same race on other lines", x, "  mov.u32 %w, 0;\n  add.u32 %w, %w, 1;\n" + x, true},
      {"the same code on another buffer", x, y, false},
      {"one more buffer", x, x + y, false},
      {"a store where there was an update", kUpdateX, x, true},
      {"an update where there was a store", x, kUpdateX, false},
      {"lanes of one warp", kLanes, kLanes, true},
      {"warps where only lanes raced", kLanes, kWarps, false},
      {"lanes where warps raced", kWarps, kLanes, false},
      {"a race where there was none", "", x, false},
      {"twice the same, as an unrolled loop has it", x, x + x, true},
  };
  for (const Pair& pair : pairs) {
    CaseRun own = watch(pair.own), candidate = watch(pair.candidate);
    ASSERT_TRUE(candidate.faulted()) << pair.what;
    excuse_what_the_own_kernel_does(own, candidate);
    EXPECT_EQ(!candidate.faulted(), pair.excused) << pair.what << "\n" << base::render(candidate.findings, "");
  }
}

// A few elements that two CTAs both touch do not excuse a kernel that lets all of them collide.
TEST(Excuse, MuchMoreOftenIsNotTheSame) {
  const std::string one = "  setp.eq.u32 %p, %t, 0;\n  add.u64 %q, %x, %o;\n  @%p st.global.u32 [%q], %v;\n";
  CaseRun own = watch(one), all = watch(kStoreX);
  excuse_what_the_own_kernel_does(own, all);
  EXPECT_TRUE(all.faulted());
  CaseRun same = watch(one);
  excuse_what_the_own_kernel_does(own, same);
  EXPECT_FALSE(same.faulted());
  EXPECT_NE(same.findings.front().message.find("your own kernel does so too"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::judge
