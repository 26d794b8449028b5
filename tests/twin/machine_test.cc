// The twin itself, on kernels whose results are plain to compute: compiled ones of the tasks, and hand-written ones for
// what threads do together.
#include "machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/narrow_float.h"
#include "base/random.h"
#include "case_kernel.h"
#include "harness.h"

namespace ptxlab::twin {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(std::string(PTXLAB_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<float> normals(size_t count, uint64_t seed) {
  base::Random random(seed);
  std::vector<float> out(count);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

std::string kernel(const std::string& parameters, const std::string& body) {
  return ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(" + parameters + ")\n{\n" + body +
         "\nret;\n}\n";
}

TEST(Machine, VectorAddOfTheTask) {
  const size_t n = 1000;
  std::vector<float> a = normals(n, 1), b = normals(n, 2);
  std::vector<Argument> arguments{buffer(a), buffer(b), zeros(4 * n), scalar<uint32_t>(n)};
  ASSERT_EQ(run_twin(file("tasks/elementwise/vector_add_f32/baseline.ptx"), {4, 1, 1}, {256, 1, 1}, arguments), "");
  std::vector<float> c = values_of<float>(arguments[2]);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]);
}

TEST(Machine, SoftmaxOfTheTask) {
  const size_t m = 2, n = 1500;
  std::vector<float> x = normals(m * n, 3);
  std::vector<Argument> arguments{buffer(x), zeros(4 * m * n), scalar<uint32_t>(n)};
  ASSERT_EQ(run_twin(file("tasks/softmax/softmax_f32/baseline.ptx"), {m, 1, 1}, {256, 1, 1}, arguments), "");
  std::vector<float> y = values_of<float>(arguments[1]);
  for (size_t row = 0; row < m; ++row) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[row * n + i]));
    for (size_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[row * n + i], std::exp(static_cast<double>(x[row * n + i])) / sum, 1e-7);
  }
}

TEST(Machine, RmsnormOfTheTask) {
  const size_t m = 2, n = 1000;
  std::vector<uint16_t> x, w;
  for (float v : normals(m * n, 4)) x.push_back(base::float_to_bf16(v));
  for (float v : normals(n, 5)) w.push_back(base::float_to_bf16(v));
  std::vector<Argument> arguments{buffer(x), buffer(w), zeros(2 * m * n), scalar<uint32_t>(n), scalar(1e-6f)};
  ASSERT_EQ(run_twin(file("tasks/norm/rmsnorm_bf16/baseline.ptx"), {m, 1, 1}, {256, 1, 1}, arguments), "");
  std::vector<uint16_t> y = values_of<uint16_t>(arguments[2]);
  for (size_t row = 0; row < m; ++row) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::pow(base::bf16_to_double(x[row * n + i]), 2);
    for (size_t i = 0; i < n; ++i) {
      const double want = base::bf16_to_double(x[row * n + i]) / std::sqrt(sum / n + 1e-6) * base::bf16_to_double(w[i]);
      ASSERT_NEAR(base::bf16_to_double(y[row * n + i]), want, 0.01 * std::fabs(want) + 1e-6);
    }
  }
}

TEST(Machine, BarrierAndSharedMemory) {
  std::vector<uint32_t> in(64);
  std::iota(in.begin(), in.end(), 5u);
  std::vector<Argument> arguments{buffer(in), zeros(256)};
  ASSERT_EQ(run_twin(kernel(".param .u64 x, .param .u64 y", R"(
.reg .b32 %r<9>; .reg .b64 %rd<9>;
.shared .align 4 .b8 tile[256];
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
ld.global.u32 %r2, [%rd1];
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 4, %r3;
st.shared.u32 [%r4], %r2;
bar.sync 0;
xor.b32 %r5, %r1, 63;
mad.lo.u32 %r6, %r5, 4, %r3;
ld.shared.u32 %r7, [%r6];
st.global.u32 [%rd2], %r7;)"),
                     {1, 1, 1}, {64, 1, 1}, arguments),
            "");
  std::vector<uint32_t> out = values_of<uint32_t>(arguments[1]);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 5 + (63 - i));
}

