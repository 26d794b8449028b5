// The check command on inputs too large for a golden case.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace ptxlab::cli {
namespace {

struct Ran {
  int code = 0;
  std::string out;
  double seconds = 0;
};

Ran run(std::vector<std::string> words) {
  testing::internal::CaptureStdout();
  auto start = std::chrono::steady_clock::now();
  Ran ran;
  ran.code = run_command(words);
  ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ran.out = testing::internal::GetCapturedStdout();
  return ran;
}

std::string repeated(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

TEST(Check, FiftyMegabytesAreAnsweredAndNotDrownedInFindings) {
  base::TemporaryFolder folder("ptxlab-test");
  auto path = (folder.path() / "big.ptx").string();
  std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n";
  for (const auto& text :
       {repeated("    add.u32 %r1, %r2, %r3;\n", 50'000'000), head + repeated("add.u32 %r1, %r2, %r3;\n", 50'000'000),
        repeated("x", 50'000'000), repeated("/*", 50'000'000), head + repeated("{", 50'000'000),
        repeated(std::string_view("\0", 1), 50'000'000)}) {
    ASSERT_TRUE(base::write_file(path, text).empty());
    auto ran = run({"check", "--json", path});
    EXPECT_EQ(ran.code, kExitNo);
    auto json = nlohmann::json::parse(ran.out);
    EXPECT_GE(json["files"][0]["findings"].size(), 1u);
    EXPECT_LE(json["files"][0]["findings"].size(), 101u);
    EXPECT_LT(ran.seconds, 300) << text.substr(0, 80);  // an end, not a speed: sanitizers take a minute
  }
}

}  // namespace
}  // namespace ptxlab::cli
