#include "report/claims.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptxlab::report {
namespace {

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n";

// "accesses of 16 bytes:yes, barrier:no"
std::string claimed(const std::string& body) {
  std::string all;
  for (const auto& claim : claims_of(kHead + body + "\tret;\n}\n"))
    all += (all.empty() ? "" : ", ") + claim.what + (claim.holds ? ":yes" : ":no");
  return all;
}

const char* kWide =
    "\t.reg .b64 %rd<3>;\n\t.reg .f32 %f<5>;\n\tld.param.u64 %rd1, [p];\n"
    "\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n";
const char* kNarrow =
    "\t.reg .b64 %rd<3>;\n\t.reg .f32 %f<5>;\n\tld.param.u64 %rd1, [p];\n\tld.global.f32 %f1, [%rd1];\n";

TEST(Claims, VectorWidth) {
  EXPECT_EQ(claimed(std::string("\t// 128-bit loads, 4 elements a thread\n") + kWide), "accesses of 16 bytes:yes");
  EXPECT_EQ(claimed(std::string("\t// 128-bit loads, 4 elements a thread\n") + kNarrow), "accesses of 16 bytes:no");
  EXPECT_EQ(claimed(std::string("\t/* Vectorized: float4 loads */\n") + kWide),
            "accesses of 16 bytes:yes, vector accesses:yes");
  EXPECT_EQ(claimed(std::string("\t// a 16-byte vector store would need alignment\n") + kNarrow), "");
  EXPECT_EQ(claimed(std::string("\t// x is 16 bytes aligned\n") + kNarrow), "");
  EXPECT_EQ(claimed(std::string("\t// 32-bit registers\n") + kNarrow), "");
}

TEST(Claims, WhatInstructionsKeep) {
  EXPECT_EQ(
      claimed(
          "\t// Stage the tile in shared memory\n\t.shared .b32 t[4];\n\t.reg .b32 %r<2>;\n\tst.shared.u32 [t], 1;\n"),
      "shared memory:yes");
  EXPECT_EQ(claimed("\t// Stage the tile in shared memory\n"), "shared memory:no");
  EXPECT_EQ(claimed("\t// barrier: all threads have written\n\tbar.sync 0;\n"), "barrier:yes");
  EXPECT_EQ(claimed("\t// __syncthreads()\n"), "barrier:no");
  EXPECT_EQ(claimed("\t// tensor cores do the product\n"), "tensor cores:no");
  EXPECT_EQ(claimed("\t// cp.async brings the next tile\n\tcp.async.commit_group;\n"), "asynchronous copies:yes");
}

// What a comment says is not there is no claim that it is.
TEST(Claims, DenialsAreNone) {
  EXPECT_EQ(claimed("\t// no shared memory is needed\n"), "");
  EXPECT_EQ(claimed("\t// works without a barrier\n"), "");
  EXPECT_EQ(claimed("\t// avoids atomics\n"), "");
  EXPECT_EQ(claimed("\t// shuffles instead of shared memory\n"), "warp shuffles:no");
}

TEST(Claims, Unrolling) {
  std::string four, one;
  for (int i = 0; i < 4; ++i) four += "\tfma.rn.f32 %f1, %f1, %f2, %f3;\n";
  one = "\tfma.rn.f32 %f1, %f1, %f2, %f3;\n";
  const std::string registers = "\t.reg .f32 %f<4>;\n";
  EXPECT_EQ(claimed("\t// unrolled by 4\n" + registers + four), "unrolled by 4:yes");
  EXPECT_EQ(claimed("\t// unrolled by 4\n" + registers + one), "unrolled by 4:no");
  EXPECT_EQ(claimed("\t// 4x unrolled\n" + registers + one), "unrolled:no");
}

TEST(Claims, CoalescedIsReadOffTheAddresses) {
  const auto kernel = [](int stride) {
    return "\t// coalesced: neighbours read neighbours\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<3>;\n\t.reg .f32 %f<2>;\n"
           "\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, "
           "%r1, " +
           std::to_string(stride) +
           ";\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.f32 %f1, [%rd3];\n\tst.global.f32 [%rd3], %f1;\n";
  };
  EXPECT_EQ(claimed(kernel(4)), "coalesced accesses:yes");
  EXPECT_EQ(claimed(kernel(256)), "coalesced accesses:no");
}

// Text that is no PTX has claims all the same, and nothing breaks.
TEST(Claims, OfGarbage) {
  auto claims = claims_of("// uses shared memory\n} ] .. @@ ; st.shared.f32 ;;;; /* barrier");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_TRUE(claims[0].holds);
  EXPECT_FALSE(claims[1].holds);
  EXPECT_TRUE(claims_of("").empty());
}

}  // namespace
}  // namespace ptxlab::report
