#include "estimate/data_dependence.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "ptx/verifier.h"

namespace ptxlab::estimate {
namespace {

bool depends(const std::string& text) {
  auto checked = ptx::check(text, "test.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, checked.module.source);
  return depends_on_data(checked.module);
}

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 n)\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.shared .align 4 .b8 s[1024];\n"
         "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\n"
         "add.s64 %rd3, %rd1, %rd2;\nmov.u32 %r7, s;\n" +
         body + "DONE:\nret;\n}\n";
}

TEST(DataDependence, SizesAndThreadsDecideNothingOfData) {
  EXPECT_FALSE(
      depends(kernel("setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\nld.global.u32 %r3, [%rd3];\n"
                     "add.u32 %r3, %r3, 1;\nst.global.u32 [%rd3], %r3;\n")));
  // Through shared memory and a selection by value.
  EXPECT_FALSE(
      depends(kernel("ld.global.u32 %r3, [%rd3];\nst.shared.u32 [%r7], %r3;\nbar.sync 0;\n"
                     "ld.shared.u32 %r4, [%r7];\nsetp.gt.u32 %p1, %r4, 7;\nselp.u32 %r5, 1, 2, %p1;\n"
                     "st.global.u32 [%rd3], %r5;\n")));
}

TEST(DataDependence, LoadedIndices) {
  EXPECT_TRUE(
      depends(kernel("ld.global.u32 %r3, [%rd3];\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
                     "ld.global.u32 %r4, [%rd5];\nst.global.u32 [%rd3], %r4;\n")));
}

TEST(DataDependence, LoadedConditions) {
  EXPECT_TRUE(
      depends(kernel("ld.global.u32 %r3, [%rd3];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra DONE;\n"
                     "st.global.u32 [%rd3], 0;\n")));
  EXPECT_TRUE(depends(kernel("ld.global.u32 %r3, [%rd3];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 st.global.u32 [%rd3], 0;\n")));
}

// The value takes the way through shared memory, and stands in the text behind its use.
TEST(DataDependence, ThroughSharedMemoryAndAroundALoop) {
  EXPECT_TRUE(
      depends(kernel("mov.u32 %r6, 0;\nLOOP:\nsetp.gt.u32 %p1, %r6, 7;\n@%p1 bra DONE;\nld.shared.u32 %r6, [%r7];\n"
                     "ld.global.u32 %r3, [%rd3];\nst.shared.u32 [%r7], %r3;\nbra LOOP;\n")));
}

TEST(DataDependence, OfTheTasks) {
  auto of = [](const std::string& task) {
    auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/tasks/" + task + "/baseline.ptx");
    EXPECT_TRUE(text.ok());
    return text.ok() && depends(*text);
  };
  EXPECT_FALSE(of("elementwise/vector_add_f32"));
  EXPECT_FALSE(of("norm/rmsnorm_bf16"));
  EXPECT_FALSE(of("softmax/softmax_f32"));
}

}  // namespace
}  // namespace ptxlab::estimate
