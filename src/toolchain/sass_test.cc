#include "toolchain/sass.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/file.h"
#include "toolchain/fake_tool.h"

namespace ptxlab::toolchain {
namespace {

// Lines as nvdisasm prints them for sm_90a, put together so that each fact is there once.
constexpr const char* kListing = R"(	.target	sm_90a

//--------------------- .text.kernel --------------------------
	.section	.text.kernel,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=162"
	.align	128
        .global         kernel
        .type           kernel,@function
kernel:
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R2, SR_TID.X ;
        /*0020*/                   ULDC.64 UR6, c[0x0][0x208] ;
        /*0030*/                   HFMA2.MMA R7, -RZ, RZ, 0, 0 ;
        /*0040*/                   IMAD.MOV.U32 R0, RZ, RZ, RZ ;
.L_x_2:
        /*0050*/                   LDG.E.128.CONSTANT R4, desc[UR6][R4.64] ;
        /*0060*/                   LDG.E.LTC128B.U16 R8, desc[UR6][R8.64] ;
        /*0070*/                   LDGSTS.E.BYPASS.LTC128B.128 [R9], desc[UR6][R10.64] ;
        /*0080*/                   HADD2.F32 R8, -RZ, R8.H0_H0 ;
        /*0090*/                   FFMA R0, R4, R4, R0 ;
        /*00a0*/                   STL.64 [R1+0x8], R4 ;
        /*00b0*/                   LDSM.16.M88.4 R12, [R20] ;
        /*00c0*/                   HMMA.16816.F32.BF16 R12, R12, R16, R12 ;
        /*00d0*/              @!P1 BRA `(.L_x_2) ;
        /*00e0*/                   LDL.64 R4, [R1+0x8] ;
        /*00f0*/                   UTMALDG.2D [UR8], [UR4], desc[URZ] ;
        /*0100*/                   UBLKCP.S.G [UR8], [UR4], UR9 ;
        /*0110*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;
        /*0120*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0130*/                   STS.U8 [R3], R4 ;
        /*0140*/                   STG.E.64 desc[UR6][R4.64], R6 ;
        /*0150*/                   MUFU.RSQ R5, R5 ;
        /*0160*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full) ;
        /*0170*/                   FROBNICATE.NEW R1, R2 ;
        /*0180*/                   EXIT ;
.L_x_3:
        /*0190*/                   BRA `(.L_x_3);
        /*01a0*/                   NOP;
.L_x_22:

//--------------------- .text.other --------------------------
	.section	.text.other,"ax",@progbits
other:
.text.other:
        /*0000*/                   EXIT ;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
        /*0000*/ 	.byte	0x04
)";

TEST(Sass, EveryFactOfAListing) {
  auto all = read_sass(kListing);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].entry, "other");
  EXPECT_EQ(all[1].instructions, 1u);
  const SassFacts& facts = all[0];
  EXPECT_EQ(facts.entry, "kernel");
  EXPECT_EQ(facts.instructions, 25u);  // neither the trap at the end nor padding
  EXPECT_EQ(facts.loops, 1u);
  EXPECT_EQ(facts.in_loops, 9u);
  EXPECT_EQ(facts.global_loads, (SassFacts::Widths{{16, 1}, {128, 1}}));
  EXPECT_EQ(facts.global_stores, (SassFacts::Widths{{64, 1}}));
  EXPECT_EQ(facts.shared_stores, (SassFacts::Widths{{8, 1}}));
  EXPECT_TRUE(facts.shared_loads.empty());
  EXPECT_EQ(facts.local_loads, 1u);
  EXPECT_EQ(facts.local_stores, 1u);
  EXPECT_EQ(facts.local_in_loops, 1u);
  EXPECT_EQ(facts.async_copies, 1u);
  EXPECT_EQ(facts.bulk_copies, 1u);
  EXPECT_EQ(facts.tensor_copies, 1u);
  EXPECT_EQ(facts.matrix_loads, 1u);
  EXPECT_EQ(facts.calls, 1u);
  EXPECT_EQ(facts.matrix,
            (std::map<std::string, uint64_t>{{"HMMA.16816.F32.BF16", 1}, {"HGMMA.64x256x16.F32.BF16", 1}}));
  EXPECT_TRUE(facts.warpgroup_products());
  EXPECT_TRUE(facts.warp_products());
  EXPECT_FALSE(facts.tensor_memory_products());
  EXPECT_EQ(facts.mix.at(SassClass::move), 3u);  // S2R, and two copies in an arithmetic pipe's clothes
  EXPECT_EQ(facts.mix.at(SassClass::conversion), 1u);
  EXPECT_EQ(facts.mix.at(SassClass::fp32), 1u);
  EXPECT_EQ(facts.mix.at(SassClass::constant), 2u);
  EXPECT_EQ(facts.mix.at(SassClass::other), 1u);
  EXPECT_EQ(facts.mix.count(SassClass::fp16), 0u);
  auto lines = sass_lines(facts);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 40), "25 instructions, 9 of them in 1 loop: mo");
  EXPECT_EQ(lines[1],
            "global loads 1 x 128, 1 x 16 bits; global stores 1 x 64 bits; shared stores 1 x 8 bits; 1 x ldmatrix; 1 x "
            "cp.async; 1 x "
            "cp.async.bulk; 1 x TMA; local memory: 1 loads, 1 stores (1 in loops); 1 x HGMMA.64x256x16.F32.BF16; 1 x "
            "HMMA.16816.F32.BF16; 1 x call");
}

