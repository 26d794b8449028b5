// Pages cannot lie: each wrong example raises its code and nothing else, each right one nothing at all.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/file.h"
#include "cli/code_page.h"
#include "cli/files.h"
#include "ptx/codes.h"
#include "ptx/mend.h"

namespace ptxlab::cli {
namespace {

std::map<std::string, CodePage> pages() {
  auto read = code_pages();
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.findings()[0].message + " " + read.findings()[0].place.file);
  std::map<std::string, CodePage> all;
  if (read.ok())
    for (auto& page : *read) all.emplace(page.code, page);
  return all;
}

TEST(Pages, EveryCodeOfCheckHasOne) {
  auto all = pages();
  for (const auto& code : ptx::kCodes) {
    auto page = all.find(ptx::spelling(code.code));
    ASSERT_NE(page, all.end()) << ptx::spelling(code.code) << " " << code.name << ": write docs/codes/"
                               << ptx::spelling(code.code) << ".md";
    EXPECT_EQ(page->second.title, code.meaning);
    // A list that was cut off needs a hundred findings more.
    bool without = code.code == ptx::Code::too_many_findings;
    EXPECT_EQ(page->second.wrong.empty(), without) << page->first;
  }
  std::set<std::string> known;
  for (const auto& code : ptx::kCodes) known.insert(ptx::spelling(code.code));
  for (const auto& [code, page] : all)
    EXPECT_TRUE(!code.starts_with("PTX") || known.contains(code)) << code << " is no code";
}

TEST(Pages, ExamplesAreWhatTheySay) {
  for (const auto& [code, page] : pages()) {
    if (page.wrong.empty()) continue;
    auto wrong = ptx::check(page.wrong, code + " wrong").findings;
    EXPECT_FALSE(wrong.empty()) << code;
    for (const auto& finding : wrong) EXPECT_EQ(finding.code, code) << base::render(finding, page.wrong);
    auto right = ptx::check(page.right, code + " right").findings;
    EXPECT_TRUE(right.empty()) << base::render(right, page.right);
  }
}

// A page of any family is about a code that some part raises.
TEST(Pages, AreAboutCodesThatAreRaised) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / "src"))
    if (entry.path().extension() == ".cc" || entry.path().extension() == ".h")
      if (auto text = base::read_file(entry.path()); text.ok()) all += *text;
  for (const auto& [code, page] : pages())
    EXPECT_TRUE(code.starts_with("PTX") || all.find("\"" + code + "\"") != std::string::npos) << code;
}

// Where a page says that --fix mends its kind, it mends the example: into something that check accepts.
TEST(Pages, FixDoesWhatPagesPromise) {
  const std::set<std::string> mended = {"PTX0004", "PTX0006", "PTX0007", "PTX0012", "PTX0013", "PTX0014", "PTX0020",
                                        "PTX0021", "PTX0022", "PTX0023", "PTX0024", "PTX0025", "PTX0100", "PTX0101",
                                        "PTX0103", "PTX0104", "PTX0200", "PTX0202", "PTX0203", "PTX0305", "PTX0306",
                                        "PTX0308", "PTX0400", "PTX0600", "PTX0601"};
  auto all = pages();
  for (const auto& code : mended) {
    ptx::Mended result = ptx::mend(all[code].wrong, code);
    EXPECT_TRUE(result.ok()) << code << "\n" << base::render(result.left, result.text);
  }
}

}  // namespace
}  // namespace ptxlab::cli
