// Bad input: every finding has its place, one mistake does not hide the next, and nothing crashes, hangs or blows up.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "base/random.h"
#include "ptx/difference.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

std::string kernel(std::string_view body) {
  return std::string(kHead) + ".visible .entry k(.param .u64 p)\n{\n" + std::string(body) + "\n}\n";
}

double seconds(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A generous bound for a loaded machine and sanitizers: what is not linear takes hours at these sizes.
constexpr double kSoon = 20;

// Every finding lies inside the text, and the list is capped.
void expect_sane(const base::Findings& findings, std::string_view text) {
  EXPECT_LE(findings.size(), kMaxFindings + 1);
  auto lines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const auto& finding : findings) {
    EXPECT_TRUE(finding.code.starts_with("PTX")) << finding.code;
    EXPECT_FALSE(finding.message.empty());
    EXPECT_LT(finding.message.size(), 1000u);
    EXPECT_LE(finding.place.line, lines);
    EXPECT_LE(finding.place.length, 200u);
  }
}

TEST(Recovery, SeveralFindingsInOnePass) {
  std::string text = kernel(
      ".reg .b32 %r<5>;\n"
      "add.s32 %r1, %r2\n"        // no ';'
      "mov.u32 %r1, ;\n"          // no operand
      "add.s32 %r1, %r2, %x;\n"   // undeclared
      "frobnicate.u32 %r1;\n"     // no opcode
      "bra NOWHERE;\n"            // no label
      "mov.u32 %r1, 1;\n"         // right
      "add.s32 %r1, %r9, 1;\n"    // beyond the bank
      "add.u64 %r1, %r2, %r3;\n"  // width
      "ret;");
  auto checked = check(text, "t.ptx");
  std::vector<std::pair<std::string, uint32_t>> found;
  for (const auto& finding : checked.findings)
    if (finding.severity == base::Severity::error) found.emplace_back(finding.code, finding.place.line);
  std::vector<std::pair<std::string, uint32_t>> wanted = {{"PTX0300", 7},  {"PTX0007", 7},  {"PTX0006", 8},
                                                          {"PTX0100", 9},  {"PTX0200", 10}, {"PTX0104", 11},
                                                          {"PTX0101", 13}, {"PTX0302", 14}};
  EXPECT_EQ(found, wanted) << base::render(checked.findings, text);
}

// Whatever its operands are, an instruction that nobody knows is one finding.
TEST(Recovery, UnknownInstructionIsOneFinding) {
  for (std::string_view line : {"frob.s32.x::y.sat %r2|%r1, [%d+4], {%r1, %r1}, L, 0f3f800000, (%r1);", "frob;",
                                "@!%p frob.b32 %r1;", "frob (%r1), L, (%r2, 7);", "frob [%d, {%r1, %r2}], !%p, _;"}) {
    std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r<3>; .reg .b64 %d; .reg .pred "
        "%p;\n" +
        std::string(line) + "\nL: ret;\n}\n";
    Checked checked = check(text, "t.ptx");
    ASSERT_EQ(checked.findings.size(), 1u) << base::render(checked.findings, text);
    EXPECT_EQ(checked.findings[0].code, "PTX0200");
  }
}

TEST(Recovery, TruncatedAnywhere) {
  auto file = base::read_file(fs::path(PTXLAB_SOURCE_DIR) / "tests/corpus/language.sm_80.ptx");
  ASSERT_TRUE(file.ok());
  for (size_t length = 0; length < file->size(); length += 61) {
    std::string_view text = std::string_view(*file).substr(0, length);
    auto checked = check(text, "t.ptx");
    expect_sane(checked.findings, text);
    print(checked.module);
  }
  auto cut = check(std::string_view(*file).substr(0, file->size() / 2), "t.ptx");
  EXPECT_FALSE(cut.ok());
}

TEST(Recovery, EmptyAndBlank) {
  for (std::string_view text : {"", "\n", "   ", "// nothing\n", "/* open", "\"open", "\0\0\0"}) {
    auto checked = check(text, "t.ptx");
    EXPECT_FALSE(checked.ok());
    expect_sane(checked.findings, text);
  }
}

TEST(Recovery, BinaryGarbage) {
  base::Random random(1);
  for (int round = 0; round < 20; ++round) {
    std::string text(20000, '\0');
    for (char& c : text) c = static_cast<char>(random.next());
    auto checked = check(text, "t.ptx");
    EXPECT_FALSE(checked.ok());
    expect_sane(checked.findings, text);
    checked = check(kernel(text), "t.ptx");
    EXPECT_FALSE(checked.ok());
  }
}

