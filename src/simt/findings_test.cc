// Each finding of the engine on a fault, beside an honest twin that gets none.
#include <gtest/gtest.h>

#include <algorithm>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

using Init = launch::ResolvedBuffer::Init;

// out[i] and in[i] by thread, with `body` between; %a is the input's address for this thread, %o the output's.
std::string kernel_text(const std::string& body, const std::string& declarations = "") {
  return ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n  .reg .pred %p, %q;\n  .reg .b32 %t, %v, %x, %y;\n"
         "  .reg .b64 %a, %o, %d;\n" +
         declarations +
         "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %d, %t, 4;\n  ld.param.u64 %a, [in];\n  add.u64 %a, %a, %d;\n"
         "  ld.param.u64 %o, [out];\n  add.u64 %o, %o, %d;\n" +
         body + "  ret;\n}\n";
}
Kernel with_buffers(const std::string& text, uint32_t threads, uint32_t elements) {
  Kernel kernel(text);
  std::vector<uint32_t> in(elements);
  for (uint32_t i = 0; i < elements; ++i) in[i] = i;
  kernel.in(in).out(elements * 4).shape({1, 1, 1}, {threads, 1, 1});
  return kernel;
}
base::Finding finding_of(const std::string& body, uint32_t threads = 32, uint32_t elements = 32,
                         const std::string& more = "") {
  return with_buffers(kernel_text(body, more), threads, elements).finding();
}
void expect_honest(const std::string& body, uint32_t threads = 32, uint32_t elements = 32,
                   const std::string& more = "") {
  with_buffers(kernel_text(body, more), threads, elements).result<uint32_t>();
}
uint32_t line_of(const std::string& text, const std::string& what) {
  size_t at = text.find(what);
  return static_cast<uint32_t>(3 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1);
}

const char* const kCopy = "  ld.global.u32 %v, [%a];\n  st.global.u32 [%o], %v;\n";

