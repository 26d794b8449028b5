#include "toolchain/find_tools.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "toolchain/fake_tool.h"

namespace ptxlab::toolchain {
namespace {

constexpr const char* kHonest = R"(
if [ "$1" = --version ]; then
  echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
  echo "Cuda compilation tools, release 12.8, V12.8.93"
  exit 0
fi
echo "ptxas $1, line 1; fatal   : Unsupported .version 99.9; current version is '8.7'" >&2
exit 255)";

TEST(FindTools, AsksTheToolForItsVersions) {
  FakeTool fake(kHonest);
  auto found = find_tools({fake.folder()});
  ASSERT_TRUE(found.ptxas);
  EXPECT_EQ(found.ptxas->version, "12.8.93");
  EXPECT_EQ(found.ptxas->ptx_version, 87);
  EXPECT_FALSE(found.nvcc);
  EXPECT_EQ(found.searched, std::vector<std::string>{fake.folder().string()});
}

TEST(FindTools, PassesOverWhatOnlyHasTheName) {
  FakeTool broken("exit 1"), other("echo 'release 1.0, V1'"), honest(kHonest);
  auto found = find_tools({broken.folder(), other.folder(), honest.folder()});
  ASSERT_TRUE(found.ptxas);
  EXPECT_EQ(found.ptxas->path, honest.tool().path);
  EXPECT_EQ(found.searched.size(), 5u);
}

TEST(FindTools, NoneHidesEverything) {
  const char* before = std::getenv("PTXLAB_CUDA");
  std::string saved = before ? before : "";
  setenv("PTXLAB_CUDA", "none", 1);
  EXPECT_TRUE(search_folders().empty());
  setenv("PTXLAB_CUDA", "/opt/somewhere", 1);
  EXPECT_EQ(search_folders().at(0), "/opt/somewhere/bin");
  if (before)
    setenv("PTXLAB_CUDA", saved.c_str(), 1);
  else
    unsetenv("PTXLAB_CUDA");
}

TEST(FindTools, TheInstalledOneSaysWhatItTakes) {
  if (!installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  EXPECT_GE(installed().ptxas->ptx_version, 60);
  EXPECT_FALSE(installed().ptxas->version.empty());
}

}  // namespace
}  // namespace ptxlab::toolchain
