// What instructions cost, what is folded away, in which order a block is issued; and that the sum is near what ptxas makes.
#include "estimate/lowering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "ptx/verifier.h"
#include "toolchain/toolchain.h"

namespace ptxlab::estimate {
namespace {

const Hardware& hopper() { return hardware_of({90, 'a'}); }

ptx::Module module_of(const std::string& body) {
  auto checked = ptx::check(
      ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{\n"
      ".reg .pred %p<4>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .f64 %d<8>;\n.reg .b64 "
      "%rd<16>;\n"
      ".shared .align 16 .b8 s[1024];\nld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\n" +
          body + "ret;\n}\n",
      "test.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, checked.module.source);
  return std::move(checked.module);
}

// The statement whose text begins with `words`, lowered in its function.
const MachineCode& code_of(const LoweredFunction& f, const std::string& opcode, int nth = 0) {
  for (size_t s = 0; s < f.code.size(); ++s) {
    const auto* i = f.function->body[s].instruction();
    std::string words;
    if (i)
      for (const auto& word : i->words) words += word;
    if (words == opcode && nth-- == 0) return f.code[s];
  }
  ADD_FAILURE() << "no " << opcode;
  return f.code.front();
}

TEST(Lowering, PipesOfUsualInstructions) {
  auto m = module_of(
      "fma.rn.f32 %f1, %f2, %f3, %f1;\nadd.s32 %r1, %r2, %r3;\nmul.lo.s32 %r4, %r1, %r2;\nex2.approx.ftz.f32 %f4, "
      "%f1;\n"
      "fma.rn.f64 %d1, %d2, %d3, %d1;\ncvt.rn.f32.s32 %f5, %r4;\nmax.f32 %f6, %f5, %f4;\npopc.b32 %r5, %r4;\n"
      "div.rn.f32 %f7, %f6, %f1;\nrem.u32 %r6, %r5, %r4;\ncvt.rn.f32.f64 %f8, %d1;\n"
      "st.global.f32 [%rd1], %f7;\nst.global.f32 [%rd1+4], %f8;\nst.global.u32 [%rd1+8], %r6;\n");
  EXPECT_EQ(m.functions.size(), 1u);
  auto f = lower(m.functions[0], hopper());
  auto pipe = [&](const char* opcode) { return code_of(f, opcode).pipe; };
  EXPECT_EQ(pipe("fma.rn.f32"), Pipe::fp32);
  EXPECT_EQ(pipe("add.s32"), Pipe::integer);
  EXPECT_EQ(pipe("mul.lo.s32"), Pipe::fp32);  // integer products run beside the floating ones
  EXPECT_EQ(pipe("ex2.approx.ftz.f32"), Pipe::special);
  EXPECT_EQ(pipe("fma.rn.f64"), Pipe::fp64);
  EXPECT_EQ(pipe("cvt.rn.f32.s32"), Pipe::convert);
  EXPECT_EQ(pipe("max.f32"), Pipe::integer);
  EXPECT_EQ(pipe("popc.b32"), Pipe::special);
  EXPECT_GT(code_of(f, "div.rn.f32").slots, 5);
  EXPECT_GT(code_of(f, "rem.u32").slots, 10);
  // A scheduler's 32 lanes of fp32 take a warp in a cycle, its 16 of integers in two, its 4 special ones in eight.
  EXPECT_DOUBLE_EQ(code_of(f, "fma.rn.f32").pipe_cycles, 1);
  EXPECT_DOUBLE_EQ(code_of(f, "add.s32").pipe_cycles, 2);
  EXPECT_DOUBLE_EQ(code_of(f, "ex2.approx.ftz.f32").pipe_cycles, 8);
  auto gaming = lower(m.functions[0], hardware_of({86, 0}));
  EXPECT_GE(code_of(gaming, "fma.rn.f64").pipe_cycles, 32 * code_of(f, "fma.rn.f64").pipe_cycles);
}

TEST(Lowering, AddressArithmeticIsFolded) {
  auto m = module_of(
      "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd4, 1024;\n"
      "ld.global.f32 %f1, [%rd5];\nneg.f32 %f2, %f1;\nadd.f32 %f3, %f2, %f1;\nmul.f32 %f4, %f1, %f1;\n"
      "st.global.f32 [%rd4], %f3;\n");
  auto f = lower(m.functions[0], hopper());
  EXPECT_EQ(code_of(f, "add.s64", 0).slots, 0);  // with the product: one multiply-add
  EXPECT_EQ(code_of(f, "add.s64", 1).slots, 0);  // the load's offset
  EXPECT_EQ(code_of(f, "mul.wide.u32").slots, 1);
  EXPECT_LT(code_of(f, "neg.f32").slots, 0.5);
  EXPECT_EQ(code_of(f, "mul.f32").slots, 0);  // nobody reads it
}

TEST(Lowering, LoadsComeFirstInABlock) {
  auto m = module_of(
      "ld.global.f32 %f1, [%rd1];\nadd.f32 %f5, %f5, %f1;\nld.global.f32 %f2, [%rd1+4];\nadd.f32 %f5, %f5, %f2;\n"
      "ld.global.f32 %f3, [%rd1+8];\nadd.f32 %f5, %f5, %f3;\nst.global.f32 [%rd2], %f5;\n");
  auto f = lower(m.functions[0], hopper());
  std::string order;
  for (uint32_t s : f.order.at(0)) {
    auto role = f.code[s].role;
    if (role == Role::load) order += 'l';
    if (role == Role::compute && f.code[s].pipe == Pipe::fp32) order += '+';
    if (role == Role::store) order += 's';
  }
  EXPECT_EQ(order, "lll+++s");
}

// A store may write what a later load reads, unless the load is of memory that nobody writes.
TEST(Lowering, LoadsDoNotPassStoresUnlessReadOnly) {
  auto order_of = [](const std::string& load) {
    auto m = module_of("ld.global" + load + ".f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\nld.global" + load +
                       ".f32 %f2, [%rd1+4];\nst.global.f32 [%rd2+4], %f2;\n");
    auto f = lower(m.functions[0], hopper());
    std::string order;
    for (uint32_t s : f.order.at(0))
      if (f.code[s].role == Role::load || f.code[s].role == Role::store)
        order += f.code[s].role == Role::load ? 'l' : 's';
    return order;
  };
  EXPECT_EQ(order_of(""), "lsls");
  EXPECT_EQ(order_of(".nc"), "llss");
}

TEST(Lowering, BarriersKeepTheirPlace) {
  auto m = module_of(
      "st.shared.f32 [s], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [s+4];\nbar.sync 0;\nst.shared.f32 [s], %f2;\n"
      "st.global.f32 [%rd1], %f2;\n");
  auto f = lower(m.functions[0], hopper());
  std::string order;
  for (uint32_t s : f.order.at(0)) {
    if (f.code[s].role == Role::barrier) order += 'b';
    if (f.code[s].space == isa::Space::shared) order += f.code[s].role == Role::load ? 'l' : 's';
  }
  EXPECT_EQ(order, "sblbs");
}

// The estimate of machine instructions beside the bytes that ptxas makes (which count padding and slow paths too).
TEST(Lowering, IsNearWhatPtxasMakes) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  double worst = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(PTXLAB_SOURCE_DIR) + "/tasks")) {
    if (entry.path().filename() != "baseline.ptx") continue;
    auto text = base::read_file(entry.path());
    ASSERT_TRUE(text.ok());
    auto checked = ptx::check(*text, "baseline.ptx");
    ASSERT_TRUE(checked.ok());
    toolchain::AssembleOptions how;
    how.target = {90, 'a'};
    auto assembled = toolchain::assemble(*text, "baseline.ptx", how);
    ASSERT_TRUE(assembled.ok());
    for (const auto& resources : assembled->entries) {
      const auto* function = checked.module.function(resources.entry);
      ASSERT_NE(function, nullptr);
      double ours = lower(*function, hopper()).slots, theirs = static_cast<double>(resources.code_bytes) / 16;
      double ratio = ours / theirs;
      if (getenv("PTXLAB_SHOW")) std::printf("%s: ours %.0f, ptxas %.0f\n", entry.path().c_str(), ours, theirs);
      worst = std::max(worst, std::abs(std::log(ratio)));
      EXPECT_GT(ratio, 0.3) << entry.path();  // slow paths of divisions stand in the code, and are never run
      EXPECT_LT(ratio, 1.6) << entry.path();
    }
  }
  EXPECT_GT(worst, 0);
}

TEST(Hardware, EveryTargetHasADevice) {
  for (int sm : {50, 80, 86, 87, 89, 90, 100, 103, 110, 120}) {
    const isa::Target target{static_cast<uint16_t>(sm), 0};
    const Hardware& h = hardware_of(target);
    EXPECT_GT(h.sms, 0);
    EXPECT_GT(h.dram_gbs, 0);
    EXPECT_GT(h.l2_gbs, h.dram_gbs);
  }
  EXPECT_EQ(hardware_of({90, 'a'}).device, "H200");
  EXPECT_EQ(hardware_of({87, 0}).device, "RTX 3090");
  EXPECT_EQ(hardware_of({121, 0}).device, "RTX 5090");
}

}  // namespace
}  // namespace ptxlab::estimate
