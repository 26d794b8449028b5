#include "analysis/similarity.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "ptx/verifier.h"

namespace ptxlab::analysis {
namespace {

ptx::Module module_of(const std::string& text) {
  auto checked = ptx::check(text, "k.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  return std::move(checked.module);
}

Fingerprints of_task(const std::string& name) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/tasks/" + name + "/baseline.ptx");
  EXPECT_TRUE(text.ok());
  return fingerprints(module_of(*text));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(Similarity, NamesNumbersAndLayoutDoNotHideAText) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/tasks/softmax/softmax_f32/baseline.ptx");
  ASSERT_TRUE(text.ok());
  std::string other = replaced(replaced(*text, "%rd", "%address"), "$L__BB0", "$PLACE");
  other = replaced(other, ";\n", ";\n\n  // made by me\n");
  EXPECT_EQ(fingerprints(module_of(other)), fingerprints(module_of(*text)));
}

TEST(Similarity, APartIsFoundInTheWhole) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/tasks/gemm/sgemm_f32/baseline.ptx");
  ASSERT_TRUE(text.ok());
  const Fingerprints whole = fingerprints(module_of(*text));
  // Something else in front of it, and one instruction changed in the middle.
  std::string pasted = *text;
  const size_t at = pasted.find("fma.rn.f32", pasted.size() / 2);
  ASSERT_NE(at, std::string::npos);
  pasted.replace(at, 10, "fma.rz.f32");
  pasted +=
      "\n.visible .entry mine(.param .u64 x) { .reg .b64 %rd<4>; ld.param.u64 %rd1, [x]; add.s64 %rd2, %rd1, 4; ret; "
      "}\n";
  EXPECT_GT(share_of(fingerprints(module_of(pasted)), whole), 0.95);
}

TEST(Similarity, DifferentKernelsShareLittle) {
  const Fingerprints softmax = of_task("softmax/softmax_f32"), sgemm = of_task("gemm/sgemm_f32"),
                     wave = of_task("stencil/wave3d_r4_f32"), histogram = of_task("histogram/histogram_u8");
  EXPECT_LT(share_of(softmax, sgemm), 0.2);
  EXPECT_LT(share_of(wave, sgemm), 0.2);
  EXPECT_LT(share_of(histogram, softmax), 0.2);
  EXPECT_EQ(share_of(softmax, softmax), 1);
  EXPECT_EQ(share_of({}, softmax), 0);
  EXPECT_TRUE(except(softmax, softmax).empty());
}

}  // namespace
}  // namespace ptxlab::analysis
