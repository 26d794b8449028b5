// A baseline that is stored has to be what its source compiles to.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::task {
namespace {

// The code alone: lines of debugging (.loc, .file, the .debug sections behind the code) and comments depend on where the
// source lies.
std::string code_of(const std::string& ptx) {
  std::istringstream lines(ptx);
  std::string code, line;
  while (std::getline(lines, line)) {
    const size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos) continue;
    const std::string_view text = std::string_view(line).substr(at);
    if (text.substr(0, 8) == ".section") break;
    if (text.substr(0, 2) == "//" || text.substr(0, 4) == ".loc" || text.substr(0, 5) == ".file") continue;
    code += std::string(text) + "\n";
  }
  return code;
}

TEST(Baselines, AreWhatNvccMakesOfTheirSources) {
  const toolchain::Toolchain& tools = toolchain::installed();
  if (!tools.nvcc) GTEST_SKIP() << "there is no nvcc";
  if (tools.nvcc->version.rfind("13.0", 0) != 0) GTEST_SKIP() << "made by nvcc 13.0, here is " << tools.nvcc->version;
  const std::filesystem::path root = std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks";
  for (const std::string& name : list_tasks(root)) {
    auto stored = base::read_file(root / name / "baseline.ptx");
    auto made = toolchain::compile_to_ptx(root / name / "kernel.cu", {*isa::target_named("sm_80"), {}, true});
    ASSERT_TRUE(stored.ok());
    ASSERT_TRUE(made.ok()) << base::render(made.findings(), "");
    EXPECT_EQ(code_of(*stored), code_of(*made)) << name << ": tasks/remake-baselines makes it anew";
    EXPECT_EQ(stored->find("\"/"), std::string::npos) << name << ": an absolute path in the baseline";
  }
}

}  // namespace
}  // namespace ptxlab::task
