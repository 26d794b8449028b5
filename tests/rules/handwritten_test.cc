// The rules over PTX as people and models write it by hand: loops tested at the top, counted down, run until equal, with
// 64-bit and unsigned indices near their ends; divisions of 64 bits; addresses computed over and over.
#include "harness.h"

namespace ptxlab::rules {
namespace {

const std::vector<std::string> kRules{"vectorise", "unswitch", "unroll", "promote", "invariant",
                                      "address",   "narrow",   "cse",    "dead",    "readonly"};

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 n) {\n"
         ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<40>;\n"
         "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u64 %rd3, [n];\ncvt.u32.u64 %r1, %rd3;\n"
         "mov.u32 %r2, %tid.x;\nmov.f32 %f1, 0f00000000;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd5, %rd2, %rd4;\n" +
         body + "st.global.f32 [%rd5], %f1;\nret;\n}\n";
}

Setting setting(uint64_t n, uint64_t elements = 256) {
  return {"k",
          plan_of("k", "\"1\"", 32, "\"x\", \"y\", \"n\""),
          {},
          {{"n", integer("u64", static_cast<int64_t>(n))}},
          {{"x", elements, 4, Fill::f32, 0, false}, {"y", 64, 4, Fill::f32, 0, true}}};
}

// Every rule alone and upon every other; how many applied alone.
size_t all_of(const std::string& ptx, const Setting& s) {
  Trial trial(ptx, s, 0, Fill::byte);
  size_t applied = 0;
  for (const auto& first : kRules) {
    applied += trial.apply(first);
    for (const auto& second : kRules)
      if (first != second) trial.apply(first, second);
  }
  return applied;
}

bool applies(const std::string& ptx, const Setting& s, std::string_view rule) {
  return Trial(ptx, s, 0, Fill::byte).apply(rule) > 0;
}

// The body adds x[i]; `test` goes on while it should.
std::string loop(const std::string& start, const std::string& step, const std::string& test, bool top) {
  std::string body =
      "mul.wide.u32 %rd10, %r3, 4;\nadd.s64 %rd11, %rd1, %rd10;\nld.global.f32 %f2, [%rd11];\n"
      "add.rn.f32 %f1, %f1, %f2;\nst.global.f32 [%rd5], %f1;\n";
  if (top) return start + "TOP:\n" + test + "@!%p1 bra OUT;\n" + body + step + "bra TOP;\nOUT:\n";
  return start + test + "@!%p1 bra OUT;\nTOP:\n" + body + step + test + "@%p1 bra TOP;\nOUT:\n";
}

TEST(Handwritten, LoopsOfEveryShape) {
  struct Shape {
    std::string start, step, test;
  };
  const std::vector<Shape> shapes{
      {"mov.u32 %r3, 0;\n", "add.s32 %r3, %r3, 1;\n", "setp.lt.s32 %p1, %r3, %r1;\n"},
      {"mov.u32 %r3, 0;\n", "add.u32 %r3, %r3, 3;\n", "setp.lt.u32 %p1, %r3, %r1;\n"},
      {"mov.u32 %r3, 1;\n", "add.u32 %r3, %r3, 1;\n", "setp.le.u32 %p1, %r3, %r1;\n"},
      {"mov.u32 %r3, 0;\n", "add.s32 %r3, %r3, 1;\n", "setp.ne.s32 %p1, %r3, %r1;\n"},
      {"mov.u32 %r3, %r1;\n", "add.s32 %r3, %r3, -1;\n", "setp.ne.s32 %p1, %r3, 0;\n"},
      {"mov.u32 %r3, %r1;\n", "sub.s32 %r3, %r3, 2;\n", "setp.gt.s32 %p1, %r3, 0;\n"},
      {"mov.u32 %r3, %r1;\n", "sub.u32 %r3, %r3, 1;\n", "setp.gt.u32 %p1, %r3, 0;\n"},
      {"mov.u32 %r3, %r2;\nmov.u32 %r9, %ntid.x;\n", "add.u32 %r3, %r3, %r9;\n", "setp.lt.u32 %p1, %r3, %r1;\n"},
      {"mov.u32 %r3, 0;\nmov.u32 %r9, 5;\n", "add.s32 %r3, %r9, %r3;\n", "setp.gt.s32 %p1, %r1, %r3;\n"},
  };
  for (const auto& shape : shapes)
    for (bool top : {false, true}) {
      auto ptx = kernel(loop(shape.start, shape.step, shape.test, top));
      for (uint64_t n : {0, 1, 2, 3, 4, 5, 8, 9, 31, 70}) {
        Trial trial(ptx, setting(n), 0, Fill::byte);
        EXPECT_EQ(trial.apply("unroll"), 3u) << ptx;
        trial.apply("unroll", "promote");
        trial.apply("promote", "unroll");
        if (HasFailure()) return;
      }
      if (!top) {
        EXPECT_TRUE(applies(ptx, setting(9), "promote"));
      }
    }
}

// Indices that would wrap if the check for U more rounds did: the loop must then keep to single rounds.
TEST(Handwritten, IndicesNearTheEndOfTheirType) {
  auto body = [](const std::string& start, const std::string& bound, const std::string& step, const std::string& test,
                 const std::string& mask) {
    return kernel("mov.b32 %r3, " + start + ";\nmov.b32 %r8, " + bound + ";\nTOP:\nand.b32 %r4, %r3, " + mask +
                  ";\nmul.wide.u32 %rd10, %r4, 4;\nadd.s64 %rd11, %rd1, %rd10;\nld.global.f32 %f2, [%rd11];\n"
                  "add.rn.f32 %f1, %f1, %f2;\n" +
                  step + test + "@%p1 bra TOP;\n");
  };
  const std::vector<std::string> kernels{
      body("0x7ffffff5", "0x7ffffffe", "add.s32 %r3, %r3, 1;\n", "setp.lt.s32 %p1, %r3, %r8;\n", "63"),
      body("0xfffffff0", "0xfffffffe", "add.u32 %r3, %r3, 1;\n", "setp.lt.u32 %p1, %r3, %r8;\n", "63"),
      body("0x80000009", "0x80000001", "add.s32 %r3, %r3, -1;\n", "setp.gt.s32 %p1, %r3, %r8;\n", "63"),
      body("7", "0", "add.u32 %r3, %r3, -1;\n", "setp.gt.u32 %p1, %r3, %r8;\n", "63"),
      body("0xfffffffb", "5", "add.u32 %r3, %r3, 1;\n", "setp.ne.u32 %p1, %r3, %r8;\n", "63"),
      body("0x7ffffff0", "0x80000004", "add.s32 %r3, %r3, 2;\n", "setp.ne.s32 %p1, %r3, %r8;\n", "63"),
  };
  for (const auto& ptx : kernels) EXPECT_EQ(Trial(ptx, setting(1), 0, Fill::byte).apply("unroll"), 3u) << ptx;
  for (const std::string type : {"s64", "u64"})
    for (const std::string bound : {"0x7fffffffffffffff", "0x8000000000000003", "5"})
      for (const std::string relation : {"lt", "le"}) {
        bool far = bound != "5";
        auto ptx =
            kernel("mov.b64 %rd20, " + bound + ";\nsub.s64 %rd21, %rd20, " + (far ? "9" : "5") +
                   ";\nTOP:\nand.b64 %rd22, %rd21, 63;\nshl.b64 %rd23, %rd22, 2;\nadd.s64 %rd11, %rd1, %rd23;\n"
                   "ld.global.f32 %f2, [%rd11];\nadd.rn.f32 %f1, %f1, %f2;\nadd.s64 %rd21, %rd21, 1;\nsetp." +
                   (relation == "le" && far ? "lt" : relation) + "." + type + " %p1, %rd21, %rd20;\n@%p1 bra TOP;\n");
        EXPECT_EQ(Trial(ptx, setting(1), 0, Fill::byte).apply("unroll"), 3u) << ptx;
      }
}

TEST(Handwritten, DivisionsAndProductsOf64Bits) {
  const std::string divide = R"(cvt.u64.u32 %rd10, %r2;
mul.lo.u64 %rd11, %rd10, 7;
add.s64 %rd12, %rd11, %rd3;
cvt.u64.u32 %rd13, %r1;
OPERATION %rd14, %rd12, %rd13;
OPERATION %rd15, %rd10, %rd13;
mul.lo.s64 %rd16, %rd10, %rd13;
mad.lo.s64 %rd17, %rd10, 3, %rd16;
xor.b64 %rd18, %rd14, %rd15;
xor.b64 %rd18, %rd18, %rd17;
cvt.u32.u64 %r5, %rd18;
shr.u64 %rd19, %rd18, 32;
cvt.u32.u64 %r6, %rd19;
xor.b32 %r5, %r5, %r6;
mov.b32 %f1, %r5;
)";
  for (const std::string operation : {"div.u64", "rem.u64", "div.s64", "rem.s64"})
    for (uint64_t n : {uint64_t{3}, uint64_t{0xffffffff}, uint64_t{0x100000001}, uint64_t{0x8000000000000005}}) {
      auto text = divide;
      for (size_t at; (at = text.find("OPERATION")) != std::string::npos;) text.replace(at, 9, operation);
      EXPECT_TRUE(applies(kernel(text), setting(n), "narrow"));
      all_of(kernel(text), setting(n));
    }
}

