// Kernels of different shape with bank conflicts or scattered accesses, each beside one without: run on the engine, then
// asked what is worth a word.
#include "checkers/remark.h"

#include <gtest/gtest.h>

#include "simt/run_kernel.h"

namespace ptxlab::checkers {
namespace {

using simt::test::Kernel;

// `code` works on %t (thread), %g (global thread), %p (the buffer's address), %s (the tile's).
std::string kernel(const std::string& code) {
  return R"(
.visible .entry k(.param .u64 p)
{
  .shared .align 16 .b8 tile[16384];
  .reg .pred %q;
  .reg .b16 %h;
  .reg .b32 %t, %g, %c, %n, %s, %a, %v, %w, %x<4>;
  .reg .b64 %p, %o, %d;
  ld.param.u64 %p, [p];
  cvta.to.global.u64 %p, %p;
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %g, %c, %n, %t;
  mov.u32 %s, tile;
  mov.u32 %v, %t;
  mov.u64 %d, 1;
)" + code +
         "\n  ret;\n}\n";
}

struct Said {
  base::Findings banks, sectors;
};

Said say(const std::string& code) {
  Kernel k(kernel(code));
  k.in(std::vector<uint32_t>(1 << 18, 1), true).shape({8, 1, 1}, {128, 1, 1});
  k.options.count_sectors = true;
  simt::RunReport report = k.run();
  EXPECT_TRUE(report.completed) << base::render(report.findings, k.module().source);
  return {bank_conflicts(k.module(), report.profile), uncoalesced(k.module(), report.profile)};
}

std::string text(const base::Findings& findings) { return base::render(findings, ""); }

void expect_note(const base::Findings& findings, std::string_view code, std::string_view words) {
  ASSERT_EQ(findings.size(), 1u) << text(findings);
  EXPECT_EQ(findings[0].code, code);
  EXPECT_EQ(findings[0].severity, base::Severity::note);
  EXPECT_NE(findings[0].message.find(words), std::string::npos) << findings[0].message;
  EXPECT_FALSE(findings[0].hint.empty());
}

TEST(Banks, AColumnOfATileOf32Words) {
  std::string code = R"(
  and.b32 %a, %t, 31;
  mul.lo.u32 %a, %a, 128;
  add.u32 %a, %a, %s;
  st.shared.u32 [%a], %v;
)";
  expect_note(say(code).banks, "CHK0040",
              "the store at line 25 takes 32.0 passes a request where 1.0 would do, 100 % of all passes");
  code.replace(code.find("128"), 3, "132");
  EXPECT_TRUE(say(code).banks.empty());
}

TEST(Banks, RowsOf64BytesReadAsVectors) {
  std::string code = R"(
  and.b32 %a, %t, 31;
  mul.lo.u32 %a, %a, 64;
  add.u32 %a, %a, %s;
  st.shared.v4.u32 [%a], {%v, %v, %v, %v};
  ld.shared.v4.u32 {%x0, %x1, %x2, %x3}, [%a];
)";
  base::Findings banks = say(code).banks;
  ASSERT_EQ(banks.size(), 2u) << text(banks);
  EXPECT_NE(banks[0].message.find("16.0 passes a request where 4.0 would do, 50 %"), std::string::npos) << text(banks);
  EXPECT_NE(banks[0].hint.find("16 bytes"), std::string::npos);
  code.replace(code.find("64"), 2, "80");
  EXPECT_TRUE(say(code).banks.empty()) << text(say(code).banks);
}

TEST(Banks, OneCounterForAllLanes) {
  std::string code = "  st.shared.u32 [%s], 0;\n  bar.sync 0;\n  red.shared.add.u32 [%s], %v;\n";
  base::Findings banks = say(code).banks;
  ASSERT_EQ(banks.size(), 1u) << text(banks);
  EXPECT_NE(banks[0].message.find("the red at line"), std::string::npos);
  EXPECT_NE(banks[0].hint.find("take turns"), std::string::npos);
  // Counting is one pass: the lanes at a word are counted and added at once (ATOMS.POPC.INC), unless each wants its number.
  EXPECT_TRUE(say("  st.shared.u32 [%s], 0;\n  bar.sync 0;\n  red.shared.add.u32 [%s], 1;\n").banks.empty());
  EXPECT_FALSE(
      say("  st.shared.u32 [%s], 0;\n  bar.sync 0;\n  atom.shared.add.u32 %w, [%s], 1;\n  add.u32 %v, %v, %w;\n")
          .banks.empty());
  // nvcc writes atom where nobody wants the answer.
  EXPECT_TRUE(say("  st.shared.u32 [%s], 0;\n  bar.sync 0;\n  atom.shared.add.u32 %w, [%s], 1;\n").banks.empty());
  // A counter for each lane, and a load that all lanes share: neither conflicts.
  EXPECT_TRUE(say(R"(
  shl.b32 %a, %t, 2;
  add.u32 %a, %a, %s;
  st.shared.u32 [%a], 0;
  bar.sync 0;
  atom.shared.add.u32 %w, [%a], 1;
  bar.sync 0;
  ld.shared.u32 %w, [%s];
)")
                  .banks.empty());
}

