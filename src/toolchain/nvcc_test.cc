#include <gtest/gtest.h>

#include <fstream>

#include "toolchain/fake_tool.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

struct Nvcc : ::testing::Test {
  base::TemporaryFolder folder{"ptxlab-nvcc-test"};
  std::filesystem::path write(const std::string& text) {
    std::ofstream(folder.path() / "k.cu") << text;
    return folder.path() / "k.cu";
  }
  CompileOptions options;
  Nvcc() { options.target = {80, 0}; }
};

// However it got the compiler to read it: nothing of it is shown.
TEST_F(Nvcc, ASourceOfAnybodyReadsNoOtherFile) {
  if (!installed().nvcc) GTEST_SKIP() << "no nvcc on this machine";
  base::TemporaryFolder other("secret");
  auto secret = other.path() / "se cret$.h";
  ASSERT_TRUE(base::write_file(secret, "int hidden_words = undefined_here;\n").empty());
  const std::string kernel = "__global__ void k(float* x) { x[0] = 1; }\n";
  const auto reads = write("#include \"" + secret.string() + "\"\n" + kernel);
  options.only_own_files = true;
  auto refused = compile_to_ptx(reads, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.findings().at(0).code, "CUC0005");
  EXPECT_EQ(base::render(refused.findings(), "").find("hidden_words"), std::string::npos);
  options.readable = {other.path()};
  EXPECT_EQ(compile_to_ptx(reads, options).findings().at(0).code, "CUC0002");
  options.readable.clear();
  EXPECT_TRUE(compile_to_ptx(write(kernel), options).ok());
  // The file that g++ believes to be in, as its message shows it.
  auto shown = compile_to_ptx(write("#line 1 \"" + secret.string() + "\"\n#error x\n"), options);
  ASSERT_FALSE(shown);
  EXPECT_EQ(base::render(shown.findings(), "").find("hidden_words"), std::string::npos);
}

TEST_F(Nvcc, CrashesAndHangsHaveTheirCode) {
  FakeTool crashes("kill -SEGV $$", "nvcc");
  auto result = compile_to_ptx(crashes.tool(), write(""), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.findings()[0].code, "CUC0003");
  options.wall = std::chrono::milliseconds(200);
  FakeTool hangs("sleep 30", "nvcc");
  EXPECT_EQ(compile_to_ptx(hangs.tool(), write(""), options).findings().at(0).code, "CUC0003");
  FakeTool lies("exit 0", "nvcc");
  EXPECT_EQ(compile_to_ptx(lies.tool(), write(""), options).findings().at(0).code, "CUC0004");
}

TEST_F(Nvcc, CompilesAndNamesErrorsByLine) {
  if (!installed().nvcc) GTEST_SKIP() << "no nvcc on this machine";
  auto good = compile_to_ptx(write("__global__ void k(float* a) { a[threadIdx.x] = 1; }\n"), options);
  ASSERT_TRUE(good) << base::render(good.findings(), "");
  EXPECT_NE(good->find(".entry _Z1kPf"), std::string::npos);
  EXPECT_NE(good->find(".loc"), std::string::npos);
  auto bad = compile_to_ptx(write("\n__global__ void k(float* a) { b[0] = 1; }\n"), options);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.findings()[0].code, "CUC0002");
  EXPECT_EQ(bad.findings()[0].place.line, 2u);
  EXPECT_EQ(bad.findings()[0].place.file, (folder.path() / "k.cu").string());
}

}  // namespace
}  // namespace ptxlab::toolchain
