#include "report/table.h"

#include <gtest/gtest.h>

namespace ptxlab::report {
namespace {

TEST(Table, AlignsNumbersToTheRightAndTextToTheLeft) {
  EXPECT_EQ(table({{"name"}, {"n", true}}, {{"a", "1"}, {"longer", "20"}}),
            "name     n\n"
            "------  --\n"
            "a        1\n"
            "longer  20\n");
}

TEST(Table, CutsTheLastColumnAtTheWidth) {
  std::string out = table({{"a"}, {"idea"}}, {{"x", std::string(100, 'y')}}, 40);
  EXPECT_NE(out.find("yyy...\n"), std::string::npos);
  for (size_t from = 0, end; (end = out.find('\n', from)) != std::string::npos; from = end + 1)
    EXPECT_LE(end - from, 40u);
}

TEST(Table, PutsColumnsBelowOneAnotherWhereTheTerminalIsNarrow) {
  const std::vector<Column> columns = {{"arm"}, {"right", true}, {"fast", true}, {"why"}};
  const std::vector<std::vector<std::string>> rows = {{"rules", "100 % (90 to 100)", "44 % (17 to 75)", "because"}};
  EXPECT_EQ(table(columns, rows, 30),
            "arm                right\n"
            "-----  -----------------\n"
            "rules  100 % (90 to 100)\n"
            "\n"
            "arm               fast\n"
            "-----  ---------------\n"
            "rules  44 % (17 to 75)\n"
            "\n"
            "arm    why\n"
            "-----  -------\n"
            "rules  because\n");
  EXPECT_EQ(table(columns, rows, 80).find("\n\n"), std::string::npos) << "there is room";
  // Figures are never cut, whatever the width; a name is, where it would take most of it.
  const std::string narrow = table(columns, {{std::string(60, 'n'), "100 % (90 to 100)", "1", "x"}}, 40);
  EXPECT_NE(narrow.find("nnn..."), std::string::npos);
  EXPECT_NE(narrow.find("100 % (90 to 100)"), std::string::npos);
  for (size_t width = 1; width < 120; ++width)
    EXPECT_NE(table(columns, rows, width).find("44 % (17 to 75)"), std::string::npos) << width;
}

TEST(Table, CountsCharactersNotBytes) {
  EXPECT_EQ(table({{"a"}, {"b", true}}, {{"\xc3\xa9", "1"}}),
            "a  b\n"
            "-  -\n"
            "\xc3\xa9  1\n");
}

TEST(Table, ShowsWhatWouldActOnATerminal) {
  EXPECT_EQ(table({{"a"}}, {{"x\x1b[2J"}}),
            "a\n"
            "--------\n"
            "x\\x1b[2J\n");
}

}  // namespace
}  // namespace ptxlab::report
