// The analyses on what nvcc makes of the tasks' kernels, and on small functions whose answers are known by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/access.h"
#include "analysis/affine.h"
#include "analysis/cfg.h"
#include "analysis/definitions.h"
#include "analysis/liveness.h"
#include "analysis/registers.h"
#include "analysis/uniform.h"
#include "base/file.h"
#include "ptx/verifier.h"

namespace ptxlab::analysis {
namespace {

ptx::Module read(const std::string& path) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << path;
  auto checked = ptx::check(*text, path);
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, *text);
  return std::move(checked.module);
}

ptx::Module of_body(const std::string& body) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) "
      "{\n"
      ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<30>;\n" +
      body + "}\n";
  auto checked = ptx::check(text, "k.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  return std::move(checked.module);
}

struct All {
  explicit All(const ptx::Function& f)
      : function(f),
        cfg(f),
        liveness(f, cfg),
        definitions(f, cfg),
        values(f, cfg, liveness),
        accesses(memory_accesses(f, cfg, values)) {}
  // The n-th instruction with that opcode, as a statement.
  uint32_t find(std::string_view opcode, int n = 0) const {
    for (uint32_t i = 0; i < function.body.size(); ++i)
      if (const auto* instruction = function.body[i].instruction();
          instruction && opcode_of(*instruction) == opcode && n-- == 0)
        return i;
    ADD_FAILURE() << "no " << opcode;
    return 0;
  }
  uint32_t reg(std::string_view name) const {
    for (uint32_t i = 0; i < function.registers.size(); ++i)
      if (function.registers[i].name == name) return i;
    ADD_FAILURE() << "no register " << name;
    return 0;
  }
  std::string read(uint32_t statement, std::string_view name) const {
    auto value = values.read(statement, reg(name));
    return value ? values.describe(values.value(*value), function) : "?";
  }
  const ptx::Function& function;
  Cfg cfg;
  Liveness liveness;
  Definitions definitions;
  Values values;
  std::vector<MemoryAccess> accesses;
};

const ptx::Function& entry(const ptx::Module& module, std::string_view name = "") {
  const auto* found = module.entry(name);
  EXPECT_NE(found, nullptr);
  return *found;
}

constexpr auto kDiamondAndLoop = R"(
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  and.b32 %r3, %r2, 1;
  setp.eq.s32 %p1, %r3, 0;
  @%p1 bra EVEN;
  add.s32 %r4, %r2, 5;
  bra JOIN;
EVEN:
  add.s32 %r4, %r2, 7;
JOIN:
  add.s32 %r2, %r2, 3;
  setp.lt.s32 %p2, %r2, %r1;
  @%p2 bra LOOP;
  ret;
)";