TEST(Recovery, HugeInputsInLinearTime) {
  const std::string nest =
      kernel(std::string(100000, '{') + ".reg .b32 %r<5>; mov.u32 %r1, 1;" + std::string(100000, '}'));
  std::string labels;
  for (int i = 0; i < 100000; ++i) labels += "{ L: bra L; bra OUT; ";
  labels += std::string(100000, '}') + " OUT: ret;";
  std::string banks;
  for (int i = 0; i < 50000; ++i) banks += "{ .reg .b32 %r<70000>; mov.u32 %r65000, 1; mov.u32 %q1, 2; ";
  const std::string expression = kernel(".reg .b32 %r; mov.u32 %r, " + std::string(200000, '(') + "1;");
  const std::string minus = kernel(".reg .b32 %r; mov.u32 %r, " + std::string(200000, '-') + "1;");
  const std::string vectors = kernel(".reg .b32 %r; mov.u32 %r, " + std::string(200000, '{') + ";");
  const std::string addresses = kernel(".reg .b32 %r; mov.u32 %r, " + std::string(200000, '[') + ";");
  const std::string initializer = std::string(kHead) + ".global .b32 a[2] = " + std::string(200000, '{') + ";";
  const std::string token = kernel("mov.u32 %" + std::string(10 << 20, 'r') + ", 1;");
  const std::string number = kernel(".reg .b32 %r; mov.u32 %r, " + std::string(10 << 20, '7') + ";");
  const std::string one_line = kernel(std::string(1 << 20, '@'));
  const std::string stray = std::string(kHead) + std::string(1 << 20, '}');
  const std::string padding = std::string(kHead) + ".global .b32 a[2][4000000000] = {{1},{2}};";
  for (const auto& text : {nest, kernel(labels), kernel(banks), expression, minus, vectors, addresses, initializer,
                           token, number, one_line, stray, padding}) {
    EXPECT_LT(seconds([&] { expect_sane(check(text, "t.ptx").findings, text); }), kSoon) << text.substr(0, 200);
  }
  EXPECT_TRUE(check(nest, "t.ptx").ok());
  EXPECT_TRUE(check(kernel(labels), "t.ptx").ok());
}

TEST(Recovery, FiftyMegabytesOfGarbageAndOfCode) {
  std::string garbage(50 << 20, 'x');
  for (size_t i = 0; i < garbage.size(); i += 7) garbage[i] = "\n;{} .%"[i / 7 % 7];
  EXPECT_LT(seconds([&] {
              auto checked = check(garbage, "t.ptx");
              EXPECT_FALSE(checked.ok());
              expect_sane(checked.findings, garbage);
            }),
            kSoon);
}

// An error is never lost behind warnings.
TEST(Recovery, ManyWarningsDoNotHideAnError) {
  std::string body = ".reg .b16 %h;\n";
  for (int i = 0; i < 300; ++i) body += "mov.u16 %h, 70000;\n";
  auto warned = check(kernel(body + "ret;"), "t.ptx");
  EXPECT_TRUE(warned.ok());
  EXPECT_EQ(warned.findings.size(), kMaxFindings + 1);
  EXPECT_EQ(warned.findings.back().code, "PTX0011");
  auto refused = check(kernel(body + "mov.u16 %h, %h, %h;\nret;"), "t.ptx");
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.findings.size(), kMaxFindings + 1);
}

// Random edits of real files for about two seconds: bytes changed, removed, doubled, pieces moved.
TEST(Recovery, RandomEditsNeverCrash) {
  std::vector<std::string> corpus;
  for (const auto& entry : fs::directory_iterator(fs::path(PTXLAB_SOURCE_DIR) / "tests/corpus/reported"))
    corpus.push_back(*base::read_file(entry.path()));
  ASSERT_FALSE(corpus.empty());
  base::Random random(42);
  constexpr std::string_view kAlphabet = ".;,{}[]()<>@!%+-*/:_|=\"0123456789abfrx \n\t\\#\x80";
  for (int round = 0; round < 4000; ++round) {
    std::string text = corpus[random.below(corpus.size())];
    uint64_t edits = 1 + random.below(8);
    for (uint64_t i = 0; i < edits && !text.empty(); ++i) {
      size_t at = random.below(text.size());
      size_t length = std::min<size_t>(random.below(20), text.size() - at);
      switch (random.below(5)) {
        case 0: text[at] = kAlphabet[random.below(kAlphabet.size())]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(at, length)); break;
        case 3: text.insert(random.below(text.size()), text.substr(at, length)); break;
        default: text.insert(at, 1, kAlphabet[random.below(kAlphabet.size())]); break;
      }
    }
    auto checked = check(text, "t.ptx");
    expect_sane(checked.findings, text);
    print(checked.module);
    if (Parsed parsed = parse(text, "t.ptx"); parsed.ok()) {
      Parsed again = parse(print(parsed.module), "t.ptx");
      EXPECT_TRUE(again.ok()) << text;
      EXPECT_EQ(difference(parsed.module, again.module), "") << text;
    }
    base::render(checked.findings, text);
  }
}

}  // namespace
}  // namespace ptxlab::ptx
