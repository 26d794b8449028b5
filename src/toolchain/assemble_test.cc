#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "toolchain/cubin.h"
#include "toolchain/fake_tool.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

constexpr const char* kAdd = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u32 n)
.maxntid 128, 1, 1
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .shared .align 4 .b8 tile[512];
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r3, [n];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%rd2], %r2;
  ret;
}
)";

struct Assemble : ::testing::Test {
  base::TemporaryFolder cache{"ptxlab-cache-test"};
  AssembleOptions options() const {
    AssembleOptions made;
    made.target = {80, 0};
    made.cache = cache.path();
    made.wall = std::chrono::milliseconds(1500);
    return made;
  }
  base::Result<Assembled> with(const FakeTool& fake, const AssembleOptions& how) {
    return assemble(fake.tool(), kAdd, "k.ptx", how);
  }
  std::string code(const FakeTool& fake) { return code(fake, options()); }
  std::string code(const FakeTool& fake, const AssembleOptions& how) {
    auto result = with(fake, how);
    return result ? "ok" : result.findings().at(0).code;
  }
};

TEST_F(Assemble, CodeForADebuggerIsNotOptimised) {
  if (!installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  auto text = base::read_file(std::filesystem::path(PTXLAB_SOURCE_DIR) / "tests/corpus/language.g.ptx");
  ASSERT_TRUE(text);
  auto how = options();
  how.target = {90, 0};
  how.wall = std::chrono::seconds(60);
  auto assembled = assemble(*text, "k.ptx", how);
  EXPECT_TRUE(assembled) << assembled.findings()[0].message;
}

TEST_F(Assemble, ACrashHasItsOwnCode) {
  EXPECT_EQ(code(FakeTool("kill -SEGV $$")), "ASM0003");
  EXPECT_EQ(code(FakeTool("echo 'ptxas fatal   : Internal error: assertion failed' >&2; exit 255")), "ASM0003");
  EXPECT_EQ(code(FakeTool("exit 255")), "ASM0003");
}

TEST_F(Assemble, AHangIsStopped) {
  auto how = options();
  how.wall = std::chrono::milliseconds(200);
  EXPECT_EQ(code(FakeTool("sleep 30"), how), "ASM0004");
}

TEST_F(Assemble, EatingMemoryIsStopped) {
  auto how = options();
  how.memory = uint64_t{64} << 20;
  EXPECT_EQ(code(FakeTool("exec awk 'BEGIN { s = \"xxxxxxxx\"; while (1) s = s s }'"), how), "ASM0005");
}

TEST_F(Assemble, EndlessOutputIsStopped) { EXPECT_EQ(code(FakeTool("exec yes")), "ASM0005"); }

TEST_F(Assemble, TroubleOfTheMachineIsNotARefusal) {
  EXPECT_EQ(code(FakeTool("kill -KILL $$")), "ASM0006");
  EXPECT_EQ(code(FakeTool("exit 0")), "ASM0006");  // success without a cubin
  EXPECT_EQ(code(FakeTool("echo garbage > output.cubin")), "ASM0006");
  AssembleOptions how = options();
  auto result = assemble(Tool{"/nonexistent/ptxas", "1", 0}, kAdd, "k.ptx", how);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.findings().at(0).code, "ASM0006");
}

TEST_F(Assemble, GarbageWithFailureIsACrashWithTheExitStatusInIt) {
  auto result = with(FakeTool("printf '\\001\\377ptxas \\n, line x; : :\\n'; exit 3"), options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.findings().at(0).code, "ASM0003");
  EXPECT_NE(result.findings().at(0).message.find("3"), std::string::npos);
}

TEST_F(Assemble, ARefusalHasPlacesAndIsCachedACrashIsNot) {
  FakeTool refuses(
      "echo x >> \"$0.calls\"; echo \"ptxas input.ptx, line 10; error   : Unknown symbol 'a'\" >&2; exit 255");
  for (int i = 0; i < 2; ++i) {
    auto result = with(refuses, options());
    ASSERT_FALSE(result);
    const auto& finding = result.findings().at(0);
    EXPECT_EQ(finding.code, "ASM0002");
    EXPECT_EQ(finding.place.file, "k.ptx");
    EXPECT_EQ(finding.place.line, 10u);
    EXPECT_EQ(finding.place.column, 7u);  // the 'a' of "ld.param" is the first one
  }
  EXPECT_EQ(refuses.calls(), 1u);
  FakeTool crashes("echo x >> \"$0.calls\"; exit 255");
  EXPECT_EQ(code(crashes), "ASM0003");
  EXPECT_EQ(code(crashes), "ASM0003");
  EXPECT_EQ(crashes.calls(), 2u);
}

