#include "analysis/structure.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::analysis {
namespace {

// The facts of entry k(x, y, n) with this body.
Structure structure(const std::string& body, const Known& known = {}) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) "
      "{\n"
      ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<30>;\n.shared .align 16 .b8 "
      "room[32768];\n" +
      body + "}\n";
  auto checked = ptx::check(text, "k.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  return structure_of(*checked.module.function("k"), known);
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

// ld.shared.f32 at room + what `index` leaves in %r9, by threads of this block.
AccessFacts shared_load(const std::string& index, const Known& known = {}) {
  auto s = structure("mov.u32 %r1, %tid.x;\nmov.u32 %r7, %tid.y;\n" + index +
                         "mov.u32 %r10, room;\nadd.s32 %r11, %r10, %r9;\nld.shared.f32 %f1, [%r11];\nret;\n",
                     known);
  EXPECT_EQ(s.accesses.size(), 1u);
  return s.accesses.empty() ? AccessFacts{} : s.accesses[0];
}

TEST(Structure, LanesAreFollowedThroughMasksShiftsAndSwizzles) {
  struct Case {
    const char* index;
    StrideClass stride;
    std::optional<int64_t> lane_stride;
    uint32_t group, wavefronts;
  };
  for (const auto& c : {
           Case{"and.b32 %r2, %r1, 31;\nshl.b32 %r9, %r2, 2;\n", StrideClass::affine, 4, 32, 1},
           Case{"rem.u32 %r2, %r1, 32;\nshl.b32 %r9, %r2, 7;\n", StrideClass::affine, 128, 32, 32},
           Case{"shr.u32 %r2, %r1, 5;\nshl.b32 %r9, %r2, 2;\n", StrideClass::uniform, 0, 32, 1},
           Case{"shr.u32 %r2, %r1, 3;\nshl.b32 %r9, %r2, 2;\n", StrideClass::tiled, 0, 8, 1},
           Case{"and.b32 %r2, %r1, 7;\nshl.b32 %r9, %r2, 2;\n", StrideClass::tiled, 4, 8, 1},
           // Column l of a tile of 32 words a row, with the column XORed by the row.
           Case{"and.b32 %r2, %r1, 31;\nshl.b32 %r3, %r2, 7;\nxor.b32 %r4, %r2, 5;\nshl.b32 %r5, %r4, 2;\nadd.s32 %r9, "
                "%r3, %r5;\n",
                StrideClass::pattern, std::nullopt, 32, 1},
           // min, bfe, selp: threads beyond the 15th share an address.
           Case{"min.u32 %r2, %r1, 15;\nbfe.u32 %r3, %r2, 0, 8;\nshl.b32 %r9, %r3, 2;\n", StrideClass::pattern,
                std::nullopt, 32, 1},
       }) {
    Known known;
    known.block = {32, 1, 1};
    auto access = shared_load(c.index, known);
    EXPECT_EQ(access.lanes.stride, c.stride) << c.index << name_of(access.lanes.stride);
    EXPECT_EQ(access.lanes.lane_stride, c.lane_stride) << c.index;
    EXPECT_EQ(access.lanes.group, c.group) << c.index;
    EXPECT_EQ(access.wavefronts, c.wavefronts) << c.index;
  }
}

TEST(Structure, AWarpOfANarrowBlockHasSeveralRows) {
  const std::string index = "mad.lo.s32 %r2, %r7, 33, %r1;\nshl.b32 %r9, %r2, 2;\n";
  Known known;
  known.block = {16, 16, 1};
  auto narrow = shared_load(index, known);
  EXPECT_EQ(narrow.lanes.stride, StrideClass::tiled);
  EXPECT_EQ(narrow.lanes.group, 16u);
  EXPECT_EQ(narrow.lanes.lane_stride, 4);
  EXPECT_EQ(narrow.wavefronts, 2u);  // the second row begins at bank 1, so all but one bank are asked twice
  known.block = {64, 4, 1};
  EXPECT_EQ(shared_load(index, known).lanes.stride, StrideClass::affine);
}

TEST(Structure, AStrideThatSizesDecideIsSaidInTheirNames) {
  const std::string body =
      "ld.param.u64 %rd1, [x];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nmul.lo.s32 %r3, %r1, %r2;\nmul.wide.s32 "
      "%rd2, %r3, "
      "4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\nret;\n";
  auto open = structure(body);
  EXPECT_EQ(open.accesses[0].lanes.stride, StrideClass::affine);
  EXPECT_FALSE(open.accesses[0].lanes.lane_stride);
  EXPECT_EQ(open.accesses[0].stride_text, "4*n");
  EXPECT_EQ(open.accesses[0].sectors, 32u);
  EXPECT_EQ(open.accesses[0].alignment, 4u);
  Known known;
  known.parameters[2] = 2;
  known.names = {"table", "", "rows"};
  auto closed = structure(body, known);
  EXPECT_EQ(closed.accesses[0].lanes.lane_stride, 8);
  EXPECT_EQ(closed.accesses[0].sectors, 8u);
  EXPECT_EQ(closed.accesses[0].alignment, 8u);
  EXPECT_EQ(closed.accesses[0].base, "table");
}

// A loop from %r2 = `first` on; `body` ends in the branch back to LOOP, or leaves to END.
LoopFacts loop(const std::string& first, const std::string& body, const Known& known = {}) {
  auto s = structure(
      "ld.param.u32 %r1, [n];\nmov.u32 %r5, %tid.x;\nmov.u32 %r2, " + first + ";\nLOOP:\n" + body + "END:\nret;\n",
      known);
  EXPECT_EQ(s.loops.size(), 1u);
  return s.loops.empty() ? LoopFacts{} : s.loops[0];
}

TEST(Structure, TurnsFollowFromTheComparisonThatLeaves) {
  struct Case {
    const char *first, *body, *text;
    std::optional<int64_t> turns;
  };
  for (const auto& c : {
           Case{"0", "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 10;\n@%p1 bra LOOP;\n", "10", 10},
           Case{"0", "add.s32 %r2, %r2, 3;\nsetp.le.s32 %p1, %r2, 10;\n@%p1 bra LOOP;\n", "ceil(11 / 3)", 4},
           Case{"16", "add.s32 %r2, %r2, -4;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra LOOP;\n", "ceil(16 / 4)", 4},
           Case{"9", "sub.s32 %r2, %r2, 1;\nsetp.gt.s32 %p1, %r2, 2;\n@%p1 bra LOOP;\n", "7", 7},
           Case{"0", "setp.ge.u32 %p1, %r2, 5;\n@%p1 bra END;\nadd.s32 %r2, %r2, 1;\nbra LOOP;\n", "5", 5},
           Case{"0", "add.s32 %r2, %r2, 1;\nsetp.ge.s32 %p1, %r2, 6;\n@!%p1 bra LOOP;\n", "6", 6},
           Case{"%tid.x", "add.s32 %r2, %r2, 32;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra LOOP;\n",
                "ceil((n - tid.x) / 32)", std::nullopt},
           // Decided by what is read.
           Case{"0", "ld.shared.u32 %r3, [room];\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %r3;\n@%p1 bra LOOP;\n",
                "", std::nullopt},
       }) {
    auto facts = loop(c.first, c.body);
    EXPECT_EQ(facts.trips, c.text) << c.body;
    EXPECT_EQ(facts.most_trips, c.turns) << c.body;
    EXPECT_EQ(facts.least_trips, c.turns) << c.body;
  }
  Known known;
  known.block = {64, 1, 1};
  known.parameters[2] = 100;
  auto facts = loop("%tid.x", "add.s32 %r2, %r2, 32;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra LOOP;\n", known);
  EXPECT_EQ(facts.least_trips, 2);  // thread 63: 63, 95
  EXPECT_EQ(facts.most_trips, 4);   // thread 0: 0, 32, 64, 96
}

TEST(Structure, ALoopWithAnotherWayOutRunsAtMostSoOften) {
  auto facts = loop(
      "0",
      "ld.shared.u32 %r3, [room];\nsetp.eq.s32 %p2, %r3, 7;\n@%p2 bra END;\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, "
      "%r2, 10;\n@%p1 bra LOOP;\n");
  EXPECT_EQ(facts.most_trips, 10);
  EXPECT_TRUE(facts.at_most);
}

TEST(Structure, CopiesAndBarriersAreToldForWhatTheyAre) {
  auto s = structure(
      "ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 16;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 "
      "%r2, "
      "room;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r4, %r2, %r3;\ncp.async.cg.shared.global [%r4], [%rd3], "
      "16;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\nbar.warp.sync -1;\nmembar.gl;\nret;\n");
  ASSERT_EQ(s.accesses.size(), 2u);
  EXPECT_TRUE(s.accesses[0].async && s.accesses[0].writes && s.accesses[0].space == isa::Space::shared);
  EXPECT_TRUE(s.accesses[1].async && s.accesses[1].reads && s.accesses[1].space == isa::Space::global);
  EXPECT_EQ(s.accesses[1].bytes, 16u);
  EXPECT_EQ(s.accesses[1].sectors, 16u);
  using Kind = BarrierFacts::Kind;
  std::vector<Kind> kinds;
  for (const auto& barrier : s.barriers) kinds.push_back(barrier.kind);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::async_wait, Kind::cta, Kind::warp, Kind::fence}));
  EXPECT_EQ(s.mix[MixClass::async_copy], 3u);
  EXPECT_EQ(s.mix[MixClass::barrier], 2u);
}

}  // namespace
}  // namespace ptxlab::analysis
