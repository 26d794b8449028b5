#include "analysis/structure.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::analysis {
namespace {

// The facts of entry k(x, y, n) with this body.
Structure structure(const std::string& body) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) "
      "{\n"
      ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<30>;\n.shared .align 16 .b8 "
      "room[32768];\n" +
      body + "}\n";
  auto checked = ptx::check(text, "k.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  return structure_of(*checked.module.function("k"));
}

// ld.global of `words` at x + tid.x * scale.
std::string load(const std::string& words, const std::string& into, int scale) {
  return "ld.param.u64 %rd1, [x];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\nmul.wide.s32 %rd3, %r1, " +
         std::to_string(scale) + ";\nadd.s64 %rd4, %rd2, %rd3;\nld.global." + words + " " + into + ", [%rd4];\nret;\n";
}

TEST(Structure, SectorsAWarpFollowFromTheStride) {
  struct Case {
    const char *words, *into;
    int scale;
    StrideClass stride;
    uint32_t sectors;
  };
  for (const auto& c :
       {Case{"f32", "%f1", 4, StrideClass::affine, 4}, Case{"f32", "%f1", 0, StrideClass::uniform, 1},
        Case{"f32", "%f1", 8, StrideClass::affine, 8}, Case{"f32", "%f1", 4096, StrideClass::affine, 32},
        Case{"f32", "%f1", -4, StrideClass::affine, 5}, Case{"u8", "%r2", 1, StrideClass::affine, 1},
        Case{"v4.f32", "{%f1, %f2, %f3, %f4}", 16, StrideClass::affine, 16},
        Case{"v2.f32", "{%f1, %f2}", 32, StrideClass::affine, 32}}) {
    auto s = structure(load(c.words, c.into, c.scale));
    ASSERT_EQ(s.accesses.size(), 1u);
    EXPECT_EQ(s.accesses[0].lanes.stride, c.stride) << c.words << " " << c.scale;
    EXPECT_EQ(s.accesses[0].sectors, c.sectors) << c.words << " " << c.scale;
    EXPECT_EQ(s.accesses[0].base, "x");
    EXPECT_FALSE(s.accesses[0].wavefronts);
  }
}

TEST(Structure, WavefrontsOfSharedMemoryFollowFromTheBanks) {
  struct Case {
    const char *words, *into;
    int scale;
    uint32_t wavefronts;
  };
  for (const auto& c :
       {Case{"f32", "%f1", 4, 1}, Case{"f32", "%f1", 0, 1}, Case{"f32", "%f1", 8, 2}, Case{"f32", "%f1", 128, 32},
        Case{"f32", "%f1", 132, 1}, Case{"v2.f32", "{%f1, %f2}", 8, 2}, Case{"v4.f32", "{%f1, %f2, %f3, %f4}", 16, 4},
        Case{"v4.f32", "{%f1, %f2, %f3, %f4}", 128, 32}}) {
    auto s = structure("mov.u32 %r1, %tid.x;\nmov.u32 %r2, room;\nmad.lo.s32 %r3, %r1, " + std::to_string(c.scale) +
                       ", %r2;\nld.shared." + c.words + " " + c.into + ", [%r3];\nret;\n");
    ASSERT_EQ(s.accesses.size(), 1u);
    EXPECT_EQ(s.accesses[0].wavefronts, c.wavefronts) << c.words << " " << c.scale;
    EXPECT_EQ(s.accesses[0].base, "room");
    EXPECT_FALSE(s.accesses[0].sectors);
  }
}

TEST(Structure, AnAddressByDataIsIrregular) {
  auto s = structure(
      "ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "ld.u32 %r2, [%rd3];\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.f32 %f1, [%rd5];\n"
      "ld.param.u64 %rd6, [y];\nred.add.f32 [%rd6], %f1;\nret;\n");
  ASSERT_EQ(s.accesses.size(), 3u);
  EXPECT_EQ(s.accesses[0].lanes.stride, StrideClass::affine);
  EXPECT_EQ(s.accesses[1].lanes.stride, StrideClass::irregular);
  EXPECT_FALSE(s.accesses[1].sectors);
  EXPECT_EQ(s.accesses[1].instruction, "ld.f32 %f1, [%rd5];");
  EXPECT_TRUE(s.accesses[2].atomic);
  EXPECT_EQ(s.accesses[2].base, "y");
  EXPECT_EQ(s.accesses[2].lanes.stride, StrideClass::uniform);
}

TEST(Structure, BlocksLoopsAndLiveRegistersWithTheirLines) {
  auto s = structure(
      "ld.param.u64 %rd1, [x];\n"     // line 10
      "ld.param.u32 %r1, [n];\n"      // 11
      "mov.u32 %r2, 0;\n"             // 12
      "mov.f32 %f1, 0f00000000;\n"    // 13
      "LOOP:\n"                       // 14
      "ld.global.f32 %f2, [%rd1];\n"  // 15
      "add.f32 %f1, %f1, %f2;\n"      // 16
      "add.s64 %rd1, %rd1, 64;\n"     // 17
      "add.s32 %r2, %r2, 1;\n"        // 18
      "setp.lt.u32 %p1, %r2, %r1;\n"  // 19
      "@%p1 bra LOOP;\n"              // 20
      "ld.param.u64 %rd2, [y];\n"     // 21
      "st.global.f32 [%rd2], %f1;\nret;\n");
  ASSERT_EQ(s.blocks.size(), 3u);
  EXPECT_EQ(s.blocks[1].label, "LOOP");
  EXPECT_EQ(s.blocks[1].lines.first, 15u);
  EXPECT_EQ(s.blocks[1].lines.last, 20u);
  EXPECT_EQ(s.blocks[1].instructions, 6u);
  EXPECT_EQ(s.blocks[1].live_at_start, 5u);  // %rd1 (2), %r1, %r2, %f1
  EXPECT_EQ(s.blocks[1].loop, 0u);
  EXPECT_FALSE(s.blocks[0].loop);
  ASSERT_EQ(s.loops.size(), 1u);
  EXPECT_EQ(s.loops[0].lines.first, 15u);
  EXPECT_EQ(s.loops[0].header, 1u);
  ASSERT_EQ(s.accesses.size(), 2u);
  EXPECT_EQ(s.accesses[0].loop_step, "64");
  EXPECT_EQ(s.peak, 6u);
  EXPECT_TRUE(s.live_known);
}

}  // namespace
}  // namespace ptxlab::analysis
