#include "base/finding.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/finding_json.h"
#include "base/hash.h"
#include "base/result.h"

namespace ptxlab::base {
namespace {

Finding example() {
  Finding finding;
  finding.code = "PTX0001";
  finding.place = {"a.ptx", 2, 3, 5};
  finding.message = "unknown instruction";
  finding.hint = "did you mean 'add'?";
  return finding;
}

TEST(Finding, RendersPlaceLineCaretAndHint) {
  EXPECT_EQ(render(example(), "one\n  adddd x;\nthree"),
            "a.ptx:2:3: error[PTX0001]: unknown instruction\n"
            "     2 |   adddd x;\n"
            "       |   ^~~~~\n"
            "       hint: did you mean 'add'?\n");
}

TEST(Finding, RendersWithoutSourcePlaceOrHint) {
  Finding finding = example();
  EXPECT_EQ(render(finding, ""), "a.ptx:2:3: error[PTX0001]: unknown instruction\n       hint: did you mean 'add'?\n");
  finding.hint = "";
  finding.place = {};
  finding.severity = Severity::warning;
  EXPECT_EQ(render(finding, "text"), "warning[PTX0001]: unknown instruction\n");
  finding.place.file = "b";
  finding.severity = Severity::note;
  EXPECT_EQ(render(finding, "text"), "b: note[PTX0001]: unknown instruction\n");
  EXPECT_EQ(render(Findings{finding, finding}, ""), render(finding, "") + render(finding, ""));
}

TEST(Finding, CaretsStayInsideTheLine) {
  Finding finding = example();
  finding.hint = "";
  finding.place = {"a", 1, 4, 100};
  EXPECT_EQ(render(finding, "abcdef\n"),
            "a:1:4: error[PTX0001]: unknown instruction\n     1 | abcdef\n       |    ^~~\n");
  finding.place = {"a", 1, 100, 1};  // beyond the line: its end
  EXPECT_EQ(render(finding, "abc"), "a:1:100: error[PTX0001]: unknown instruction\n     1 | abc\n       |    ^\n");
  finding.place = {"a", 9, 1, 1};  // beyond the text
  EXPECT_EQ(render(finding, "abc"), "a:9:1: error[PTX0001]: unknown instruction\n     9 | \n       | ^\n");
}

TEST(Finding, APlaceWithoutAColumnIsTheWholeLine) {
  Finding finding = example();
  finding.place = {"a", 2, 0, 0};
  EXPECT_EQ(render(finding, "one\ntwo\n"),
            "a:2: error[PTX0001]: unknown instruction\n     2 | two\n       hint: did you mean 'add'?\n");
}

TEST(Finding, ControlBytesOfTheSourceNeverReachTheTerminal) {
  Finding finding = example();
  finding.hint = "";
  finding.place = {"a", 1, 2, 1};
  EXPECT_EQ(render(finding, "\x1b\t\x01z"), "a:1:2: error[PTX0001]: unknown instruction\n     1 | ? ?z\n       |  ^\n");
}

TEST(Finding, BytesBeyondAsciiTakeOneColumnEach) {
  Finding finding = example();
  finding.place = {"a.cu", 1, 4, 1};
  EXPECT_EQ(render(finding, "\xc3\xa9 x\xff\n"),
            "a.cu:1:4: error[PTX0001]: unknown instruction\n"
            "     1 | ?? x?\n"
            "       |    ^\n"
            "       hint: did you mean 'add'?\n");
}

TEST(Finding, LongLinesAreCutAroundTheCaret) {
  Finding finding = example();
  finding.hint = "";
  finding.place = {"a", 1, 5'000'001, 3};
  std::string source(10'000'000, 'x');
  source.replace(5'000'000, 3, "bad");
  auto text = render(finding, source);
  EXPECT_LT(text.size(), 500u);
  auto shown = text.find("bad"), caret = text.find("^~~");
  ASSERT_NE(shown, std::string::npos);
  ASSERT_NE(caret, std::string::npos);
  EXPECT_EQ(shown - text.rfind('\n', shown), caret - text.rfind('\n', caret));
}

TEST(Finding, ColoursOnlyWhereAsked) {
  EXPECT_EQ(render(example(), "", false).find('\x1b'), std::string::npos);
  EXPECT_NE(render(example(), "", true).find("\x1b[1;31merror[PTX0001]\x1b[0m"), std::string::npos);
}

TEST(Finding, HasErrorLooksAtSeverity) {
  Finding note = example();
  note.severity = Severity::note;
  EXPECT_FALSE(has_error({}));
  EXPECT_FALSE(has_error({note}));
  EXPECT_TRUE(has_error({note, example()}));
}

TEST(FindingJson, ComesBackWhole) {
  Finding finding = example();
  finding.severity = Severity::warning;
  finding.fix = {{{4, 9}, "add"}, {{20, 20}, ";"}};
  auto back = finding_from_json(to_json(finding));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(finding));
  EXPECT_EQ(back->fix, finding.fix);
  EXPECT_EQ(back->place, finding.place);
  EXPECT_EQ(back->severity, finding.severity);
  EXPECT_EQ(back->hint, finding.hint);
}

TEST(FindingJson, RefusesWhatIsNotOne) {
  using nlohmann::json;
  EXPECT_FALSE(finding_from_json(json::array()));
  EXPECT_FALSE(finding_from_json(json::object()));
  auto finding = to_json(example());
  finding["severity"] = "fatal";
  EXPECT_FALSE(finding_from_json(finding));
  finding["severity"] = "error";
  EXPECT_TRUE(finding_from_json(finding));
  finding["line"] = "two";
  EXPECT_FALSE(finding_from_json(finding));
}

TEST(FindingJson, GarbageBytesDoNotThrow) {
  Finding finding = example();
  finding.message = "unknown '\xff\xfe'";
  auto text = print_json(to_json(finding));
  EXPECT_TRUE(nlohmann::json::accept(text));
}

TEST(Result, HoldsAValueOrFindings) {
  Result<int> value(3);
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  Result<int> none(example());
  EXPECT_FALSE(none);
  EXPECT_EQ(none.findings().size(), 1u);
}

TEST(Hash, KnownDigests) {  // FIPS 180-2, appendix B
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace ptxlab::base
