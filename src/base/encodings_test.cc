#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/random.h"
#include "base/utf8.h"

namespace ptxlab::base {
namespace {

TEST(Utf8, TakesWhatUnicodeDefinesAndNothingElse) {
  for (const char* good : {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa4z"})
    EXPECT_TRUE(valid_utf8(good)) << good;
  struct Bad {
    const char* text;
    size_t at;
  };
  for (const Bad& bad :
       {Bad{"\x80", 0}, Bad{"ab\xff", 2}, Bad{"\xc0\x80", 0}, Bad{"\xc1\xbf", 0}, Bad{"\xe0\x9f\xbf", 0},
        Bad{"x\xed\xa0\x80", 1}, Bad{"\xf0\x8f\xbf\xbf", 0}, Bad{"\xf4\x90\x80\x80", 0}, Bad{"\xf5\x80\x80\x80", 0},
        Bad{"\xc3", 0}, Bad{"ok\xe2\x82", 2}, Bad{"\xe2\x82\x41", 0}, Bad{"\xf0\x90\x80", 0}, Bad{"\xc3\x41", 0}})
    EXPECT_EQ(first_ill_formed(bad.text), bad.at);
}

TEST(Base64, KnownValuesAndEveryByteComesBack) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  Random random(1);
  for (size_t length : {0, 1, 2, 3, 4, 255, 1000}) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(random.below(256)));
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  for (const char* bad : {"Zg=", "Zg", "Z===", "Zm9v!mFy", "Zh==", " Zg=", "Zg==\n\n\n\n"})
    EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace ptxlab::base