TEST(Handwritten, AddressesComputedOverAndOver) {
  auto ptx = kernel(R"(mov.u32 %r3, %tid.x;
shl.b32 %r4, %r3, 2;
add.u32 %r5, %r4, 1;
add.u32 %r6, %r4, 2;
mul.wide.u32 %rd10, %r4, 4;
mul.wide.u32 %rd11, %r5, 4;
cvt.u64.u32 %rd12, %r6;
shl.b64 %rd13, %rd12, 2;
add.s64 %rd14, %rd1, %rd10;
add.s64 %rd15, %rd1, %rd11;
add.s64 %rd16, %rd13, %rd1;
ld.global.f32 %f2, [%rd14];
ld.global.f32 %f3, [%rd15];
ld.global.f32 %f4, [%rd16+4];
mul.wide.u32 %rd17, %r4, 4;
add.s64 %rd18, %rd1, %rd17;
ld.global.f32 %f5, [%rd18+8];
ld.global.f32 %f6, [%rd14];
add.f32 %f7, %f2, %f3;
add.f32 %f8, %f4, %f5;
add.f32 %f9, %f7, %f8;
sub.f32 %f1, %f9, %f6;
mul.f32 %f10, %f1, %f1;
st.global.f32 [%rd5], %f10;
)");
  for (const auto* rule : {"address", "cse", "dead"}) EXPECT_TRUE(applies(ptx, setting(1), rule)) << rule;
  all_of(ptx, setting(1));
  // The index comes from memory: it may wrap, and the addresses are then far apart.
  auto wraps = kernel(R"(ld.global.u32 %r4, [%rd5];
add.u32 %r5, %r4, 4;
and.b32 %r7, %r5, 127;
mul.wide.u32 %rd10, %r4, 0;
mul.wide.u32 %rd11, %r7, 4;
add.s64 %rd14, %rd1, %rd10;
add.s64 %rd15, %rd1, %rd11;
ld.global.f32 %f2, [%rd14];
ld.global.f32 %f3, [%rd15];
add.f32 %f1, %f2, %f3;
)");
  Trial(wraps, setting(1), 0, Fill::byte).refuses("address");
  all_of(wraps, setting(1));
}

