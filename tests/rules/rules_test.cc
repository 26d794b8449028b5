// Every rule's result beside the original on the same inputs: sizes around the vector width and the CTA, aligned buffers and
// buffers that begin off any vector's alignment, rows of odd length. Maps must agree to the bit; sums within rounding.
#include "harness.h"

namespace ptxlab::rules {
namespace {

const std::vector<uint64_t> kSizes{0, 1, 3, 4, 5, 7, 8, 9, 33, 127, 256, 1031};
// Offsets of buffers, in elements: all aligned, one off, all off alike, each off differently.
const std::vector<std::vector<uint64_t>> kOffsets{{0, 0, 0}, {0, 1, 0}, {1, 1, 1}, {2, 3, 1}};

const auto kKernels = "src/analysis/testdata/kernels.ptx";

TEST(Rules, VectorAdd) {
  auto ptx = file("tasks/elementwise/vector_add_f32/baseline.ptx");
  for (auto n : kSizes)
    for (const auto& off : kOffsets) {
      auto size = static_cast<int64_t>(n);
      Setting s{"vector_add",
                plan_of("vector_add", "\"max(1, ceildiv(n, 64))\"", 64, "\"a\", \"b\", \"c\", \"n\""),
                {{"n", size}},
                {{"n", integer("s32", size)}},
                {{"a", n, 4, Fill::f32, off[0], false},
                 {"b", n, 4, Fill::f32, off[1], false},
                 {"c", n, 4, Fill::none, off[2], true}}};
      compare(ptx, s, "vectorise", 0, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, RmsnormRows) {
  auto ptx = file("tasks/norm/rmsnorm_bf16/baseline.ptx");
  for (int64_t n : {1, 7, 8, 9, 33, 512, 777})
    for (const auto& off : kOffsets) {
      auto m = uint64_t{3}, size = static_cast<uint64_t>(n);
      Setting s{"rmsnorm",
                plan_of("rmsnorm", "\"m\"", 64, "\"x\", \"w\", \"y\", \"n\", \"eps\""),
                {{"m", 3}, {"n", n}},
                {{"n", integer("u32", n)}, {"eps", real(1e-6f)}},
                {{"x", m * size, 2, Fill::bf16, off[0], false},
                 {"w", size, 2, Fill::bf16, off[1], false},
                 {"y", m * size, 2, Fill::none, off[2], true}}};
      compare(ptx, s, "vectorise", 1.0 / 128, Fill::bf16);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, SoftmaxRows) {
  auto ptx = file("tasks/softmax/softmax_f32/baseline.ptx");
  for (int64_t n : {1, 4, 5, 33, 130, 515})
    for (const auto& off : kOffsets) {
      auto m = uint64_t{2}, size = static_cast<uint64_t>(n);
      Setting s{"softmax",
                plan_of("softmax", "\"m\"", 96, "\"x\", \"y\", \"n\""),
                {{"m", 2}, {"n", n}},
                {{"n", integer("s32", n)}},
                {{"x", m * size, 4, Fill::f32, off[0], false}, {"y", m * size, 4, Fill::none, off[1], true}}};
      compare(ptx, s, "vectorise", 1e-5, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, GridStrideWithEveryGrid) {
  auto ptx = file(kKernels);
  for (const std::string grid : {"\"max(1, ceildiv(n, 64))\"", "\"min(3, max(1, n))\"", "\"2\""})
    for (uint64_t n : {0, 1, 7, 8, 65, 513})
      for (const auto& off : {kOffsets[0], kOffsets[1]}) {
        auto size = static_cast<int64_t>(n);
        Setting s{"add_grid_stride",
                  plan_of("add_grid_stride", grid, 64, "\"a\", \"b\", \"c\", \"n\""),
                  {{"n", size}},
                  {{"n", integer("s32", size)}},
                  {{"a", n, 4, Fill::f32, off[0], false},
                   {"b", n, 4, Fill::f32, off[1], false},
                   {"c", n, 4, Fill::none, off[2], true}}};
        compare(ptx, s, "vectorise", 0, Fill::f32);
        Setting wide{"scale_grid_stride_64",
                     plan_of("scale_grid_stride_64", grid, 32, "\"x\", \"y\", \"n\", \"s\""),
                     {{"n", size}},
                     {{"n", integer("u64", size)}, {"s", real(1.5f)}},
                     {{"x", n, 4, Fill::f32, off[0], false}, {"y", n, 4, Fill::none, off[1], true}}};
        compare(ptx, wide, "vectorise", 0, Fill::f32);
        if (HasFatalFailure()) return;
      }
}

TEST(Rules, FewerThreadsThanNeighbours) {
  auto ptx = file(kKernels);
  for (int block : {1, 2, 3, 5, 33}) {
    Setting s{"threshold_bytes",
              plan_of("threshold_bytes", "\"1\"", block, "\"x\", \"y\", \"n\", \"limit\""),
              {{"n", 999}},
              {{"n", integer("u32", 999)}, {"limit", integer("u32", 100)}},
              {{"x", 999, 1, Fill::byte, 0, false}, {"y", 999, 1, Fill::none, 0, true}}};
    compare(ptx, s, "vectorise", 0, Fill::byte);
  }
}

TEST(Rules, GuardedBodiesWithBranchesAndGathers) {
  auto ptx = file(kKernels);
  for (auto n : kSizes)
    for (const auto& off : kOffsets) {
      auto size = static_cast<int64_t>(n);
      Setting gelu{"bias_gelu",
                   plan_of("bias_gelu", "\"max(1, ceildiv(n, 96))\"", 96, "\"x\", \"b\", \"y\", \"n\", \"c\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}, {"c", integer("s32", 13)}},
                   {{"x", n, 2, Fill::bf16, off[0], false},
                    {"b", 13, 2, Fill::bf16, off[1], false},
                    {"y", n, 2, Fill::none, off[2], true}}};
      compare(ptx, gelu, "vectorise", 0, Fill::bf16);
      Setting clip{"clip_in_place",
                   plan_of("clip_in_place", "\"max(1, ceildiv(n, 256))\"", 256, "\"x\", \"n\", \"l\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}, {"l", {"f64", 0x3fe0000000000000, 0}}},
                   {{"x", n, 8, Fill::f64, off[0], true}}};
      compare(ptx, clip, "vectorise", 0, Fill::f64);
      Setting relu{"relu_rows",
                   plan_of("relu_rows", "\"max(1, ceildiv(n, 64))\", \"3\"", 64, "\"x\", \"y\", \"n\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}},
                   {{"x", 3 * n, 4, Fill::f32, off[0], false}, {"y", 3 * n, 4, Fill::none, off[1], true}}};
      compare(ptx, relu, "vectorise", 0, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, PointersThatMoveByAConstantRolledAndUnrolled) {
  auto ptx = file(kKernels);
  for (int block : {256, 128})  // the kernel has 256 built in; with another it must keep to its own loop
    for (int64_t n : {1, 7, 257, 1030, 2049}) {
      auto size = static_cast<uint64_t>(n);
      for (const auto& off : kOffsets) {
        Setting s{"scale_rows_rolled",
                  plan_of("scale_rows_rolled", "\"2\"", block, "\"x\", \"y\", \"n\", \"s\""),
                  {{"n", n}},
                  {{"n", integer("s32", n)}, {"s", real(3.f)}},
                  {{"x", 2 * size, 4, Fill::f32, off[0], false}, {"y", 2 * size, 4, Fill::none, off[1], true}}};
        compare(ptx, s, "vectorise", 0, Fill::f32);
        // The same loop unrolled by four.
        s.entry = "scale_rows";
        s.plan = plan_of("scale_rows", "\"2\"", block, "\"x\", \"y\", \"n\", \"s\"");
        compare(ptx, s, "vectorise", 0, Fill::f32);
        Setting sum{"sum_of_squares",
                    plan_of("sum_of_squares", "\"2\"", block, "\"x\", \"y\", \"n\""),
                    {{"n", n}},
                    {{"n", integer("s32", n)}},
                    {{"x", 2 * size, 4, Fill::f32, off[0], false}, {"y", 1, 4, Fill::f32, 0, true}}};
        compare(ptx, sum, "vectorise", 1e-5, Fill::f32);
        if (HasFatalFailure()) return;
      }
    }
}

TEST(Rules, ReadOnlyLoadsAndOtherBlocks) {
  for (int64_t n : {1, 100, 1031}) {
    auto size = static_cast<uint64_t>(n);
    Setting add{"vector_add",
                plan_of("vector_add", "\"ceildiv(n, 128)\"", 128, "\"a\", \"b\", \"c\", \"n\""),
                {{"n", n}},
                {{"n", integer("s32", n)}},
                {{"a", size, 4, Fill::f32, 0, false},
                 {"b", size, 4, Fill::f32, 0, false},
                 {"c", size, 4, Fill::none, 0, true}}};
    Setting norm{"rmsnorm",
                 plan_of("rmsnorm", "\"m\"", 128, "\"x\", \"w\", \"y\", \"n\", \"eps\""),
                 {{"m", 2}, {"n", n}},
                 {{"n", integer("u32", n)}, {"eps", real(1e-6f)}},
                 {{"x", 2 * size, 2, Fill::bf16, 0, false},
                  {"w", size, 2, Fill::bf16, 0, false},
                  {"y", 2 * size, 2, Fill::none, 0, true}}};
    for (auto rule : {"readonly", "block"}) {
      compare(file("tasks/elementwise/vector_add_f32/baseline.ptx"), add, rule, 0, Fill::f32);
      compare(file("tasks/norm/rmsnorm_bf16/baseline.ptx"), norm, rule, 1.0 / 128, Fill::bf16);
    }
  }
}

TEST(Rules, ContractionStaysWithinRounding) {
  const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u32 n) {
.reg .pred %p<2>;
.reg .b32 %r<6>;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [%rd5];
  mul.rn.f32 %f3, %f1, 0f40490FDB;
  add.rn.f32 %f4, %f3, %f2;
  mul.rn.f32 %f5, %f4, %f4;
  sub.rn.f32 %f6, %f1, %f5;
  mul.rn.f32 %f7, %f6, %f2;
  sub.rn.f32 %f8, %f7, %f1;
  st.global.f32 [%rd5], %f8;
DONE:
  ret;
}
)";
  Setting s{"axpy",
            plan_of("axpy", "\"1\"", 128, "\"x\", \"y\", \"n\""),
            {{"n", 100}},
            {{"n", integer("u32", 100)}},
            {{"x", 100, 4, Fill::f32, 0, false}, {"y", 100, 4, Fill::f32, 0, true}}};
  compare(ptx, s, "contract", 1e-4, Fill::f32);
}

}  // namespace
}  // namespace ptxlab::rules
