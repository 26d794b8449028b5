// Calls through registers, memory from alloca, and what variables hold when a module is loaded: addresses of functions and of
// other variables, numbers of every type.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

constexpr char kFunctions[] =
    ".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %x;\nld.param.b32 %x, [a];\nadd.u32 %x, %x, %x;\n"
    "st.param.b32 [r], %x;\nret;\n}\n"
    ".func (.param .b32 r) square(.param .b32 a)\n{\n.reg .b32 %x;\nld.param.b32 %x, [a];\nmul.lo.u32 %x, %x, %x;\n"
    "st.param.b32 [r], %x;\nret;\n}\n";

// Calls %f with the thread's number and stores the result.
std::string caller(const std::string& choose, const std::string& call = "call (result), %f, (argument), P;") {
  return ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %o, %at, %f, %g; .reg .b32 %t, %x; .reg .pred %p;\n"
         "ld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 4;\nadd.s64 %o, %o, %at;\n" +
         choose +
         "{\n.param .b32 argument;\n.param .b32 result;\nst.param.b32 [argument], %t;\n"
         "P: .callprototype (.param .b32 _) _ (.param .b32 _);\nT: .calltargets twice, square;\n" +
         call + "\nld.param.b32 %x, [result];\n}\nst.global.u32 [%o], %x;\nret;\n}\n";
}

std::vector<uint32_t> doubled_or_squared() {
  std::vector<uint32_t> want;
  for (uint32_t t = 0; t < 32; ++t) want.push_back(t % 3 ? 2 * t : t * t);
  return want;
}

TEST(Calls, EachLaneCallsItsOwnFunction) {
  const std::string choose =
      "mov.u64 %f, twice;\nmov.u64 %g, square;\nrem.u32 %x, %t, 3;\nsetp.eq.u32 %p, %x, 0;\nselp.b64 %f, %g, %f, %p;\n";
  for (const char* call : {"call (result), %f, (argument), P;", "call (result), %f, (argument), T;"}) {
    Kernel kernel(kFunctions + caller(choose, call));
    kernel.out(128).shape({1, 1, 1}, {32, 1, 1});
    EXPECT_EQ(kernel.result<uint32_t>(), doubled_or_squared());
  }
}

TEST(Calls, TablesOfFunctions) {
  const std::string choose =
      "rem.u32 %x, %t, 3;\nmin.u32 %x, %x, 1;\nmul.wide.u32 %at, %x, 8;\nmov.u64 %f, table;\nadd.s64 %f, %f, %at;\n"
      "ld.global.u64 %f, [%f];\n";
  Kernel kernel(std::string(kFunctions) + ".global .align 8 .u64 table[2] = {square, twice};\n" + caller(choose));
  kernel.out(128).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>(), doubled_or_squared());
}

TEST(Calls, OnlyAGuardsLanesGo) {
  const std::string choose = "mov.u64 %f, twice;\nsetp.lt.u32 %p, %t, 4;\n";
  Kernel kernel(std::string(kFunctions) +
                caller(choose, "st.param.b32 [result], 7;\n@%p call (result), %f, (argument), P;"));
  kernel.out(128).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint32_t>();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 4 ? 2 * t : 7);
}

TEST(Calls, AnAddressThatIsNoFunctions) {
  Kernel wild(std::string(kFunctions) + caller("mov.u64 %f, 4096;\n"));
  wild.out(128).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(wild.finding().code, "RUN0019");
  Kernel undefined(std::string(kFunctions) + caller(""));
  undefined.out(128).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(undefined.finding().code, "RUN0009");
  Kernel other(std::string(kFunctions) + ".func plain() { ret; }\n" + caller("mov.u64 %f, plain;\n"));
  other.out(128).shape({1, 1, 1}, {32, 1, 1});
  base::Finding f = other.finding();
  EXPECT_EQ(f.code, "RUN0019");
  EXPECT_NE(f.message.find("'plain', which has 0 parameters"), std::string::npos) << f.message;
}

// Lane t allocates 4 (t + 1) bytes, fills them, calls a function with a local array of its own, and sums them up.
TEST(Calls, AllocaOutlivesCallsAndDiffersByLane) {
  Kernel kernel(
      ".func (.reg .b32 r) spoil(.reg .b32 a)\n{\n.local .align 4 .b8 mine[64];\n.reg .b32 %x, %i; .reg .pred %p;\n"
      "mov.u32 %i, 0;\nL: mov.u32 %x, mine;\nadd.u32 %x, %x, %i;\nst.local.u32 [%x], -1;\nadd.u32 %i, %i, 4;\n"
      "setp.lt.u32 %p, %i, 64;\n@%p bra L;\nmov.u32 r, a;\nret;\n}\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %o, %at, %a, %n, %b, %s; .reg .b32 %t, %x, %i, %sum; .reg "
      ".pred %p;\n"
      "ld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 4;\nadd.s64 %o, %o, %at;\nadd.u64 %n, %at, "
      "4;\n"
      "alloca.u64 %a, %n, 16;\nmov.u32 %i, 0;\nmov.u64 %b, %a;\n"
      "F: st.local.u32 [%b], %i;\nadd.u64 %b, %b, 4;\nadd.u32 %i, %i, 1;\nsetp.le.u32 %p, %i, %t;\n@%p bra F;\n"
      "call.uni (%x), spoil, (%t);\nstacksave.u64 %s;\nalloca.u64 %b, %n;\nst.local.u32 [%b], 99;\nstackrestore.u64 "
      "%s;\n"
      "cvta.local.u64 %a, %a;\nmov.u32 %i, 0;\nmov.u32 %sum, 0;\n"
      "S: ld.u32 %x, [%a];\nadd.u32 %sum, %sum, %x;\nadd.u64 %a, %a, 4;\nadd.u32 %i, %i, 1;\nsetp.le.u32 %p, %i, %t;\n"
      "@%p bra S;\nst.global.u32 [%o], %sum;\nret;\n}\n");
  kernel.out(128).shape({1, 1, 1}, {32, 1, 1});
  auto out = kernel.result<uint32_t>();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t * (t + 1) / 2);
}