TEST(Findings, OutOfBoundsNamesBufferDistanceAndThread) {
  auto f = finding_of(kCopy, 40, 33);
  EXPECT_EQ(f.code, "RUN0003");
  EXPECT_EQ(f.place.line, line_of(kernel_text(kCopy), "ld.global.u32 %v"));
  EXPECT_NE(f.message.find("reads 4 bytes out of bounds"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("0 bytes past the end of 'arg0' (132 bytes)"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("thread (33,0,0) of CTA (0,0,0) and 6 other lanes"), std::string::npos) << f.message;
  expect_honest(kCopy, 33, 33);
}

TEST(Findings, FarBelowABuffer) {
  // 319 * 7864320 in 32 bits wraps below zero.
  auto f = finding_of(
      "  mul.lo.s32 %x, 319, 7864320;\n  cvt.s64.s32 %d, %x;\n  add.s64 %a, %a, %d;\n  ld.global.u32 %v, [%a];\n", 1);
  EXPECT_EQ(f.code, "RUN0003");
  EXPECT_NE(f.message.find("1786249216 bytes before 'arg0'"), std::string::npos) << f.message;
  expect_honest(
      "  mul.wide.s32 %d, 3, 4;\n  add.s64 %a, %a, %d;\n  ld.global.u32 %v, [%a];\n  st.global.u32 [%o], %v;\n", 1);
}

TEST(Findings, SharedLocalAndParameterBounds) {
  auto f = finding_of("  mov.u32 %x, s;\n  ld.shared.u32 %v, [%x+64];\n", 1, 1, "  .shared .align 4 .b8 s[64];\n");
  EXPECT_EQ(f.code, "RUN0003");
  EXPECT_NE(f.message.find("0 bytes past the end of the CTA's shared memory (64 bytes)"), std::string::npos)
      << f.message;
  f = finding_of("  mov.u64 %a, l;\n  st.local.u32 [%a+-4], %t;\n", 1, 1, "  .local .align 4 .b8 l[16];\n");
  EXPECT_EQ(f.code, "RUN0003");
  EXPECT_NE(f.message.find("4 bytes before the thread's local memory"), std::string::npos) << f.message;
  f = finding_of("  ld.param.u64 %a, [in+16];\n", 1, 1);
  EXPECT_EQ(f.code, "RUN0003");
  f = finding_of("  mov.u32 %x, s;\n  cvt.u64.u32 %a, %x;\n  cvta.shared.u64 %a, %a;\n  ld.u32 %v, [%a+4096];\n", 1, 1,
                 "  .shared .align 4 .b8 s[64];\n");
  EXPECT_EQ(f.code, "RUN0003");
  EXPECT_NE(f.message.find("shared memory"), std::string::npos) << f.message;
}

TEST(Findings, NullPointer) {
  auto f = finding_of("  mov.u64 %a, 16;\n  ld.global.u32 %v, [%a];\n", 1, 1);
  EXPECT_EQ(f.code, "RUN0005");
  EXPECT_NE(f.message.find("null pointer"), std::string::npos) << f.message;
}

TEST(Findings, MisalignedVector) {
  std::string body =
      "  ld.param.u64 %a, [in];\n  ld.global.v4.u32 {%v, %x, %y, %t}, [%a+OFFSET];\n  st.global.u32 [%o], %v;\n";
  auto at = [&](const std::string& offset) { return std::string(body).replace(body.find("OFFSET"), 6, offset); };
  auto f = finding_of(at("4"), 1);
  EXPECT_EQ(f.code, "RUN0004");
  EXPECT_NE(f.message.find("16 bytes at once need a multiple of 16"), std::string::npos) << f.message;
  expect_honest(at("16"), 1);
  f = finding_of("  st.shared.v2.u32 [s+4], {%t, %t};\n", 1, 1, "  .shared .align 8 .b8 s[64];\n");
  EXPECT_EQ(f.code, "RUN0004");
}

TEST(Findings, WriteToAnInput) {
  auto f = finding_of("  st.global.u32 [%a], %t;\n");
  EXPECT_EQ(f.code, "RUN0006");
  EXPECT_NE(f.message.find("'arg0'"), std::string::npos) << f.message;
}

TEST(Findings, EndlessLoopNamesItsLines) {
  std::string body = "AGAIN:\n  add.u32 %v, %t, 1;\n  bra AGAIN;\n";
  Kernel kernel = with_buffers(kernel_text(body), 32, 32);
  kernel.options.budget = 100000;
  auto f = kernel.finding();
  EXPECT_EQ(f.code, "RUN0007");
  std::string text = kernel_text(body);
  EXPECT_NE(f.message.find("line " + std::to_string(line_of(text, "add.u32 %v"))), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("line " + std::to_string(line_of(text, "bra AGAIN"))), std::string::npos) << f.message;
}

// A lone thread that spins costs the engine what a whole warp does, and is stopped as soon.
TEST(Findings, ALoneThreadSpendsTheBudgetOfAWarp) {
  Kernel kernel = with_buffers(kernel_text("AGAIN:\n  bra AGAIN;\n"), 32, 32);
  kernel.shape({1, 1, 1}, {1, 1, 1});
  kernel.options.budget = 320'000;
  auto report = kernel.run();
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].code, "RUN0007");
  EXPECT_LT(report.thread_instructions, 30'000u);
}

TEST(Findings, WaitForACtaThatIsNotThereRunsOutOfBudget) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 flag)
{
  .reg .pred %p;
  .reg .b32 %v, %c;
  .reg .b64 %a;
  ld.param.u64 %a, [flag];
  atom.global.add.u32 %v, [%a], 1;
WAIT:
  ld.volatile.global.u32 %v, [%a];
  setp.lt.u32 %p, %v, 3;
  @%p bra WAIT;
  ret;
})");
  kernel.out(4, Init::zero).shape({2, 1, 1}, {1, 1, 1});
  kernel.options.budget = 100000;
  EXPECT_EQ(kernel.finding().code, "RUN0007");
}

