// Kernels whose loops carry n values round, about the limits. ptxas 13.0.88 was asked: it spills where the finding stands.
#include "analysis/pressure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "ptx/verifier.h"

namespace ptxlab::analysis {
namespace {

// `count` accumulators in one loop.
std::string accumulating(int count, std::string_view directive) {
  std::string text = fmt::format(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 q, .param .u32 m) {}\n{{\n.reg "
      ".f32 "
      "%f<{}>;\n.reg .f32 %x;\n.reg .b64 %d;\n.reg .pred %p;\n.reg .b32 %i, %n;\nld.param.u64 %d, [q];\nld.param.u32 "
      "%n, "
      "[m];\nmov.u32 %i, 0;\n",
      directive, count);
  for (int i = 0; i < count; ++i) text += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
  text += "LOOP:\nld.global.f32 %x, [%d];\n";
  for (int i = 0; i < count; ++i) text += fmt::format("fma.rn.f32 %f{0}, %f{0}, %x, 0f{1:08x};\n", i, 0x3f800000 + i);
  text += "add.s32 %i, %i, 1;\nsetp.lt.s32 %p, %i, %n;\n@%p bra LOOP;\n";
  for (int i = 0; i < count; ++i) text += fmt::format("st.global.f32 [%d+{}], %f{};\n", 4 * i, i);
  return text + "ret;\n}\n";
}

// Loads `count` floats and adds them up: all alive at once in the order of the text, and none of them has to be.
std::string summing(int count) {
  std::string text = fmt::format(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 q)\n{{\n.reg .f32 %f<{}>;\n.reg "
      ".b64 "
      "%d;\nld.param.u64 %d, [q];\n",
      count);
  for (int i = 0; i < count; ++i) text += fmt::format("ld.global.f32 %f{}, [%d+{}];\n", i, 4 * i);
  for (int i = 1; i < count; ++i) text += fmt::format("add.f32 %f0, %f0, %f{};\n", i);
  return text + "st.global.f32 [%d], %f0;\nret;\n}\n";
}

base::Findings findings_of(const std::string& text) {
  auto checked = ptx::check(text, "t.ptx");
  EXPECT_TRUE(checked.findings.empty()) << base::render(checked.findings, text);
  return register_overflow(checked.module);
}

TEST(Pressure, AroundTheLimits) {
  EXPECT_TRUE(findings_of(accumulating(250, "")).empty());
  auto over = findings_of(accumulating(300, ""));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].code, "PTX0703");
  EXPECT_NE(over[0].message.find("carries 301 registers of 32 bits round, a thread has 255"), std::string::npos)
      << over[0].message;
  EXPECT_TRUE(findings_of(accumulating(60, ".maxnreg 64")).empty());
  auto limited = findings_of(accumulating(80, ".maxnreg 64"));
  ASSERT_EQ(limited.size(), 1u);
  EXPECT_NE(limited[0].message.find("64 by .maxnreg"), std::string::npos) << limited[0].message;
  EXPECT_TRUE(findings_of(summing(300)).empty());
}

// What compilers made of honest kernels, large banks included.
TEST(Pressure, SilentOnRealKernels) {
  namespace fs = std::filesystem;
  size_t kernels = 0;
  for (const char* folder : {"tasks", "tests/corpus"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(PTXLAB_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".ptx") continue;
      auto text = base::read_file(entry.path());
      ASSERT_TRUE(text.ok());
      auto checked = ptx::check(*text, entry.path().string());
      if (!checked.ok()) continue;
      ++kernels;
      auto findings = register_overflow(checked.module);
      EXPECT_TRUE(findings.empty()) << base::render(findings, *text);
    }
  }
  EXPECT_GT(kernels, 15u);
}

}  // namespace
}  // namespace ptxlab::analysis
