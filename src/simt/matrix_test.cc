// mma and the moves of matrices: hand-made values, what is undefined, and warps that are not whole. The layouts of every
// shape are held against the twin (tests/twin/matrix_test.cc).
#include <gtest/gtest.h>

#include <bit>

#include "base/narrow_float.h"
#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

constexpr char kHeader[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";

// A kernel of one warp: %i and %o point to the lane's eight bytes of arguments 0 and 1, %t is its number.
std::string warp_kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<32>, %t; .reg .f32 %f<16>; .reg .f64 "
         "%d<16>; "
         ".reg .b64 %i, %o, %at; .reg .pred %p;\n.shared .align 16 .b8 tile[512];\nld.param.u64 %i, [in];\n"
         "ld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 8;\nadd.s64 %i, %i, %at;\n"
         "add.s64 %o, %o, %at;\n" +
         body + "ret;\n}\n";
}

// A has row g full of g + 1, B column g full of ones: every element of D's row i is (i + 1) * k + c.
TEST(Matrix, ProductOfConstantRows) {
  Kernel kernel(
      warp_kernel("ld.global.b32 %r0, [%i];\nld.global.b32 %r1, [%i+4];\nmov.b32 %r4, 0x3c003c00;\n"
                  "mov.f32 %f0, 0f3F000000;\n"
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r1, %r0, %r1}, "
                  "{%r4, %r4}, {%f0, %f0, %f0, %f0};\nst.global.f32 [%o], %f1;\nst.global.f32 [%o+4], %f4;\n"),
      kHeader);
  std::vector<uint32_t> a;
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t upper = base::double_to_f16(lane / 4 + 1), lower = base::double_to_f16(lane / 4 + 9);
    a.push_back(upper | upper << 16);
    a.push_back(lower | lower << 16);
  }
  kernel.in(a).out(256).shape({1, 1, 1}, {32, 1, 1});
  auto d = kernel.result<float>();
  for (size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(d[2 * lane], static_cast<float>(lane / 4 + 1) * 16 + 0.5f);
    EXPECT_EQ(d[2 * lane + 1], static_cast<float>(lane / 4 + 9) * 16 + 0.5f);
  }
}

// The sum is rounded once: 2^24 + 1 + 1 is 2^24 + 2, where adding one after the other in f32 gives 2^24.
TEST(Matrix, SumIsRoundedOnce) {
  Kernel kernel(
      warp_kernel("mov.b32 %r0, 0x3c003c00;\nmov.f32 %f0, 0f4B800000;\n"
                  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r0}, {%r0}, "
                  "{%f0, %f0, %f0, %f0};\nst.global.f32 [%o], %f1;\n"
                  "mov.b32 %r1, 0x3f800fff;\n"  // tf32 ignores the low bits: 1
                  "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1}, {%r1}, "
                  "{%f0, %f0, %f0, %f0};\nst.global.f32 [%o+4], %f1;\n"),
      kHeader);
  kernel.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  auto d = kernel.result<float>();
  EXPECT_EQ(d[0], 16777216.0f + 8);
  EXPECT_EQ(d[1], 16777216.0f + 4);
}

// Integers wrap unless .satfinite clamps them.
TEST(Matrix, IntegersWrapOrSaturate) {
  auto product = [](const std::string& how) {
    Kernel kernel(warp_kernel("mov.b32 %r0, 0x7f7f7f7f;\nmov.b32 %r1, 0x7fffffff;\n"
                              "mma.sync.aligned.m8n8k16.row.col" +
                              how + ".s32.s8.s8.s32 {%r2, %r3}, {%r0}, {%r0}, {%r1, %r1};\nst.global.b32 [%o], %r2;\n"),
                  kHeader);
    kernel.in(std::vector<uint32_t>(64)).out(256, launch::ResolvedBuffer::Init::zero).shape({1, 1, 1}, {32, 1, 1});
    return kernel.result<uint32_t>()[0];
  };
  EXPECT_EQ(product(""), 0x7fffffffu + 16 * 127 * 127);
  EXPECT_EQ(product(".satfinite"), 0x7fffffffu);
}