TEST(Sass, EncodingsAndNonsenseAreNoInstructions) {
  auto all = read_sass(
      "\t.section\t.text.k,\"ax\",@progbits\n"
      "        /*0000*/  FADD R0, R1, R2 ;      /* 0x000e220000000800 */\n"
      "                                         /* 0x000fe20000000a00 */\n"
      "/*zz*/ FADD R0, R1, R2 ;\n/*\n*/\n/*0010*/\n/*0020*/ @P0\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].instructions, 1u);
  EXPECT_TRUE(read_sass("").empty());
  EXPECT_TRUE(read_sass("nothing of the kind").empty());
}

TEST(Sass, AToolThatFailsIsAFinding) {
  base::TemporaryFolder cache("ptxlab-sass-test");
  FakeTool fails("echo 'nvdisasm fatal: not a cubin' >&2; exit 1", "nvdisasm");
  auto facts = sass_facts(fails.tool(), "not a cubin", {std::chrono::seconds(5), cache.path()});
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.findings()[0].code, "ASM0013");
  EXPECT_NE(facts.findings()[0].message.find("not a cubin"), std::string::npos);
}

TEST(Sass, AListingIsKept) {
  base::TemporaryFolder cache("ptxlab-sass-test");
  auto listing = cache.path() / "listing";
  ASSERT_TRUE(base::write_file(listing, kListing).empty());
  FakeTool tool("echo x >> \"$0.calls\"; cat " + listing.string(), "nvdisasm");
  auto first = sass_facts(tool.tool(), "cubin", {std::chrono::seconds(5), cache.path() / "cache"});
  auto second = sass_facts(tool.tool(), "cubin", {std::chrono::seconds(5), cache.path() / "cache"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(*first, read_sass(kListing));
  EXPECT_EQ(tool.calls(), 1u);
}

// Real code: nothing in it is unknown, and what its PTX says is there.
TEST(Sass, OfRealKernels) {
  const auto& tools = installed();
  if (!tools.ptxas || !tools.nvdisasm) GTEST_SKIP() << "needs ptxas and nvdisasm";
  auto facts_of = [&](const std::string& file, isa::Target target) {
    auto text = base::read_file(std::filesystem::path(PTXLAB_SOURCE_DIR) / file);
    EXPECT_TRUE(text.ok()) << file;
    AssembleOptions how;
    how.target = target;
    auto assembled = assemble(*text, file, how);
    EXPECT_TRUE(assembled.ok()) << file;
    if (!assembled) return SassFacts();
    auto facts = sass_facts(*tools.nvdisasm, assembled->cubin);
    EXPECT_TRUE(facts.ok() && !facts->empty()) << file;
    SassFacts sum;
    for (const auto& one : *facts) {
      EXPECT_EQ(one.mix.count(SassClass::other), 0u) << file << " " << one.entry;
      uint64_t all = 0;
      for (const auto& [part, count] : one.mix) all += count;
      EXPECT_EQ(all, one.instructions);
      // The code's own size agrees: 16 bytes an instruction, and what is beyond is padding.
      const Resources* resources = assembled->entry(one.entry);
      if (resources) {
        EXPECT_LE(one.instructions * 16, resources->code_bytes) << one.entry;
      }
    }
    return facts->front();
  };
  EXPECT_TRUE(facts_of("tests/corpus/triton/matmul.triton_3.6.sm_90.ptx", {90, 'a'}).warpgroup_products());
  auto mma = facts_of("tests/corpus/triton/matmul.triton_3.6.sm_80.ptx", {80, 0});
  EXPECT_TRUE(mma.warp_products());
  EXPECT_GT(mma.loops, 0u);
  auto norm = facts_of("tasks/norm/rmsnorm_bf16/baseline.ptx", {90, 'a'});
  EXPECT_GT(norm.global_loads.at(16), 0u);
  EXPECT_EQ(norm.global_loads.count(128), 0u);
  EXPECT_GT(facts_of("tasks/gemm/sgemm_f32/baseline.ptx", {90, 0}).mix.at(SassClass::fp32), 500u);
}

}  // namespace
}  // namespace ptxlab::toolchain