TEST(Cfg, DiamondInsideALoop) {
  auto module = of_body(kDiamondAndLoop);
  Cfg cfg(entry(module));
  ASSERT_EQ(cfg.blocks().size(), 6u);
  EXPECT_EQ(cfg.blocks()[1].successors, (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(cfg.dominator(4), 1u);
  EXPECT_EQ(cfg.post_dominator(1), 4u);
  EXPECT_TRUE(cfg.dominates(1, 5));
  EXPECT_FALSE(cfg.dominates(2, 4));
  ASSERT_EQ(cfg.loops().size(), 1u);
  const auto& loop = cfg.loops()[0];
  EXPECT_EQ(loop.header, 1u);
  EXPECT_EQ(loop.blocks, (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(loop.latches, (std::vector<uint32_t>{4}));
  ASSERT_EQ(loop.exits.size(), 1u);
  EXPECT_EQ(loop.exits[0].to, 5u);
  EXPECT_FALSE(cfg.irreducible());
  EXPECT_EQ(cfg.loop_of(2), 0u);
  EXPECT_EQ(cfg.loop_of(5), kNone);
}

TEST(Cfg, NestedLoopsAndUnreachableCode) {
  auto module = of_body(R"(
OUTER:
INNER:
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 4;
  @%p1 bra INNER;
  setp.lt.s32 %p2, %r1, 9;
  @%p2 bra OUTER;
  bra END;
  mov.u32 %r2, 1;
END:
  ret;
)");
  Cfg cfg(entry(module));
  ASSERT_EQ(cfg.loops().size(), 2u);
  EXPECT_EQ(cfg.loops()[1].parent, 0u);
  EXPECT_EQ(cfg.loops()[1].depth, 2u);
  EXPECT_EQ(std::count_if(cfg.order().begin(), cfg.order().end(), [](uint32_t) { return true; }),
            static_cast<long>(cfg.blocks().size()) - 1);
}

TEST(Cfg, TwoWaysIntoACycleAreIrreducible) {
  auto module = of_body(R"(
  setp.lt.s32 %p1, %r1, 4;
  @%p1 bra B;
A:
  add.s32 %r1, %r1, 1;
B:
  setp.lt.s32 %p2, %r1, 9;
  @%p2 bra A;
  ret;
)");
  EXPECT_TRUE(Cfg(entry(module)).irreducible());
}

TEST(Cfg, ManyBlocksTakeNoRecursion) {
  std::string body;
  for (int i = 0; i < 20000; ++i)
    body += "setp.eq.u32 %p1, %r1, " + std::to_string(i) + ";\n@%p1 bra L" + std::to_string(i) + ";\nL" +
            std::to_string(i) + ":\n";
  auto module = of_body(body + "ret;\n");
  Cfg cfg(entry(module));
  EXPECT_GT(cfg.blocks().size(), 20000u);
  EXPECT_EQ(cfg.order().size(), cfg.blocks().size());
}

TEST(Liveness, CountsUnitsAtThePeak) {
  auto module = of_body(R"(
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [n];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd3], %f2;
  ret;
)");
  All a(entry(module));
  EXPECT_EQ(a.liveness.peak(), 4u);  // %rd1 and %rd2
  EXPECT_TRUE(a.liveness.live_in(0).empty());
}

TEST(Liveness, AGuardedWriteDoesNotEndALife) {
  auto module = of_body(R"(
  mov.u32 %r1, 1;
  setp.eq.u32 %p1, %r1, 1;
  bra NEXT;
NEXT:
  @%p1 mov.u32 %r1, 2;
  st.global.u32 [%rd1], %r1;
  ret;
)");
  All a(entry(module));
  EXPECT_TRUE(a.liveness.live_in(1, a.reg("%r1")));
  auto st = a.find("st");
  EXPECT_EQ(a.definitions.reaching(st, a.reg("%r1")).size(), 2u);
  EXPECT_EQ(a.definitions.only(st, a.reg("%r1")), kNone);
}

TEST(Definitions, BothArmsReachTheJoin) {
  auto module = of_body(kDiamondAndLoop);
  All a(entry(module));
  EXPECT_EQ(a.definitions.of(a.reg("%r4")).size(), 2u);
  // The loop's start sees the value from outside and the one that comes around.
  EXPECT_EQ(a.definitions.reaching(a.find("and"), a.reg("%r2")).size(), 2u);
  EXPECT_NE(a.definitions.only(a.find("setp", 1), a.reg("%r2")), kNone);
  EXPECT_EQ(a.definitions.uses(a.definitions.of(a.reg("%r1"))[0]), std::vector<uint32_t>{a.find("setp", 1)});
}

TEST(Values, InductionStartsAndSteps) {
  auto module = of_body(kDiamondAndLoop);
  All a(entry(module));
  ASSERT_EQ(a.values.inductions().size(), 1u);
  const auto& i = a.values.inductions()[0];
  EXPECT_EQ(i.reg, a.reg("%r2"));
  EXPECT_EQ(a.values.value(i.initial).constant, 0);
  EXPECT_EQ(a.values.value(i.step).constant, 3);
}

TEST(Values, CoefficientsAreChecked) {
  Affine big{INT64_MAX, {{{0}, INT64_MAX}}};
  EXPECT_FALSE(scale(big, 2));
  EXPECT_FALSE(add(big, Affine{1, {}}));
  EXPECT_FALSE(multiply(big, Affine{2, {{{1}, 2}}}));
  auto product = multiply(Affine{1, {{{0}, 2}}}, Affine{3, {{{1}, 4}}});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->constant, 3);
  EXPECT_EQ(product->coefficient(0), 6);
  EXPECT_EQ(product->coefficient(1), 4);
  auto zero = add(*product, *scale(*product, -1));
  ASSERT_TRUE(zero);
  EXPECT_TRUE(zero->is_constant());
}

TEST(Values, VectorAddAddresses) {
  auto module = read("tasks/elementwise/vector_add_f32/baseline.ptx");
  All a(entry(module));
  ASSERT_EQ(a.accesses.size(), 3u);
  for (const auto& access : a.accesses) {
    EXPECT_EQ(access.thread_stride, 4);
    EXPECT_EQ(access.bytes, 4u);
    EXPECT_EQ(access.alignment, 4u);
    EXPECT_EQ(access.loop, kNone);
  }
  EXPECT_EQ(a.accesses[0].parameter, 1u);
  EXPECT_EQ(a.accesses[1].parameter, 0u);
  EXPECT_EQ(a.accesses[2].parameter, 2u);
  EXPECT_TRUE(a.accesses[2].writes);
}

TEST(Values, RmsnormLoopsStrideByTheCta) {
  auto module = read("tasks/norm/rmsnorm_bf16/baseline.ptx");
  All a(entry(module));
  EXPECT_EQ(a.cfg.loops().size(), 2u);
  int global = 0;
  for (const auto& access : a.accesses) {
    if (access.space != isa::Space::global) continue;
    ++global;
    EXPECT_EQ(access.bytes, 2u);
    EXPECT_EQ(access.thread_stride, 2);
    EXPECT_NE(access.loop, kNone);
    EXPECT_EQ(a.values.describe(access.loop_step, a.function), "2*ntid.x");
    EXPECT_FALSE(access.loop_stride);
  }
  EXPECT_EQ(global, 4);
}

TEST(Values, ConstantStridesMovePointers) {
  auto module = read("src/analysis/testdata/kernels.ptx");
  All a(entry(module, "scale_rows"));
  std::vector<int64_t> strides;
  for (const auto& access : a.accesses) {
    ASSERT_TRUE(access.loop_stride);
    strides.push_back(*access.loop_stride);
    // Where the unrolled loop begins depends on the rounds before it, which only a branch knows.
    if (*access.loop_stride == 1024)
      EXPECT_EQ(access.thread_stride, 4) << access.statement;
    else
      EXPECT_FALSE(access.thread_stride) << access.statement;
  }
  EXPECT_EQ(strides, (std::vector<int64_t>{1024, 1024, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096}));
}

TEST(Values, UnequalStridesAndGathersAreSaid) {
  auto module = of_body(R"(
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 32;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3+16];
  mul.wide.u32 %rd4, %r2, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.u32 %r3, [%rd5];
  st.global.u32 [%rd5], %r3;
  ret;
)");
  All a(entry(module));
  ASSERT_EQ(a.accesses.size(), 3u);
  EXPECT_EQ(a.accesses[0].thread_stride, 32);
  EXPECT_EQ(a.accesses[0].alignment, 4u);  // the base's own alignment is not known to be more
  EXPECT_FALSE(a.accesses[1].thread_stride);
  EXPECT_EQ(a.accesses[1].parameter, 0u);
}

TEST(Uniform, ByDataAndByControl) {
  auto module = read("tasks/norm/rmsnorm_bf16/baseline.ptx");
  All a(entry(module));
  Uniform cta(a.function, a.cfg, a.values, Group::cta), line(a.function, a.cfg, a.values, Group::line);
  // The scale comes from shared memory: the same for a CTA, not for the grid.
  auto rsqrt = a.find("rsqrt");
  auto scale = a.values.written(rsqrt, a.function.body[rsqrt].instruction()->operands[0].id);
  ASSERT_TRUE(scale);
  EXPECT_TRUE(cta.uniform(*scale));
  EXPECT_FALSE(line.uniform(*scale));
  // A shuffle's result differs.
  auto shfl = a.find("shfl");
  auto other = a.values.written(shfl, a.function.body[shfl].instruction()->operands[0].elements[0].id);
  ASSERT_TRUE(other);
  EXPECT_FALSE(cta.uniform(*other));
}

TEST(Uniform, ValuesThatMeetBelowADivergentBranchDiffer) {
  auto module = of_body(R"(
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 1;
  setp.lt.u32 %p1, %r1, 7;
  @%p1 bra SKIP;
  mov.u32 %r2, 2;
SKIP:
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, 1;
  setp.lt.u32 %p2, %r3, 7;
  @%p2 bra END;
  mov.u32 %r4, 2;
END:
  st.global.u32 [%rd1], %r2;
  st.global.u32 [%rd1], %r4;
  ret;
)");
  All a(entry(module));
  Uniform cta(a.function, a.cfg, a.values, Group::cta), grid(a.function, a.cfg, a.values, Group::grid);
  auto first = *a.values.read(a.find("st", 0), a.reg("%r2")), second = *a.values.read(a.find("st", 1), a.reg("%r4"));
  EXPECT_FALSE(cta.uniform(first));
  EXPECT_TRUE(cta.uniform(second));
  EXPECT_FALSE(grid.uniform(second));
}

TEST(Registers, DestinationsAndGuards) {
  auto module = of_body(R"(
  setp.lt.u32 %p1|%p2, %r1, %r2;
  @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
  st.global.v2.f32 [%rd2], {%f1, %f2};
  shfl.sync.bfly.b32 %r3|%p3, %r4, 1, 31, -1;
  red.global.add.u32 [%rd1], %r1;
  ret;
)");
  All a(entry(module));
  auto use = [&](std::string_view opcode) { return register_use(*a.function.body[a.find(opcode)].instruction()); };
  EXPECT_EQ(use("setp").writes.size(), 2u);
  EXPECT_EQ(use("ld").writes, (std::vector<uint32_t>{a.reg("%f1"), a.reg("%f2")}));
  EXPECT_EQ(use("ld").reads, (std::vector<uint32_t>{a.reg("%rd1"), a.reg("%p1")}));
  EXPECT_TRUE(use("ld").partial);
  EXPECT_TRUE(use("st").writes.empty());
  EXPECT_EQ(use("st").reads.size(), 3u);
  EXPECT_EQ(use("shfl").writes.size(), 2u);
  EXPECT_TRUE(use("red").writes.empty());
}

}  // namespace
}  // namespace ptxlab::analysis