TEST(Findings, UndefinedAddress) {
  auto f = finding_of("  .reg .b64 %u;\n  ld.global.u32 %v, [%u];\n", 1, 1);
  EXPECT_EQ(f.code, "RUN0008");
  EXPECT_NE(f.message.find("never written"), std::string::npos) << f.message;
  std::string through =
      "  mov.u32 %y, s;\n  ld.shared.u32 %x, [%y];\n  cvt.u64.u32 %d, %x;\n  add.u64 %a, %a, %d;\n  ld.global.u32 %v, "
      "[%a];\n";
  std::string shared = "  .shared .align 4 .b8 s[64];\n";
  f = finding_of(through, 1, 1, shared);
  EXPECT_EQ(f.code, "RUN0008");
  uint32_t line = line_of(kernel_text(through, shared), "ld.shared.u32 %x");
  EXPECT_NE(f.message.find("it comes from line " + std::to_string(line)), std::string::npos) << f.message;
}

TEST(Findings, UndefinedBranchAndGuard) {
  std::string shared = "  .shared .align 4 .b8 s[64];\n";
  auto f = finding_of(
      "  ld.shared.u32 %x, [s];\n  setp.eq.u32 %p, %x, 0;\n  @%p bra OUT;\n  st.global.u32 [%o], %t;\nOUT:\n", 1, 1,
      shared);
  EXPECT_EQ(f.code, "RUN0009");
  EXPECT_NE(f.message.find("the branch depends on an undefined value"), std::string::npos) << f.message;
  f = finding_of("  setp.eq.and.u32 %p, %t, 0, %q;\n  @%p st.global.u32 [%o], %t;\n", 1, 1);
  EXPECT_EQ(f.code, "RUN0009");
  expect_honest("  setp.ne.u32 %q, %t, %t;\n  setp.eq.or.u32 %p, %t, %t, %q;\n  @%p st.global.u32 [%o], %t;\n");
}

TEST(Findings, BarrierThatNeverCompletes) {
  std::string body = "  setp.ge.u32 %p, %t, 32;\n  @%p bra APART;\n  bar.sync 1, 64;\nAPART:\n  bar.sync 0, 64;\n";
  auto f = finding_of(body, 64, 64);
  EXPECT_EQ(f.code, "RUN0010");
  EXPECT_NE(f.message.find("barrier 1 never completes: 32 of 64 threads wait here, 32 wait at line"), std::string::npos)
      << f.message;
  f = finding_of("  setp.ge.u32 %p, %t, 32;\n  @%p exit;\n  bar.sync 0, 64;\n", 64, 64);
  EXPECT_EQ(f.code, "RUN0010");
  EXPECT_NE(f.message.find("32 have exited at line"), std::string::npos) << f.message;
  // Without a count, threads that have exited are not waited for.
  expect_honest("  setp.ge.u32 %p, %t, 32;\n  @%p exit;\n  bar.sync 0;\n", 64, 64);
  expect_honest("  setp.ge.u32 %p, %t, 40;\n  @%p exit;\n  bar.sync 0;\n", 64, 64);
}

TEST(Findings, BarrierCountsAndNumbers) {
  auto f = finding_of(
      "  setp.ge.u32 %p, %t, 32;\n  @%p bra HIGH;\n  bar.sync 0, 64;\n  bra OUT;\nHIGH:\n  bar.sync 0, 96;\nOUT:\n", 64,
      64);
  EXPECT_EQ(f.code, "RUN0011");
  f = finding_of("  mov.u32 %x, 16;\n  bar.sync %x;\n");
  EXPECT_EQ(f.code, "RUN0011");
  EXPECT_NE(f.message.find("there is no barrier 16"), std::string::npos) << f.message;
  f = finding_of("  mov.u32 %x, 48;\n  bar.sync 0, %x;\n", 64, 64);
  EXPECT_EQ(f.code, "RUN0011");
  f = finding_of("  bar.sync %x;\n");
  EXPECT_EQ(f.code, "RUN0011");
  EXPECT_NE(f.message.find("undefined"), std::string::npos) << f.message;
}

