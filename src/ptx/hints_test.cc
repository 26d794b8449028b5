// What the hints say, and on what they stay silent.
#include "ptx/hints.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

// The codes that check reports for an entry with this body, beside variables of the module.
std::string codes(const std::string& body) {
  auto checked = check(
      ".version 8.3\n.target sm_80\n.address_size 64\n.global .align 4 .u32 flag;\n.global .align 4 .u32 table[64];\n"
      ".const .align 4 .u32 fixed[4];\n.visible .entry k() {\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
      ".reg .b64 %d<9>;\n.shared .align 16 .b8 room[64];\n" +
          body + "\nret;\n}\n",
      "t.ptx");
  std::string all;
  for (const auto& finding : checked.findings) all += (all.empty() ? "" : " ") + finding.code;
  return all;
}

TEST(KeptState, IsSeenHoweverTheVariableIsReached) {
  for (const char* body : {
           "ld.global.u32 %r1, [flag]; st.global.u32 [flag], 1;",
           "mov.u64 %d1, flag; ld.global.u32 %r1, [%d1]; st.global.u32 [%d1], 1;",
           "mov.u64 %d1, flag; cvta.global.u64 %d2, %d1; ld.u32 %r1, [%d2]; st.u32 [%d2], 1;",
           "ld.volatile.global.u32 %r1, [flag]; st.volatile.global.u32 [flag], 1;",
           "ld.relaxed.gpu.global.u32 %r1, [flag]; atom.global.exch.b32 %r2, [flag], 1;",
           "atom.global.cas.b32 %r1, [flag], 0, 1;",
           "atom.global.add.u32 %r1, [flag], 1;",
           "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, table; add.s64 %d3, %d2, %d1;\n"
           "ld.global.u32 %r2, [%d3]; st.global.u32 [%d3], 1;",
           "mov.u32 %r1, %tid.x; mov.u64 %d2, table; mad.wide.u32 %d3, %r1, 4, %d2; ld.global.u32 %r2, [%d3+4];\n"
           "st.global.u32 [table], 1;",
       })
    EXPECT_EQ(codes(body), "PTX0702") << body;
}

TEST(KeptState, ScratchCountsAndConstantsAreNone) {
  for (const char* body : {
           "ld.global.u32 %r1, [flag];",
           "st.global.u32 [flag], 1;",
           "st.global.u32 [flag], 1; ld.global.u32 %r1, [flag];",
           "red.global.add.u32 [flag], 1;",
           "ld.global.u32 %r1, [flag]; st.global.u32 [table], %r1;",
           "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, table; add.s64 %d3, %d2, %d1;\n"
           "st.global.u32 [%d3], 1; bar.sync 0; ld.global.u32 %r2, [%d3];",
           "ld.const.u32 %r1, [fixed]; st.global.u32 [flag], %r1;",
           "ld.shared.u32 %r1, [room]; st.shared.u32 [room], %r1;",
       })
    EXPECT_EQ(codes(body), "") << body;
}

TEST(VectorPlace, IsBeforeTheType) {
  for (const char* body :
       {"mov.u64 %d1, table; ld.v2.global.u32 {%r1, %r2}, [%d1];",
        "mov.u64 %d1, table; ld.global.v2.ca.u32 {%r1, %r2}, [%d1];",
        "mov.u64 %d1, table; ld.global.u32.v2 {%r1, %r2}, [%d1];", "st.v2.shared.u32 [room], {%r1, %r2};"})
    EXPECT_EQ(codes(body), "PTX0206") << body;
  for (const char* body : {"mov.u64 %d1, table; ld.global.ca.v2.u32 {%r1, %r2}, [%d1];",
                           "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [room];", "st.shared.v2.f32 [room], {%f1, %f2};"})
    EXPECT_EQ(codes(body), "") << body;
}

// As Triton declares a kernel: two pointers of its own at the end, and one before them that the author forgot.
TEST(UnusedParameters, ACompilersOwnAreNotMeant) {
  const auto said = [](const std::string& parameters, const std::string& body) {
    auto checked = check(".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(" + parameters +
                             ") {\n.reg .b64 %d<4>;\n" + body + "\nret;\n}\n",
                         "t.ptx");
    std::string all;
    for (const auto& finding : checked.findings) all += finding.code + " " + finding.message + ";";
    return all;
  };
  const std::string pointer = ".param .u64 .ptr .global .align 1 k_param_";
  const std::string own = pointer + "0, " + pointer + "1";
  EXPECT_EQ(said(own + ", " + pointer + "2", "ld.param.u64 %d1, [k_param_0];"), "");
  EXPECT_EQ(said(own, "ld.param.u64 %d1, [k_param_0];"), "");
  EXPECT_EQ(said(own + ", " + pointer + "2, " + pointer + "3", "ld.param.u64 %d1, [k_param_0];"),
            "PTX0701 nothing reads the parameter 'k_param_1';");
  // Not the last, not a pointer to global memory, a name of the author's, and nothing read at all.
  EXPECT_NE(said(own + ", " + pointer + "2", "ld.param.u64 %d1, [k_param_2];"), "");
  EXPECT_NE(said(own.substr(0, own.find(',')) + ", .param .u64 k_param_1", "ld.param.u64 %d1, [k_param_0];"), "");
  EXPECT_NE(said(pointer + "0, .param .u64 .ptr .global .align 1 y", "ld.param.u64 %d1, [k_param_0];"), "");
  EXPECT_NE(said(own, ""), "");
}

}  // namespace
}  // namespace ptxlab::ptx
