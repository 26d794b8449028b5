#include "judge/likeness.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

ptx::Module read(const std::string& name) {
  const std::string file = std::string(PTXLAB_SOURCE_DIR) + "/" + name;
  auto text = base::read_file(file);
  EXPECT_TRUE(text.ok()) << name;
  auto checked = ptx::check(*text, file);
  EXPECT_TRUE(checked.ok()) << name;
  return std::move(checked.module);
}

TEST(Likeness, NamesTheTextThatACandidateIs) {
  const auto known = known_texts(PTXLAB_SOURCE_DIR);
  ASSERT_GE(known.size(), 9u);
  const auto sgemm = read("tasks/gemm/sgemm_f32/baseline.ptx"),
             softmax = read("tasks/softmax/softmax_f32/baseline.ptx");
  auto findings = likeness(softmax, sgemm, known);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "JDG0074");
  EXPECT_EQ(findings[0].severity, base::Severity::note);
  EXPECT_EQ(findings[0].message, "100 % of its instruction sequences stand in tasks/softmax/softmax_f32/baseline.ptx");
  // Its own baseline is where a candidate comes from.
  EXPECT_TRUE(likeness(softmax, softmax, known).empty());
}

TEST(Likeness, OtherKernelsAreTheirOwn) {
  const auto known = known_texts(PTXLAB_SOURCE_DIR);
  const auto baseline = read("tasks/elementwise/vector_add_f32/baseline.ptx");
  for (const char* honest : {"max-by-warps", "sum-double-atomics", "histogram-warp-match", "sgemm-double-sums"})
    EXPECT_TRUE(
        likeness(read(std::string("tests/adversaries/honest/") + honest + "/candidate.ptx"), baseline, known).empty())
        << honest;
}

}  // namespace
}  // namespace ptxlab::judge