TEST(Findings, AlignedBarrierReachedApart) {
  auto f = finding_of(
      "  and.b32 %x, %t, 1;\n  setp.eq.u32 %p, %x, 0;\n  @%p bra EVEN;\n  bar.sync 0;\n  bra OUT;\nEVEN:\n  bar.sync "
      "0;\nOUT:\n");
  EXPECT_EQ(f.code, "RUN0012");
}

TEST(Findings, ShuffleFromOutside) {
  std::string row = "  setp.ge.u32 %p, %t, 11;\n  @%p bra OUT;\n  shfl.sync.down.b32 %v, %t, 8, CLAMP, 0x7ff;\nOUT:\n";
  auto with = [&](const std::string& clamp) { return std::string(row).replace(row.find("CLAMP"), 5, clamp); };
  auto f = finding_of(with("31"));
  EXPECT_EQ(f.code, "RUN0013");
  EXPECT_EQ(f.severity, base::Severity::error);
  EXPECT_NE(f.message.find("(lane 3) reads lane 11"), std::string::npos) << f.message;
  expect_honest(with("10"));
}

TEST(Findings, LaneOutsideItsOwnMask) {
  auto f = finding_of(
      "  and.b32 %x, %t, 3;\n  shl.b32 %x, %x, 3;\n  shl.b32 %y, 0xff, %x;\n  shfl.sync.bfly.b32 %v, %t, 1, 0x181f, "
      "%y;\n");
  EXPECT_EQ(f.code, "RUN0014");
  expect_honest(
      "  shr.u32 %x, %t, 3;\n  shl.b32 %x, %x, 3;\n  shl.b32 %y, 0xff, %x;\n  shfl.sync.bfly.b32 %v, %t, 1, 0x181f, "
      "%y;\n");
}

TEST(Findings, MembersThatNeverMeet) {
  auto f = finding_of(
      "  setp.lt.u32 %p, %t, 16;\n  @%p bra OUT;\n  vote.sync.ballot.b32 %v, %p, -1;\n  bra END;\nOUT:\n  "
      "redux.sync.add.u32 %v, %t, -1;\nEND:\n");
  EXPECT_EQ(f.code, "RUN0015");
  expect_honest(
      "  setp.lt.u32 %p, %t, 16;\n  @%p bra OUT;\n  vote.sync.ballot.b32 %v, %p, 0xffff0000;\n  bra END;\nOUT:\n  "
      "redux.sync.add.u32 %v, %t, 0xffff;\nEND:\n");
}

TEST(Findings, DivisionByZeroIsAWarningAndItsResultUndefined) {
  std::string body = "  ld.global.u32 %x, [%a];\n  div.u32 %v, 7, %x;\n";
  auto f = finding_of(body, 4, 4);
  EXPECT_EQ(f.code, "RUN0016");
  EXPECT_EQ(f.severity, base::Severity::warning);
  EXPECT_NE(f.message.find("division of 7 by zero"), std::string::npos) << f.message;
  Kernel kernel = with_buffers(kernel_text(body + "  st.global.u32 [%o], %v;\n"), 4, 4);
  RunReport report = kernel.run();
  EXPECT_TRUE(report.completed);
  EXPECT_EQ(kernel.read<uint32_t>(1), (std::vector<uint32_t>{0xffffffff, 7, 3, 2}));
  const auto& defined = kernel.memory.allocation(1).defined;
  EXPECT_EQ(defined[0], 0);
  EXPECT_EQ(defined[4], 0xff);
  // Thrown away again, it is only a warning.
  expect_honest("  add.u32 %x, %t, 1;\n  rem.u32 %v, 7, %x;\n");
}

TEST(Findings, Trap) {
  auto f = finding_of("  setp.eq.u32 %p, %t, 5;\n  @%p trap;\n");
  EXPECT_EQ(f.code, "RUN0017");
  EXPECT_NE(f.message.find("thread (5,0,0)"), std::string::npos) << f.message;
  expect_honest("  setp.eq.u32 %p, %t, 50;\n  @%p trap;\n");
}

TEST(Findings, Assertion) {
  std::string header = R"(.version 8.3
.target sm_90
.address_size 64
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {107, 46, 99, 117, 0};
)";
  std::string body = R"(