TEST(Sectors, AnArrayOfStructs) {
  std::string code = R"(
  mul.wide.u32 %o, %g, 16;
  add.u64 %o, %p, %o;
  ld.global.u32 %v, [%o+4];
)";
  expect_note(say(code).sectors, "CHK0041",
              "touches 16.0 sectors of 32 bytes a request where 4.0 would hold its bytes, 100 % of all sectors");
  code.replace(code.find("16"), 2, "4");
  EXPECT_TRUE(say(code).sectors.empty());
}

TEST(Sectors, AThreadThatWalksItsOwnRow) {
  std::string code = R"(
  mul.wide.u32 %o, %g, 1024;
  add.u64 %o, %p, %o;
  mov.u32 %c, 0;
LOOP:
  ld.global.u32 %w, [%o];
  add.u64 %o, %o, 4;
  add.u32 %c, %c, 1;
  setp.lt.u32 %q, %c, 8;
  @%q bra LOOP;
)";
  expect_note(say(code).sectors, "CHK0041", "32.0 sectors of 32 bytes a request where 4.0");
  std::string strided = code;
  strided.replace(strided.find("1024"), 4, "4");
  strided.replace(strided.find("%o, %o, 4"), 9, "%o, %o, 4096");
  EXPECT_TRUE(say(strided).sectors.empty()) << text(say(strided).sectors);
}

TEST(Sectors, HalvesStoredDownAColumn) {
  std::string code = R"(
  cvt.u16.u32 %h, %t;
  mul.wide.u32 %o, %g, 256;
  add.u64 %o, %p, %o;
  st.global.u16 [%o], %h;
)";
  expect_note(say(code).sectors, "CHK0041", "the store at line");
  code.replace(code.find("256"), 3, "2");
  EXPECT_TRUE(say(code).sectors.empty());
}

// Ordinary index arithmetic: rows off by one element, broadcasts, tails, vectors.
TEST(Sectors, OrdinaryAccessesAreNotWorthAWord) {
  Said said = say(R"(
  mul.wide.u32 %o, %g, 4;
  add.u64 %o, %p, %o;
  ld.global.u32 %v, [%o+4];
  ld.global.u32 %v, [%p];
  mul.wide.u32 %o, %g, 16;
  add.u64 %o, %p, %o;
  ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%o];
  shr.u32 %c, %g, 5;
  mul.wide.u32 %o, %c, 4;
  add.u64 %o, %p, %o;
  setp.lt.u32 %q, %t, 5;
  @%q st.global.u32 [%o], %v;
  shl.b32 %a, %t, 3;
  add.u32 %a, %a, %s;
  st.shared.u64 [%a], %d;
  shl.b32 %a, %t, 2;
  add.u32 %a, %a, %s;
  ld.shared.u32 %v, [%a+4];
  ld.shared.u32 %v, [%s+8];
)");
  EXPECT_TRUE(said.banks.empty()) << text(said.banks);
  EXPECT_TRUE(said.sectors.empty()) << text(said.sectors);
}

// Many bad places: the worst are named, the rest is counted; and what is little of the whole is silent.
TEST(Sectors, TheWorstLinesComeFirst) {
  std::string code;
  for (int i = 0; i < 6; ++i)
    code +=
        "  mul.wide.u32 %o, %g, " + std::to_string(8 << i) + ";\n  add.u64 %o, %p, %o;\n  ld.global.u32 %v, [%o];\n";
  base::Findings sectors = say(code).sectors;
  ASSERT_EQ(sectors.size(), 4u) << text(sectors);
  EXPECT_NE(sectors[0].message.find("32.0 sectors"), std::string::npos);
  EXPECT_NE(sectors[3].message.find("place"), std::string::npos);
}

// Copies of one source line: the first that costs much stands for all, whichever of them cost a little more this time.
TEST(Sectors, TheFirstCopyOfALineStandsForAll) {
  const auto named = [](const std::string& first, const std::string& second) {
    std::string code;
    for (const std::string& stride : {first, second})
      code +=
          "  .loc 1 7 3\n  mul.wide.u32 %o, %g, " + stride + ";\n  add.u64 %o, %p, %o;\n  ld.global.u32 %v, [%o];\n";
    const base::Findings sectors = say(code).sectors;
    EXPECT_EQ(sectors.size(), 1u) << text(sectors);
    return sectors.empty() ? 0u : sectors[0].place.line;
  };
  const uint32_t equal = named("32", "32");
  EXPECT_EQ(named("24", "32"), equal);
  EXPECT_EQ(named("32", "24"), equal);
  EXPECT_EQ(named("8", "32"), equal + 4);
}

TEST(Remarks, NamesAreKnown) {
  for (const Remark& remark : all_remarks()) EXPECT_EQ(remark_named(remark.name), &remark);
  EXPECT_EQ(remark_named("bank"), nullptr);
}

}  // namespace
}  // namespace ptxlab::checkers