TEST(Calls, AllocaHasItsLimits) {
  auto code = [](const std::string& body) {
    Kernel kernel(".visible .entry k()\n{\n.reg .b64 %a, %n; .reg .b32 %x;\n" + body + "ret;\n}\n");
    kernel.shape({1, 1, 1}, {32, 1, 1});
    return kernel.finding().code;
  };
  EXPECT_EQ(code("alloca.u64 %a, 1048576;\n"), "RUN0020");
  EXPECT_EQ(code("alloca.u64 %a, %n;\n"), "RUN0009");
  EXPECT_EQ(code("alloca.u64 %a, 16;\nst.local.u32 [%a+16], 1;\n"), "RUN0003");
  EXPECT_EQ(code("mov.u64 %n, 1024;\nstackrestore.u64 %n;\n"), "RUN0019");
}

// --- variables as the module has them ---

TEST(Variables, NumbersOfEveryType) {
  Kernel kernel(
      ".global .align 8 .b8 bytes[4] = {1, 0xff, 97, -2};\n.global .u16 half = 0x1234;\n.global .s32 minus = -5;\n"
      ".global .f32 single = 0f3FC00000;\n.global .f32 decimal = 0.25;\n.global .f64 full = 0d4000000000000000;\n"
      ".global .u64 wide = 0x123456789abcdef0;\n.global .u32 matrix[2][2] = {{1, 2}, {3}};\n"
      ".const .align 8 .s16 taps[3] = {-1, 2, -3};\n.global .v4 .f32 four = {1.0, 2.0, 3.0, 4.0};\n.global .u32 none;\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %o, %d; .reg .b32 %x, %y; .reg .f32 %f; .reg .b16 %h;\n"
      "ld.param.u64 %o, [out];\nld.global.b32 %x, [bytes];\nst.global.b32 [%o], %x;\nld.global.u16 %x, [half];\n"
      "st.global.b32 [%o+4], %x;\nld.global.b32 %x, [minus];\nst.global.b32 [%o+8], %x;\nld.global.b32 %x, [single];\n"
      "st.global.b32 [%o+12], %x;\nld.global.b32 %x, [decimal];\nst.global.b32 [%o+16], %x;\nld.global.b64 %d, "
      "[full];\n"
      "st.global.b64 [%o+24], %d;\nld.global.b64 %d, [wide];\nst.global.b64 [%o+32], %d;\nld.global.b32 %x, "
      "[matrix+8];\n"
      "st.global.b32 [%o+40], %x;\nld.global.b32 %x, [matrix+12];\nst.global.b32 [%o+44], %x;\nld.const.s16 %x, "
      "[taps+4];\n"
      "st.global.b32 [%o+48], %x;\nld.global.b32 %x, [four+12];\nst.global.b32 [%o+52], %x;\nld.global.b32 %x, "
      "[none];\n"
      "st.global.b32 [%o+56], %x;\nst.global.b32 [%o+20], 0;\nst.global.b32 [%o+60], 0;\nret;\n}\n");
  kernel.out(64).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>(),
            (std::vector<uint32_t>{0xfe61ff01, 0x1234, 0xfffffffb, 0x3fc00000, 0x3e800000, 0, 0, 0x40000000, 0x9abcdef0,
                                   0x12345678, 3, 0, 0xfffffffd, 0x40800000, 0, 0}));
}

TEST(Variables, AddressesOfOthers) {
  Kernel kernel(
      ".global .align 4 .u32 data[4] = {10, 20, 30, 40};\n.global .align 8 .u64 pointer = data+8;\n"
      ".global .align 8 .u64 pointers[2] = {generic(data), generic(pointer)};\n.const .align 8 .u64 fixed = "
      "generic(data)+4;\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %o, %p; .reg .b32 %x;\nld.param.u64 %o, [out];\n"
      "ld.global.u64 %p, [pointer];\nld.global.u32 %x, [%p];\nst.global.u32 [%o], %x;\n"
      "ld.global.u64 %p, [pointers];\nld.u32 %x, [%p+12];\nst.global.u32 [%o+4], %x;\n"
      "ld.global.u64 %p, [pointers+8];\nld.u64 %p, [%p];\nld.global.u32 %x, [%p];\nst.global.u32 [%o+8], %x;\n"
      "ld.const.u64 %p, [fixed];\nld.u32 %x, [%p];\nst.global.u32 [%o+12], %x;\nret;\n}\n");
  kernel.out(16).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.result<uint32_t>(), (std::vector<uint32_t>{30, 40, 30, 20}));
}

}  // namespace
}  // namespace ptxlab::simt::test
