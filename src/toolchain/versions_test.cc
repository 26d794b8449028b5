// Several ptxas side by side: what is found and how it is named, and what each version makes of PTX that compilers of
// different age wrote. The versions are those of tools/cuda-wheels.txt and tools/ptxas-wheels.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "toolchain/fake_tool.h"
#include "toolchain/find_tools.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

namespace fs = std::filesystem;

std::string answers(const std::string& release, const std::string& version, const std::string& ptx) {
  return "if [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release " + release + ", V" + version +
         "'; exit 0; fi\necho \"ptxas $1, line 1; fatal   : Unsupported .version 99.9; current version is '" + ptx +
         "'\" >&2\nexit 255";
}

TEST(Versions, TheFirstStaysFirstAndTheOthersFollowFromTheNewest) {
  FakeTool preferred(answers("13.0", "13.0.88", "9.0")), old(answers("9.2", "9.2.148", "6.2")),
      older(answers("12.8", "12.8.93", "8.7")), newer(answers("13.5", "13.5.37", "9.5")),
      again(answers("12.8", "12.8.93", "8.7")), broken("exit 1");
  auto found = find_every_ptxas({preferred.folder(), old.folder(), older.folder(), broken.folder(), newer.folder(),
                                 again.folder(), preferred.folder()});
  std::vector<std::string> versions;
  for (const auto& tool : found) versions.push_back(tool.version);
  EXPECT_EQ(versions, (std::vector<std::string>{"13.0.88", "13.5.37", "12.8.93", "9.2.148"}));
  EXPECT_EQ(found.at(1).ptx_version, 95);
  EXPECT_EQ(found.at(2).path, older.tool().path);
}

TEST(Versions, OneIsNamedByVersionByItsBeginningOrByItsFile) {
  FakeTool file(answers("12.4", "12.4.131", "8.4"));
  std::vector<Tool> there = {{"/a/ptxas", "13.0.88", 90}, {"/b/ptxas", "13.5.37", 95}};
  EXPECT_EQ(ptxas_named("13.5.37", there)->path, "/b/ptxas");
  EXPECT_EQ(ptxas_named("13.5", there)->path, "/b/ptxas");
  EXPECT_EQ(ptxas_named("13", there)->path, "/a/ptxas");
  auto by_path = ptxas_named(file.tool().path.string(), there);
  ASSERT_TRUE(by_path);
  EXPECT_EQ(by_path->version, "12.4.131");
  EXPECT_EQ(by_path->ptx_version, 84);
  auto unknown = ptxas_named("13.50", there);  // not a beginning that ends at a dot
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.findings()[0].code, "ASM0011");
  EXPECT_NE(unknown.findings()[0].hint.find("13.0.88, 13.5.37"), std::string::npos) << unknown.findings()[0].hint;
  auto no_tool = ptxas_named("/bin/true", there);
  ASSERT_FALSE(no_tool);
  EXPECT_EQ(no_tool.findings()[0].code, "ASM0012");
}

TEST(Versions, OfDrivers) {
  EXPECT_EQ(ptx_of_cuda(13000), 90);
  EXPECT_EQ(ptx_of_cuda(12080), 87);
  EXPECT_EQ(ptx_of_cuda(99990), 0);
}

// --- real ones -----------------------------------------------------------------------------------------------------------

// What a version is known to take: the newest PTX ISA, and of the corpus every text that is no newer.
struct Real : ::testing::TestWithParam<std::pair<const char*, isa::PtxVersion>> {
  std::optional<Tool> tool() const {
    auto named = ptxas_named(GetParam().first, installed_ptxas());
    return named ? std::optional(*named) : std::nullopt;
  }
};

isa::PtxVersion version_of(const std::string& ptx) {
  size_t at = ptx.find("\n.version ");
  if (at == std::string::npos) return 0;
  const char* number = ptx.c_str() + at + 10;
  return static_cast<isa::PtxVersion>((number[0] - '0') * 10 + number[2] - '0');
}

TEST_P(Real, TakesWhatIsNoNewerAndRefusesTheRestAtOnce) {
  auto ptxas = tool();
  if (!ptxas) GTEST_SKIP() << "no ptxas " << GetParam().first << " here: tools/setup --witnesses fetches it";
  EXPECT_EQ(ptxas->ptx_version, GetParam().second);
  base::TemporaryFolder cache("ptxlab-versions-test");
  size_t taken = 0, too_new = 0;
  for (const char* made_by : {"tests/corpus", "tests/corpus/triton"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(PTXLAB_SOURCE_DIR) / made_by)) {
      std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".ptx" || name.find("language") == 0) continue;  // long, and covered elsewhere
      auto ptx = base::read_file(entry.path());
      ASSERT_TRUE(ptx);
      AssembleOptions how;
      how.target = *isa::target_named(ptx->find(".target sm_80") == std::string::npos ? "sm_90a" : "sm_80");
      how.cache = cache.path();
      if (ptx->find(".target sm_90\n") != std::string::npos || ptx->find(".target sm_90,") != std::string::npos)
        how.target = *isa::target_named("sm_90");
      auto assembled = assemble(*ptxas, *ptx, name, how);
      if (version_of(*ptx) <= ptxas->ptx_version) {
        ++taken;
        ASSERT_TRUE(assembled) << name << ": " << assembled.findings()[0].message;
        for (const auto& one : assembled->entries) {
          EXPECT_GT(one.registers, 0) << name << " " << one.entry;
          EXPECT_GT(one.code_bytes, 0u) << name << " " << one.entry;
          EXPECT_TRUE(code_digest(assembled->cubin, one.entry)) << name << " " << one.entry;
        }
      } else {
        ++too_new;
        ASSERT_FALSE(assembled) << name;
        EXPECT_EQ(assembled.findings()[0].code, "ASM0002") << name;
        EXPECT_NE(assembled.findings()[0].message.find("version"), std::string::npos)
            << assembled.findings()[0].message;
      }
    }
  }
  EXPECT_GE(taken, 6u);
  if (ptxas->ptx_version < 94) {
    EXPECT_GE(too_new, 3u);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Real,
                         ::testing::Values(std::pair{"12.8.93", isa::PtxVersion{87}},
                                           std::pair{"13.0.88", isa::PtxVersion{90}},
                                           std::pair{"13.5.37", isa::PtxVersion{95}}),
                         [](const auto& version) {
                           std::string name = std::string("ptxas_") + version.param.first;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace ptxlab::toolchain