struct AssembleReal : Assemble {
  void SetUp() override {
    if (!installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  }
  AssembleOptions options() const {
    auto made = Assemble::options();
    made.wall = std::chrono::seconds(60);
    return made;
  }
};

TEST_F(AssembleReal, ResourcesAndCache) {
  auto first = assemble(kAdd, "k.ptx", options());
  ASSERT_TRUE(first) << base::render(first.findings(), kAdd);
  EXPECT_FALSE(first->cached);
  ASSERT_EQ(first->entries.size(), 1u);
  const Resources* add = first->entry("add");
  ASSERT_NE(add, nullptr);
  EXPECT_GT(add->registers, 4);
  EXPECT_EQ(add->max_threads, 128);
  EXPECT_GE(add->code_bytes, 128u);
  EXPECT_EQ(add->spill_stores, 0);
  auto second = assemble(kAdd, "k.ptx", options());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(second->cubin, first->cubin);
  EXPECT_EQ(second->entries[0].registers, add->registers);
  auto other = options();
  other.target = {90, 0};
  auto third = assemble(kAdd, "k.ptx", other);
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->cached);
}

TEST_F(AssembleReal, RefusalsNameTheirLines) {
  std::string text = kAdd;
  text.replace(text.find("add.u32"), 7, "add.u99");
  auto result = assemble(text, "k.ptx", options());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.findings().at(0).code, "ASM0002");
  EXPECT_EQ(result.findings().at(0).place.line, 17u);
}

TEST_F(AssembleReal, ManyAtOnceShareTheCache) {
  std::vector<std::thread> threads;
  std::vector<int> good(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { good[i] = assemble(kAdd, "k.ptx", options()).ok(); });
  }
  for (auto& thread : threads) thread.join();
  for (int ok : good) EXPECT_EQ(ok, 1);
}

std::string digest(const std::string& ptx, const AssembleOptions& how, std::string_view entry = "add") {
  auto result = assemble(ptx, "k.ptx", how);
  if (!result) return base::render(result.findings(), ptx);
  auto made = code_digest(result->cubin, entry);
  return made ? *made : made.findings()[0].message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_F(AssembleReal, TheDigestIsOfTheCodeAndNothingElse) {
  std::string same = digest(kAdd, options());
  EXPECT_EQ(same.size(), 64u);
  std::string renamed = kAdd;
  for (size_t at; (at = renamed.find("%r2")) != std::string::npos;) renamed.replace(at, 3, "%r0");
  EXPECT_EQ(digest(renamed, options()), same);
  EXPECT_EQ(digest(std::string("// a comment\n\n") + kAdd, options()), same);
  // Another entry in front moves every index of the symbol table.
  std::string more = replaced(kAdd, ".visible", ".visible .entry before(.param .u64 p) { ret; }\n.visible");
  EXPECT_EQ(digest(more, options()), same);
  // So does another name of the entry itself.
  EXPECT_EQ(digest(replaced(kAdd, ".entry add", ".entry plus"), options(), "plus"), same);
}

TEST_F(AssembleReal, TheDigestSeesEveryDifferenceThatMatters) {
  std::string same = digest(kAdd, options());
  EXPECT_NE(digest(replaced(kAdd, "add.u32 %r2", "sub.u32 %r2"), options()), same);
  EXPECT_NE(digest(replaced(kAdd, ".maxntid 128", ".maxntid 256"), options()), same);
  EXPECT_NE(digest(replaced(kAdd, ".param .u32 n", ".param .u64 n"), options()), same);
  // A table of constants is the module's, and still part of what the kernel computes.
  std::string table = replaced(kAdd, ".visible", ".const .align 4 .u32 t[2] = {1, 2};\n.visible");
  table = replaced(table, "add.u32 %r2, %r2, %r3", "ld.const.u32 %r3, [t+4];\n  add.u32 %r2, %r2, %r3");
  EXPECT_NE(digest(table, options()), digest(replaced(table, "{1, 2}", "{1, 3}"), options()));
}

TEST_F(AssembleReal, ACutCubinIsAFindingAtEveryLength) {
  auto result = assemble(kAdd, "k.ptx", options());
  ASSERT_TRUE(result);
  for (size_t size = 0; size < result->cubin.size(); size += size < 200 ? 1 : 37) {
    auto made = code_digest(std::string_view(result->cubin).substr(0, size), "add");
    ASSERT_FALSE(made) << size;
    EXPECT_EQ(made.findings()[0].code, "ASM0010");
  }
  // Any byte may be wrong: an answer or a finding, never a crash.
  for (size_t at = 0; at < result->cubin.size(); at += 3) {
    std::string broken = result->cubin;
    broken[at] = static_cast<char>(broken[at] ^ 0xff);
    (void)code_digest(broken, "add");
  }
  EXPECT_EQ(code_digest(result->cubin, "absent").findings().at(0).code, "ASM0010");
}

}  // namespace
}  // namespace ptxlab::toolchain
