#include "cli/options.h"

#include <gtest/gtest.h>

namespace ptxlab::cli {
namespace {

struct Parsed {
  std::optional<int> code;
  std::string file, text = "default", said;
  uint64_t number = 7;
  std::vector<std::string> many;
  bool flag = false;
};

Parsed parse(std::vector<std::string> words) {
  Parsed parsed;
  Options options("try", "Tries.", "ptxlab try x");
  options.argument("FILE", parsed.file, "a file");
  options.value("--text", "TEXT", parsed.text, "text");
  options.value("--number", "N", parsed.number, "number");
  options.values("--many", "SPEC", parsed.many, "several");
  options.flag("--json", parsed.flag, "flag");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.code = options.parse(words);
  parsed.said = testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(Options, ValuesArriveWhole) {
  auto parsed = parse({"a.ptx", "--text", "[a,b]", "--many", "in:f32:1,2", "--number=12", "--many", "[x]", "--json"});
  EXPECT_FALSE(parsed.code) << parsed.said;
  EXPECT_EQ(parsed.file, "a.ptx");
  EXPECT_EQ(parsed.text, "[a,b]");
  EXPECT_EQ(parsed.number, 12u);
  EXPECT_EQ(parsed.many, (std::vector<std::string>{"in:f32:1,2", "[x]"}));
  EXPECT_TRUE(parsed.flag);
}

TEST(Options, AbsentOptionsKeepTheirDefaults) {
  auto parsed = parse({"a.ptx"});
  EXPECT_FALSE(parsed.code);
  EXPECT_EQ(parsed.text, "default");
  EXPECT_EQ(parsed.number, 7u);
  EXPECT_FALSE(parsed.flag);
}

TEST(Options, AnOptionTakesOneValueOnly) {
  auto parsed = parse({"--many", "in:f32:1,2", "a.ptx"});
  EXPECT_FALSE(parsed.code) << parsed.said;
  EXPECT_EQ(parsed.file, "a.ptx");
  EXPECT_EQ(parsed.many.size(), 1u);
}

TEST(Options, AValueMayBeLeftOut) {
  struct Standing {
    bool given = false, json = false;
    std::string value;
  };
  auto parsed = [](std::vector<std::string> words) {
    Standing into;
    Options options("try", "Tries.", "");
    options.optional_value("--gpu", "LIST", into.given, into.value, "");
    options.flag("--json", into.json, "");
    EXPECT_FALSE(options.parse(words));
    return into;
  };
  EXPECT_FALSE(parsed({"--json"}).given);
  auto alone = parsed({"--gpu"});
  EXPECT_TRUE(alone.given);
  EXPECT_EQ(alone.value, "");
  auto before = parsed({"--gpu", "--json"});
  EXPECT_TRUE(before.given && before.json);
  EXPECT_EQ(before.value, "");
  EXPECT_EQ(parsed({"--gpu", "0,ssh:box"}).value, "0,ssh:box");
  EXPECT_EQ(parsed({"--gpu=1"}).value, "1");
}

TEST(Options, HelpShowsOptionsAndExample) {
  auto parsed = parse({"--help"});
  EXPECT_EQ(parsed.code, 0);
  for (auto word : {"Tries.", "FILE", "--text TEXT", "--many SPEC", "--json", "Example:\n  ptxlab try x"}) {
    EXPECT_NE(parsed.said.find(word), std::string::npos) << word << "\n" << parsed.said;
  }
}

TEST(Options, WrongUseIsTwoAndSaysWhatIsWrong) {
  auto wrong = [](std::vector<std::string> words, std::string_view text) {
    auto parsed = parse(std::move(words));
    EXPECT_EQ(parsed.code, 2);
    EXPECT_NE(parsed.said.find(text), std::string::npos) << parsed.said;
  };
  wrong({}, "FILE is required");
  wrong({"a", "b"}, "one argument too many: 'b'");
  wrong({"a", "--tetx", "x"}, "did you mean '--text'?");
  wrong({"--tetx", "x"}, "did you mean '--text'?");
  wrong({"a", "--completely-other"}, "unknown option '--completely-other'");
  wrong({"a", "--number", "x"}, "--number");
  wrong({"a", "--number", "-1"}, "--number");
  wrong({"a", "--number", "99999999999999999999999"}, "--number");
  wrong({"a", "--text"}, "--text");
  wrong({"a", "--number", "1", "--number", "2"}, "--number");
}

}  // namespace
}  // namespace ptxlab::cli
