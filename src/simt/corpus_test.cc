// The corpus of compiled kernels (tests/corpus): the engine has a handler for everything in them, but for what is named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::simt {
namespace {

namespace fs = std::filesystem;

// Families that are not executed yet; `call` is of malloc and free, which have no body in the module.
constexpr std::string_view kMissing[] = {"'wgmma.", "'mbarrier.", "'setmaxnreg.", "'call.uni'"};

TEST(Corpus, EverythingHasAHandler) {
  size_t loaded = 0;
  std::set<std::string> missing;
  for (const auto& entry : fs::recursive_directory_iterator("tests/corpus")) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    ptx::Checked checked = ptx::check(text.str(), entry.path().filename().string());
    if (!checked.ok()) continue;  // reported faults: they are the verifier's
    auto program = make_simt_engine()->load(checked.module);
    if (program.ok()) {
      ++loaded;
      continue;
    }
    for (const base::Finding& f : program.findings())
      if (std::none_of(std::begin(kMissing), std::end(kMissing),
                       [&](std::string_view name) { return f.message.starts_with(name); }))
        missing.insert(f.place.file + ": " + f.message.substr(0, f.message.find("' is not")) + "'");
  }
  EXPECT_GT(loaded, 10u);
  for (const std::string& name : missing) ADD_FAILURE() << name;
}

}  // namespace
}  // namespace ptxlab::simt