TEST(Machine, ShuffleVoteAndPredicates) {
  std::vector<Argument> arguments{zeros(32 * 16)};
  ASSERT_EQ(run_twin(kernel(".param .u64 y", R"(
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
ld.param.u64 %rd1, [y];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd2, %r1, 16;
add.s64 %rd1, %rd1, %rd2;
shfl.sync.up.b32 %r2|%p1, %r1, 1, 0, -1;
selp.u32 %r3, 1, 0, %p1;
setp.lt.u32 %p2, %r1, 5;
vote.sync.ballot.b32 %r4, %p2, 0xffffffff;
shfl.sync.bfly.b32 %r5, %r1, 3, 0x1f, -1;
st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};)"),
                     {1, 1, 1}, {32, 1, 1}, arguments),
            "");
  std::vector<uint32_t> out = values_of<uint32_t>(arguments[0]);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[4 * i], i == 0 ? 0 : i - 1);
    EXPECT_EQ(out[4 * i + 1], i != 0);
    EXPECT_EQ(out[4 * i + 2], 31u);
    EXPECT_EQ(out[4 * i + 3], i ^ 3);
  }
}

TEST(Machine, AtomicsCallsAndLocalMemory) {
  std::vector<Argument> arguments{zeros(16)};
  const std::string text = R"(.version 8.3
.target sm_90
.address_size 64
.func (.param .b32 out) twice(.param .b32 a)
{
.reg .b32 %r<3>; .reg .b64 %rd<3>;
.local .align 4 .b8 depot[8];
ld.param.b32 %r1, [a];
mov.u64 %rd1, depot;
st.local.u32 [%rd1+4], %r1;
ld.local.u32 %r2, [%rd1+4];
add.u32 %r2, %r2, %r1;
st.param.b32 [out], %r2;
ret;
}
.visible .entry k(.param .u64 y)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [y];
mov.u32 %r1, %tid.x;
{
.param .b32 p0; .param .b32 r0;
st.param.b32 [p0], %r1;
call.uni (r0), twice, (p0);
ld.param.b32 %r2, [r0];
}
atom.global.add.u32 %r3, [%rd1], %r2;
red.global.max.u32 [%rd1+4], %r2;
atom.global.inc.u32 %r4, [%rd1+8], 6;
ret;
}
)";
  ASSERT_EQ(run_twin(text, {2, 1, 1}, {48, 1, 1}, arguments), "");
  std::vector<uint32_t> out = values_of<uint32_t>(arguments[0]);
  EXPECT_EQ(out[0], 2u * 2 * (47 * 48 / 2));
  EXPECT_EQ(out[1], 94u);
  EXPECT_EQ(out[2], 96u % 7);
}

TEST(Machine, ProblemsAreSaid) {
  std::vector<Argument> arguments{zeros(16)};
  EXPECT_EQ(run_twin(kernel(".param .u64 y", R"(
.reg .b64 %rd<9>; .reg .b32 %r<2>;
ld.param.u64 %rd1, [y];
ld.global.u32 %r1, [%rd1+16];)"),
                     {1, 1, 1}, {1, 1, 1}, arguments),
            "illegal address at line 9");
  EXPECT_EQ(run_twin(kernel(".param .u64 y", R"(
.reg .pred %p<2>; .reg .b32 %r<2>;
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 bar.sync 0, 64;)"),
                     {1, 1, 1}, {64, 1, 1}, arguments),
            "deadlock at line 10");
}

// The honest kernels among the golden cases run to their end.
TEST(Machine, HonestCases) {
  size_t count = 0;
  for (CaseKernel& kernel : all_case_kernels()) {
    if (kernel.bad) continue;
    ++count;
    EXPECT_EQ(run_twin(kernel.text, kernel.grid, kernel.block, kernel.arguments, kernel.shared_bytes), "")
        << kernel.name;
  }
  EXPECT_GE(count, 30u);
}

}  // namespace
}  // namespace ptxlab::twin
