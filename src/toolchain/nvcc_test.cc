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

TEST_F(Nvcc, CrashesAndHangsHaveTheirCode) {
  FakeTool crashes("kill -SEGV $$", "nvcc");
  auto result = compile_to_ptx(crashes.tool(), write(""), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.findings()[0].code, "CUC0003");
  options.wall = std::chrono::milliseconds(200);
  FakeTool hangs("sleep 30", "nvcc");
  EXPECT_EQ(compile_to_ptx(hangs.tool(), write(""), options).findings().at(0).code, "CUC0003");
  FakeTool lies("exit 0", "nvcc");
  EXPECT_EQ(compile_to_ptx(lies.tool(), write(""), options).findings().at(0).code, "CUC0003");
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