// Lane 5 (group 1) never writes its register of A: row 1 of D is undefined, the others are not.
TEST(Matrix, UndefinedRowsStayRows) {
  auto run = [](const std::string& guard) {
    Kernel kernel(
        warp_kernel("setp.ne.u32 %p, %t, 5;\n@%p mov.b32 %r0, 0x3c003c00;\nmov.b32 %r1, 0x3c003c00;\n"
                    "mov.f32 %f0, 0f00000000;\n"
                    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r1}, {%r1}, "
                    "{%f0, %f0, %f0, %f0};\nshr.u32 %r2, %t, 2;\nsetp.eq.u32 %p, %r2, 1;\n" +
                    guard + " st.global.f32 [%o], %f1;\nst.global.f32 [%o+4], %f3;\n"),
        kHeader);
    kernel.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
    return kernel.run().findings;
  };
  EXPECT_TRUE(run("@!%p").empty());
  base::Findings row = run("@%p");
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0].code, "RUN0021");
  EXPECT_NE(row[0].message.find("thread (4,0,0)"), std::string::npos) << row[0].message;
}

TEST(Matrix, LoadsWhatWasStored) {
  Kernel kernel(
      warp_kernel("mov.u32 %r10, tile;\nshl.b32 %r11, %t, 4;\nadd.u32 %r10, %r10, %r11;\nld.global.b32 %r0, [%i];\n"
                  "st.shared.v4.b32 [%r10], {%t, %t, %t, %t};\nbar.warp.sync -1;\n"
                  "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r10], {%r0};\nbar.warp.sync -1;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r10];\n"
                  "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\nsub.u32 %r2, %r2, %r0;\n"
                  "st.global.b32 [%o], %r2;\nst.global.b32 [%o+4], %r1;\n"),
      kHeader);
  std::vector<uint32_t> in(64);
  for (uint32_t lane = 0; lane < 32; ++lane) in[2 * lane] = 2 * lane | (2 * lane + 1) << 16;
  kernel.in(in).out(256).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint32_t>();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[2 * lane], 0u);
    // Element (row, column) of the transposed matrix is number 8 column + row.
    uint32_t row = lane / 4, column = 2 * (lane % 4);
    EXPECT_EQ(out[2 * lane + 1], (8 * column + row) | (8 * (column + 1) + row) << 16);
  }
}

TEST(Matrix, LanesThatCannotComeAreNamed) {
  const std::string product =
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d2}, {%d2, %d2};\nst.global.f64 [%o], "
      "%d0;\n";
  Kernel partial(warp_kernel("mov.f64 %d2, 0d3FF0000000000000;\n" + product), kHeader);
  partial.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {24, 1, 1});
  EXPECT_EQ(partial.finding().code, "RUN0023");
  Kernel guarded(warp_kernel("mov.f64 %d2, 0d3FF0000000000000;\nsetp.lt.u32 %p, %t, 16;\n@%p " + product), kHeader);
  guarded.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(guarded.finding().code, "RUN0023");
  Kernel gone(warp_kernel("mov.f64 %d2, 0d3FF0000000000000;\nsetp.eq.u32 %p, %t, 7;\n@%p exit;\n" + product), kHeader);
  gone.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  base::Finding f = gone.finding();
  EXPECT_EQ(f.code, "RUN0023");
  EXPECT_NE(f.message.find("lane 7 has exited"), std::string::npos) << f.message;
}

// Lanes that come by two ways meet at the product.
TEST(Matrix, LanesThatComeLaterAreAwaited) {
  Kernel kernel(
      warp_kernel("mov.f64 %d2, 0d3FF0000000000000;\nsetp.lt.u32 %p, %t, 16;\n@%p bra ONE;\n"
                  "mov.f64 %d3, 0d4000000000000000;\nbra BOTH;\nONE: mov.f64 %d3, 0d4000000000000000;\n"
                  "BOTH: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d3}, {%d2, %d2};\n"
                  "st.global.f64 [%o], %d0;\n"),
      kHeader);
  kernel.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  for (double d : kernel.result<double>()) EXPECT_EQ(d, 9.0);
}

TEST(Matrix, RowsMustBeAlignedAndInSharedMemory) {
  const std::string address = "mov.u32 %r10, tile;\nshl.b32 %r11, %t, 3;\nadd.u32 %r10, %r10, %r11;\n";
  Kernel misaligned(warp_kernel(address + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r10];\n"), kHeader);
  misaligned.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(misaligned.finding().code, "RUN0004");
  Kernel global(warp_kernel("and.b64 %i, %i, -16;\nldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%i];\n"), kHeader);
  global.in(std::vector<uint32_t>(64)).out(256).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(global.finding().code, "RUN0003");
}

}  // namespace
}  // namespace ptxlab::simt::test
