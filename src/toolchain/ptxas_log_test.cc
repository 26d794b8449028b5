#include "toolchain/ptxas_log.h"

#include <gtest/gtest.h>

namespace ptxlab::toolchain {
namespace {

TEST(PtxasLog, ReadsResourcesOfSeveralEntriesAndSkipsFunctions) {
  auto log = read_ptxas_log(R"(ptxas info    : 20 bytes gmem
ptxas info    : Compiling entry function '_Z3bigPfi' for 'sm_90'
ptxas info    : Function properties for _Z3bigPfi
    1200 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 1200 bytes cumulative stack size
ptxas info    : Compile time = 32.902 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 27 registers, used 1 barriers, 1024 bytes smem, 380 bytes cmem[0]
ptxas info    : Function properties for _Z1ffi
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
)",
                            "", "k.ptx");
  ASSERT_EQ(log.entries.size(), 2u);
  EXPECT_EQ(log.entries[0].entry, "_Z3bigPfi");
  EXPECT_EQ(log.entries[0].registers, 32);
  EXPECT_EQ(log.entries[0].stack, 1200);
  EXPECT_EQ(log.entries[0].spill_stores, 16);
  EXPECT_EQ(log.entries[0].spill_loads, 24);
  EXPECT_EQ(log.entries[1].registers, 27);
  EXPECT_EQ(log.entries[1].barriers, 1);
  EXPECT_EQ(log.entries[1].shared, 1024);
  EXPECT_EQ(log.entries[1].spill_stores, 0);
  EXPECT_TRUE(log.findings.empty());
}

TEST(PtxasLog, ErrorsWarningsAndAdvice) {
  std::string_view ptx = "one\n  add.u32 %r1, %r2 %r0; // x\nthree\n";
  auto log = read_ptxas_log(
      "ptxas input.ptx, line 2; fatal   : Parsing error near '%r0': syntax error\n"
      "ptxas input.ptx, line 2; error   : Arguments mismatch for instruction 'addd'\n"
      "ptxas /a, line/input.ptx, line 1; warning : odd\n"
      "ptxas info    : (C7519) Potential Performance Loss: wgmma\n"
      "ptxas fatal   : Value 'sm_999' is not defined for option 'gpu-name'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      ptx, "k.ptx");
  ASSERT_EQ(log.findings.size(), 5u);
  EXPECT_EQ(log.findings[0].place, (base::Place{"k.ptx", 2, 20, 3}));
  EXPECT_EQ(log.findings[1].place, (base::Place{"k.ptx", 2, 3, 21}));
  EXPECT_EQ(log.findings[2].severity, base::Severity::warning);
  EXPECT_EQ(log.findings[3].code, "ASM0012");
  EXPECT_EQ(log.findings[4].place.line, 0u);
  EXPECT_FALSE(log.internal_error);
}

TEST(PtxasLog, GarbageIsLeftOut) {
  std::string garbage(
      "ptxas \0\xff : \nptxas\nptxas , line 99999999999999; error : x\n   bytes stack frame\nptxas info : Used x\n",
      87);
  auto log = read_ptxas_log(garbage, "", "k.ptx");
  EXPECT_TRUE(log.entries.empty());
}

}  // namespace
}  // namespace ptxlab::toolchain
