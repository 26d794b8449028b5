#include "judge/sass_check.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

using toolchain::SassFacts;

// Reads 128 bits a thread; stores all of them, or one lane's worth.
std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n.reg .b64 %rd<4>;\n.reg "
         ".b32 %r<9>;\n"
         ".reg .f32 %f<9>;\nld.param.u64 %rd1, [a];\ncvta.to.global.u64 %rd1, %rd1;\n" +
         body + "ret;\n}\n";
}
const std::string kAll =
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\nadd.f32 %f1, %f1, %f2;\n"
    "st.global.v4.f32 [%rd1], {%f4, %f3, %f2, %f1};\n";
const std::string kOne = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\nst.global.f32 [%rd1+16], %f2;\n";

std::string said(const std::string& text, std::vector<SassFacts> facts) {
  auto checked = ptx::check(text, "k.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  std::string all;
  for (const auto& finding : compare_with_sass(checked.module, facts, "k.ptx"))
    all += finding.code + ":" + std::to_string(finding.place.line) + " " + finding.message + "\n";
  return all;
}
SassFacts nothing() {
  SassFacts facts;
  facts.entry = "k";
  return facts;
}

TEST(SassCheck, WideAccessesThatAreNotThere) {
  SassFacts facts = nothing();
  facts.global_loads = {{32, 4}};
  facts.global_stores = {{128, 1}};
  EXPECT_EQ(said(kernel(kAll), {facts}),
            "JDG0045:11 the PTX of 'k' has 1 128-bit global loads ('ld.global.v4.f32'), its machine code none\n");
  facts.global_loads[128] = 1;
  EXPECT_EQ(said(kernel(kAll), {facts}), "");
  facts.entry = "another";
  facts.global_loads.clear();
  EXPECT_EQ(said(kernel(kAll), {facts}), "");
}

TEST(SassCheck, ProductsThatAreNotThere) {
  std::string mma = kernel(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
      "{%f1, %f2, %f3, "
      "%f4};\n");
  SassFacts facts = nothing();
  EXPECT_NE(said(mma, {facts}).find("1 mma products"), std::string::npos);
  facts.matrix["HGMMA.64x8x16.F32"] = 1;  // another kind of product is none of this one
  EXPECT_NE(said(mma, {facts}).find("1 mma products"), std::string::npos);
  facts.matrix["HMMA.16816.F32.BF16"] = 1;
  EXPECT_EQ(said(mma, {facts}), "");
}

// Opcodes of several words in the table: each is asked for by the kernel and not in its code.
TEST(SassCheck, AsynchronousWorkThatIsNotThere) {
  auto on_hopper = [](const std::string& body) {
    std::string text =
        kernel(".reg .b64 %d<2>;\n.shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n" + body);
    return text.replace(text.find("sm_80"), 5, "sm_90a");
  };
  SassFacts facts = nothing();
  std::string copy = on_hopper("mov.u32 %r1, tile;\ncp.async.cg.shared.global [%r1], [%rd1], 16;\n");
  EXPECT_NE(said(copy, {facts}).find("1 asynchronous copies ('cp.async.cg.shared.global')"), std::string::npos)
      << said(copy, {facts});
  std::string bulk = on_hopper(
      "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 1024, [%r2];\n");
  EXPECT_NE(said(bulk, {facts}).find("1 bulk copies"), std::string::npos) << said(bulk, {facts});
  std::string wgmma =
      on_hopper("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %d0, %d1, 1, 1, 1, 0, 0;\n");
  EXPECT_NE(said(wgmma, {facts}).find("1 wgmma products"), std::string::npos) << said(wgmma, {facts});
  facts.async_copies = facts.bulk_copies = 1;
  facts.matrix["HGMMA.64x8x16.F32.BF16"] = 1;
  for (const auto& text : {copy, bulk, wgmma}) EXPECT_EQ(said(text, {facts}), "");
}

TEST(SassCheck, LocalMemoryInLoops) {
  SassFacts facts = nothing();
  facts.local_loads = 3;
  EXPECT_EQ(said(kernel(""), {facts}), "");
  facts.local_in_loops = 2;
  EXPECT_NE(said(kernel(""), {facts}).find("JDG0046:0"), std::string::npos);
}

// ptxas itself: what is used stays wide, what is not is narrowed.
TEST(SassCheck, OfWhatPtxasMakes) {
  const auto& tools = toolchain::installed();
  if (!tools.ptxas || !tools.nvdisasm) GTEST_SKIP() << "needs ptxas and nvdisasm";
  auto of = [&](const std::string& text) {
    toolchain::AssembleOptions how;
    how.target = {80, 0};
    auto assembled = toolchain::assemble(text, "k.ptx", how);
    EXPECT_TRUE(assembled.ok());
    SassReading reading;
    EXPECT_FALSE(reading.take());
    reading.start(*tools.nvdisasm, assembled->cubin, {"k"});
    auto outcome = reading.take();
    EXPECT_EQ(outcome->trouble, "");
    EXPECT_EQ(outcome->facts.size(), 1u);
    return said(text, outcome->facts);
  };
  EXPECT_EQ(of(kernel(kAll)), "");
  EXPECT_NE(of(kernel(kOne)).find("JDG0045:11"), std::string::npos);
}

TEST(SassCheck, AToolThatFailsIsTold) {
  SassReading reading;
  reading.start({"/nonexistent/nvdisasm", "1.0", 0}, "not a cubin", {"k"});
  auto outcome = reading.take();
  ASSERT_TRUE(outcome);
  EXPECT_NE(outcome->trouble, "");
}

}  // namespace
}  // namespace ptxlab::judge