.visible .entry k(.param .u32 x)
{
  .reg .pred %p;
  .reg .b32 %x, %l;
  .reg .b64 %m, %f, %z;
  ld.param.u32 %x, [x];
  setp.gt.s32 %p, %x, 0;
  @%p bra FINE;
  mov.u64 %m, text;
  cvta.global.u64 %m, %m;
  mov.u64 %f, file;
  mov.u32 %l, 17;
  mov.u64 %z, 1;
  {
  .param .b64 p0;
  st.param.b64 [p0+0], %m;
  .param .b64 p1;
  st.param.b64 [p1+0], %f;
  .param .b32 p2;
  st.param.b32 [p2+0], %l;
  .param .b64 p3;
  st.param.b64 [p3+0], %f;
  .param .b64 p4;
  st.param.b64 [p4+0], %z;
  call.uni __assertfail, (p0, p1, p2, p3, p4);
  }
FINE:
  ret;
})";
  Kernel bad(body, header);
  bad.value(0u).shape({1, 1, 1}, {1, 1, 1});
  auto f = bad.finding();
  EXPECT_EQ(f.code, "RUN0018");
  EXPECT_NE(f.message.find("'x > 0' failed at k.cu:17"), std::string::npos) << f.message;
  Kernel good(body, header);
  good.value(1u).shape({1, 1, 1}, {1, 1, 1});
  EXPECT_TRUE(good.run().completed);
}

TEST(Findings, RecursionWithoutEnd) {
  Kernel kernel(R"(
.func deeper()
{
  call deeper;
  ret;
}
.visible .entry k()
{
  call deeper;
  ret;
})");
  kernel.shape({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(kernel.finding().code, "RUN0019");
}

TEST(Findings, MemoryBudget) {
  Kernel kernel(
      ".visible .entry k()\n{\n  .local .align 4 .b8 l[400000];\n  .reg .b64 %a;\n  mov.u64 %a, l;\n  st.local.u32 "
      "[%a], 0;\n  ret;\n}");
  kernel.shape({1, 1, 1}, {1024, 1, 1});
  kernel.options.memory_budget = 100 << 20;
  EXPECT_EQ(kernel.finding().code, "RUN0020");
  kernel.launch.block = {32, 1, 1};
  EXPECT_TRUE(kernel.run().completed);
}

TEST(Findings, MoreLocalMemoryThanThereIs) {
  std::string text = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n";
  for (char c = 'a'; c < 'g'; ++c) text += std::string("  .local .align 4 .b8 ") + c + "[1000000000];\n";
  auto checked = ptx::check(text + "  ret;\n}\n", "test.ptx");
  auto loaded = make_simt_engine()->load(checked.module);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.findings()[0].code, "RUN0020");
}

TEST(Findings, LaunchesThatCannotBe) {
  std::string text = ".visible .entry k(.param .u32 x) .maxntid 128, 1, 1\n{\n  ret;\n}";
  auto code = [&](launch::Dim3 block, uint32_t shared, bool parameter) {
    Kernel kernel(text);
    if (parameter) kernel.value(1u);
    kernel.shape({1, 1, 1}, block, shared);
    return kernel.finding().code;
  };
  EXPECT_EQ(code({256, 1, 1}, 0, true), "RUN0002");
  EXPECT_EQ(code({0, 1, 1}, 0, true), "RUN0002");
  EXPECT_EQ(code({32, 1, 1}, 300000, true), "RUN0002");
  EXPECT_EQ(code({32, 1, 1}, 0, false), "RUN0002");
}

TEST(Findings, UnsupportedInstructionsAreAllNamed) {
  auto checked = ptx::check(
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n  .reg .b64 %a;\n  mov.u64 %a, 0;\n"
      "  wgmma.fence.sync.aligned;\n  wgmma.commit_group.sync.aligned;\n  ret;\n}",
      "test.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, checked.module.source);
  auto loaded = make_simt_engine()->load(checked.module);
  ASSERT_FALSE(loaded.ok());
  ASSERT_EQ(loaded.findings().size(), 2u);
  EXPECT_EQ(loaded.findings()[0].code, "RUN0001");
  EXPECT_EQ(loaded.findings()[0].place.line, 8u);
  EXPECT_EQ(loaded.findings()[1].place.line, 9u);
}

// An entry may take a tensor map and do nothing with it that the engine lacks.
TEST(Findings, TensorMapsAreNotExecuted) {
  Kernel kernel(".visible .entry k(.param .align 64 .b8 map[128])\n{\n  ret;\n}");
  kernel.launch.parameters.resize(128);
  kernel.launch.tensor_maps = {{0, 0}};
  kernel.shape({1, 1, 1}, {1, 1, 1});
  RunReport report = kernel.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].code, "RUN0001");
  EXPECT_FALSE(report.supported);
  EXPECT_FALSE(report.completed);
  // Nor where one lies in a variable.
  auto checked = ptx::check(
      ".version 8.3\n.target sm_90\n.address_size 64\n.visible .const .align 64 .b8 c_map[128];\n"
      ".visible .entry k()\n{\n  ret;\n}",
      "test.ptx");
  auto program = make_simt_engine()->load(checked.module);
  ASSERT_TRUE(program.ok());
  launch::ResolvedPlan plan;
  launch::ResolvedSymbol symbol;
  symbol.name = "c_map";
  symbol.value.resize(128);
  symbol.tensor_maps = {{0, 0}};
  plan.symbols = {symbol};
  base::Findings findings = set_symbols(**program, plan, {}, Memory(1));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "RUN0001");
}

