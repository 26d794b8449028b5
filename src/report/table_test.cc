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