TEST(Handwritten, GuardsAndBranchesInLoops) {
  // A question that no round changes, a predicated load, and a guarded write that leaves the old value.
  auto ptx = kernel(R"(setp.gt.u32 %p2, %r1, 40;
mov.u32 %r3, 0;
mov.f32 %f3, 0f3F800000;
TOP:
mul.wide.u32 %rd10, %r3, 4;
add.s64 %rd11, %rd1, %rd10;
ld.global.f32 %f2, [%rd11];
setp.gt.f32 %p3, %f2, 0f00000000;
@%p3 mov.f32 %f3, %f2;
@%p2 ld.global.f32 %f4, [%rd11+4];
@!%p2 mov.f32 %f4, 0f40000000;
@%p2 bra MORE;
add.rn.f32 %f1, %f1, %f3;
bra NEXT;
MORE:
fma.rn.f32 %f1, %f3, %f4, %f1;
NEXT:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, %r1;
@%p1 bra TOP;
)");
  for (uint64_t n : {1, 2, 5, 40, 41, 50}) all_of(ptx, setting(n));
  for (const auto* rule : {"unswitch", "unroll"}) EXPECT_TRUE(applies(ptx, setting(5), rule)) << rule;
}

TEST(Handwritten, WhatOrdersThreadsStays) {
  const std::vector<std::string> ordered{"bar.sync 0;\n",
                                         "membar.gl;\n",
                                         "ld.volatile.global.f32 %f9, [%rd1];\n",
                                         "ld.acquire.gpu.global.f32 %f9, [%rd1];\n",
                                         "shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;\n",
                                         "vote.sync.any.pred %p5, %p1, -1;\n"};
  for (const auto& line : ordered) {
    auto ptx = kernel("mov.u32 %r3, 0;\nTOP:\nld.global.f32 %f2, [%rd5];\nadd.f32 %f2, %f2, 0f3F800000;\n" + line +
                      "st.global.f32 [%rd5], %f2;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 5;\n@%p1 bra TOP;\n");
    Trial trial(ptx, setting(5), 0, Fill::byte);
    for (const auto* rule : {"vectorise", "unroll", "promote", "invariant"}) trial.refuses(rule);
  }
  // Between two stores, and between two loads.
  for (const auto& line : ordered) {
    auto ptx = kernel("mov.f32 %f2, 0f3F800000;\nsetp.eq.u32 %p1, %r2, 0;\nst.global.f32 [%rd5], %f2;\n" + line +
                      "ld.global.f32 %f1, [%rd5];\n");
    Trial trial(ptx, setting(5), 0, Fill::byte);
    trial.refuses("cse");
  }
}

}  // namespace
}  // namespace ptxlab::rules
