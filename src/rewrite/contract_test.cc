#include <gtest/gtest.h>

#include "rewrite/rules.h"
#include "rewrite/test_subject.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rewrite {
namespace {

using Kind = task::Tolerance::Kind;

std::string body(const std::string& middle) {
  return module_of(
      "ld.param.u64 %rd1, [x];\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\nld.global.f32 %f3, "
      "[%rd1+8];\n" +
      middle + "st.global.f32 [%rd1], %f9;\nret;\n");
}
const auto kPlan = plan_of("k", "1", "1", "\"x\", \"y\", \"n\"");

// The rewritten text, or "refused: ...".
std::string contracted(const std::string& text, Kind tolerance = Kind::floating) {
  TestSubject subject(text, kPlan, tolerance);
  EXPECT_FALSE(base::has_error(subject.findings)) << base::render(subject.findings, text);
  auto result = contract_rule()->apply(subject.subject(), {"fma", 0});
  if (result.ok()) return result->ptx;
  return "refused: " + result.findings().front().message;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Contract, MulAndAdd) {
  auto text = contracted(body("mul.rn.f32 %f4, %f1, %f2;\nadd.rn.f32 %f9, %f4, %f3;\n"));
  EXPECT_TRUE(has(text, "fma.rn.f32 %f9, %f1, %f2, %f3;")) << text;
  EXPECT_FALSE(has(text, "mul.rn.f32"));
  EXPECT_TRUE(has(text, "written .rn"));
}

TEST(Contract, SubtractionNegatesWhatIsTakenAway) {
  auto left = contracted(body("mul.f32 %f4, %f1, %f2;\nsub.f32 %f9, %f4, %f3;\n"));
  EXPECT_TRUE(has(left, "neg.f32 %fuse_f0, %f3;")) << left;
  EXPECT_TRUE(has(left, "fma.rn.f32 %f9, %f1, %f2, %fuse_f0;"));
  auto right = contracted(body("mul.f32 %f4, %f1, %f2;\nsub.f32 %f9, %f3, %f4;\n"));
  EXPECT_TRUE(has(right, "neg.f32 %fuse_f0, %f1;")) << right;
  EXPECT_TRUE(has(right, "fma.rn.f32 %f9, %fuse_f0, %f2, %f3;"));
}

TEST(Contract, ImmediatesAndChains) {
  auto text =
      contracted(body("mul.f32 %f4, %f1, 0f40000000;\nadd.f32 %f5, %f4, %f3;\nmul.f32 %f6, %f5, %f2;\nadd.f32 %f9, "
                      "%f6, 0f3F800000;\n"));
  EXPECT_TRUE(has(text, "fma.rn.f32 %f5, %f1, 0f40000000, %f3;")) << text;
  EXPECT_TRUE(has(text, "fma.rn.f32 %f9, %f5, %f2, 0f3F800000;"));
}

TEST(Contract, Refusals) {
  auto mul_add = body("mul.rn.f32 %f4, %f1, %f2;\nadd.rn.f32 %f9, %f4, %f3;\n");
  EXPECT_TRUE(has(contracted(mul_add, Kind::exact), "refused"));
  EXPECT_TRUE(has(contracted(mul_add, Kind::unordered), "refused"));
  // The product is used twice, on both sides, or rounded another way.
  EXPECT_TRUE(
      has(contracted(body("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nadd.f32 %f9, %f5, %f4;\n")), "refused"));
  EXPECT_TRUE(has(contracted(body("mul.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f4;\n")), "refused"));
  EXPECT_TRUE(has(contracted(body("mul.rz.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f3;\n")), "refused"));
  EXPECT_TRUE(has(contracted(body("mul.ftz.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f3;\n")), "refused"));
  EXPECT_TRUE(has(contracted(body("mul.sat.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f3;\n")), "refused"));
  // An input has changed by the time of the addition, or the addition may not happen.
  EXPECT_TRUE(has(contracted(body("mul.f32 %f4, %f1, %f2;\nmov.f32 %f1, %f3;\nadd.f32 %f9, %f4, %f3;\n")), "refused"));
  EXPECT_TRUE(has(
      contracted(
          body("mul.f32 %f4, %f1, %f2;\nsetp.lt.f32 %p1, %f1, %f2;\nmov.f32 %f9, %f1;\n@%p1 add.f32 %f9, %f4, %f3;\n")),
      "refused"));
  EXPECT_TRUE(has(contracted(body("mov.f32 %f9, %f1;\n")), "refused"));
}

TEST(Contract, CodeOfNvccWithoutContractionGetsShorter) {
  const auto& tools = toolchain::installed();
  if (!tools.nvcc || !tools.ptxas) GTEST_SKIP() << "no nvcc or ptxas here";
  toolchain::CompileOptions compile;
  compile.target = *isa::target_named("sm_90");
  compile.flags = {"-fmad=false"};
  auto text = toolchain::compile_to_ptx(std::string(PTXLAB_SOURCE_DIR) + "/tasks/norm/rmsnorm_bf16/kernel.cu", compile);
  ASSERT_TRUE(text.ok()) << base::render(text.findings(), "");
  TestSubject subject(*text, plan_of("rmsnorm", "m", "256", "\"x\", \"w\", \"y\", \"n\", \"eps\""), Kind::floating);
  auto result = contract_rule()->apply(subject.subject(), {"fma", 0});
  ASSERT_TRUE(result.ok()) << base::render(result.findings(), *text);
  toolchain::AssembleOptions assemble;
  assemble.target = *isa::target_named("sm_90a");
  auto before = toolchain::assemble(*text, "before.ptx", assemble),
       after = toolchain::assemble(result->ptx, "after.ptx", assemble);
  ASSERT_TRUE(before.ok() && after.ok());
  const auto& name = subject.module.entry("rmsnorm")->name;
  EXPECT_NE(*toolchain::code_digest(before->cubin, name), *toolchain::code_digest(after->cubin, name));
}

}  // namespace
}  // namespace ptxlab::rewrite
