#include "base/visible.h"

#include <gtest/gtest.h>

#include "base/finding.h"

namespace ptxlab::base {
namespace {

TEST(Visible, LeavesWordsOfAllLanguagesAlone) {
  const std::string words = "a b\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xf0\x9f\x99\x82";
  EXPECT_EQ(visible(words), words);
  EXPECT_EQ(visible("a\tb\nc"), "a b c");
}

TEST(Visible, NamesWhatActsOnTheTerminalOrHides) {
  EXPECT_EQ(visible("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(visible("\xc2\x9b"
                    "2J"),
            "\\x9b2J")
      << "an eight-bit CSI";
  EXPECT_EQ(visible("a\xe2\x80\xae"
                    "b"),
            "a\\u{202e}b");
  EXPECT_EQ(visible("a\xe2\x80\x8b"
                    "b\xef\xbb\xbf"),
            "a\\u{200b}b\\u{feff}");
  EXPECT_EQ(visible("\xf3\xa0\x81\x81"), "\\u{e0041}") << "a tag";
  EXPECT_EQ(visible("\xff\xc3"), "\\xff\\xc3") << "bytes that are no text";
  EXPECT_EQ(visible(std::string("\0", 1)), "\\x00");
}

TEST(Visible, MayKeepLines) { EXPECT_EQ(visible_lines("a\n\tb\r\x1b"), "a\n\tb\\x0d\\x1b"); }

TEST(Visible, FindingsShowIt) {
  Finding finding;
  finding.code = "PTX0000";
  finding.message = "'\x1b[2J' is odd";
  finding.hint = "one of:\n  - a\x07";
  finding.place.file = "x\x1b.ptx";
  EXPECT_EQ(render(finding, ""), "x\\x1b.ptx: error[PTX0000]: '\\x1b[2J' is odd\n       hint: one of:\n  - a\\x07\n");
}

}  // namespace
}  // namespace ptxlab::base