TEST(Findings, OnlyEntriesThatAreLaunchedNeedHandlers) {
  auto checked = ptx::check(
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry other()\n{\n"
      "  wgmma.fence.sync.aligned;\n  ret;\n}\n.visible .entry k()\n{\n  ret;\n}",
      "test.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, checked.module.source);
  EXPECT_TRUE(make_simt_engine()->load(checked.module, std::vector<std::string>{"k"}).ok());
  EXPECT_FALSE(make_simt_engine()->load(checked.module, std::vector<std::string>{"k", "other"}).ok());
  EXPECT_FALSE(make_simt_engine()->load(checked.module).ok());
}

TEST(Findings, SourceLineIsNamed) {
  Kernel kernel(
      "\n.visible .entry k(.param .u64 in)\n{\n  .reg .b64 %a;\n  .reg .b32 %v;\n  .loc 1 17 5\n  ld.param.u64 %a, "
      "[in];\n"
      "  ld.global.u32 %v, [%a+64];\n  ret;\n}\n.file 1 \"/src/rmsnorm.cu\"\n");
  kernel.in(std::vector<uint32_t>(4)).shape({1, 1, 1}, {1, 1, 1});
  auto f = kernel.finding();
  EXPECT_NE(f.message.find("(rmsnorm.cu:17)"), std::string::npos) << f.message;
}

TEST(Findings, LevelNoneStillKeepsTheHostAlive) {
  for (CheckLevel level : {CheckLevel::none, CheckLevel::bounds}) {
    Kernel kernel = with_buffers(kernel_text(kCopy), 40, 33);
    kernel.options.check = level;
    EXPECT_EQ(kernel.finding().code, "RUN0003");
    Kernel fine =
        with_buffers(kernel_text("  .reg .b32 %u;\n  setp.eq.u32 %p, %u, 0;\n  @%p mov.u32 %v, 1;\n"), 32, 32);
    fine.options.check = level;
    EXPECT_TRUE(fine.run().findings.empty());
  }
}

TEST(Findings, AreCountedOnceASite) {
  Kernel kernel =
      with_buffers(kernel_text("  .reg .b32 %u;\n  setp.eq.u32 %p, %u, 0;\n  @%p mov.u32 %v, 1;\n"), 128, 128);
  auto f = kernel.finding();
  EXPECT_EQ(f.code, "RUN0009");
  EXPECT_NE(f.message.find("(128 threads in all)"), std::string::npos) << f.message;
}

}  // namespace
}  // namespace ptxlab::simt::test
