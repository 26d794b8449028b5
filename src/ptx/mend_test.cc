// Mends one by one: what is certain comes out exactly as its author meant it, what is not stays byte for byte.
#include "ptx/mend.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "ptx/patch.h"

namespace ptxlab::ptx {
namespace {

constexpr std::string_view kHeading = ".version 8.3\n.target sm_90\n.address_size 64\n";

// A kernel around `body`: registers a, b, c of each kind are read from memory and written back, so that nothing is idle.
std::string kernel(std::string_view body) {
  return std::string(kHeading) +
         ".visible .entry k(.param .u64 q) {\n"
         ".reg .pred %p<3>;\n.reg .b16 %h<3>;\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<4>;\n.reg .f64 "
         "%fd<4>;\n"
         ".shared .align 16 .b8 tile[1024];\n"
         "ld.param.u64 %rd1, [q];\nld.global.u32 %r1, [%rd1];\nld.global.f32 %f1, [%rd1];\nld.global.f64 %fd1, "
         "[%rd1];\n"
         "setp.eq.s32 %p1, %r1, 0;\n" +
         std::string(body) + "\nDONE:\nret;\n}\n";
}

struct Case {
  std::string_view wrong, right;
};

TEST(Mend, CertainOnes) {
  const Case cases[] = {
      // Punctuation.
      {"%p1 bra DONE;", "@%p1 bra DONE;"},
      {"!%p1 bra DONE;", "@!%p1 bra DONE;"},
      {"mov.u32 %r2, 1\nmov.u32 %r3, 2;", "mov.u32 %r2, 1;\nmov.u32 %r3, 2;"},
      {"mov.u32 %r2, 1 mov.u32 %r3, 2;", "mov.u32 %r2, 1; mov.u32 %r3, 2;"},
      {"bar.sync 0\nL: bra L;", "bar.sync 0;\nL: bra L;"},
      {"@%p1 exit\nmov.u32 %r2, 1;", "@%p1 exit;\nmov.u32 %r2, 1;"},
      {"add.s32 %r2 %r1, 1;", "add.s32 %r2, %r1, 1;"},
      {"add.s32 %r2, %r1 1;", "add.s32 %r2, %r1, 1;"},
      {"st.shared.v2.f32 [tile], {%f1 %f1};", "st.shared.v2.f32 [tile], {%f1, %f1};"},
      {"ld.shared.u32 %r2, [tile 4];", "ld.shared.u32 %r2, [tile+4];"},
      {"ld.shared.u32 %r2, [%r1-4];", "ld.shared.u32 %r2, [%r1+-4];"},
      {";", ""},
      // Opcodes.
      {"mvo.u32 %r2, 1;", "mov.u32 %r2, 1;"},
      {"ad.f32 %f2, %f1, %f1;", "add.f32 %f2, %f1, %f1;"},
      {"SETP.LT.f32 %p2, %f1, 0f00000000;", "setp.lt.f32 %p2, %f1, 0f00000000;"},
      {"mull.lo.s32 %r2, %r1, %r1;", "mul.lo.s32 %r2, %r1, %r1;"},
      // Modifiers.
      {"ld.glbal.u32 %r2, [%rd1];", "ld.global.u32 %r2, [%rd1];"},
      {"add.f23 %f2, %f1, %f1;", "add.f32 %f2, %f1, %f1;"},
      {"setp.lt.u23 %p2, %r1, 5;", "setp.lt.u32 %p2, %r1, 5;"},
      {"and.u32 %r2, %r1, 255;", "and.b32 %r2, %r1, 255;"},
      {"shl.s32 %r2, %r1, 2;", "shl.b32 %r2, %r1, 2;"},
      {"xor.s64 %rd2, %rd1, 1;", "xor.b64 %rd2, %rd1, 1;"},
      {"add.b32 %r2, %r1, 1;", "add.s32 %r2, %r1, 1;"},
      {"fma.f32 %f2, %f1, %f1, %f1;", "fma.rn.f32 %f2, %f1, %f1, %f1;"},
      {"cvt.f32.s32 %f2, %r1;", "cvt.rn.f32.s32 %f2, %r1;"},
      {"mul.lo.f32 %f2, %f1, %f1;", "mul.f32 %f2, %f1, %f1;"},
      {"add.rn.s32 %r2, %r1, 1;", "add.s32 %r2, %r1, 1;"},
      {"mul.s32.lo %r2, %r1, %r1;", "mul.lo.s32 %r2, %r1, %r1;"},
      {"mov %r2, %r1;", "mov.b32 %r2, %r1;"},
      {"add %f2, %f1, %f1;", "add.f32 %f2, %f1, %f1;"},
      {"ld.global %f2, [%rd1];", "ld.global.f32 %f2, [%rd1];"},
      {"st.global [%rd1], %fd1;", "st.global.f64 [%rd1], %fd1;"},
      {"bar 0;", "bar.sync 0;"},
      {"atom.shared.add %r2, [tile], 1;", "atom.shared.add.u32 %r2, [tile], 1;"},
      // Widths and kinds.
      {"add.s64 %r2, %r1, %r1;", "add.s32 %r2, %r1, %r1;"},
      {"add.u32 %rd2, %rd1, 4;", "add.u64 %rd2, %rd1, 4;"},
      {"add.f64 %f2, %f1, %f1;", "add.f32 %f2, %f1, %f1;"},
      {"mul.wide.u64 %rd2, %r1, %r1;", "mul.wide.u32 %rd2, %r1, %r1;"},
      {"ld.global.u64 %r2, [%rd1];", "ld.global.u32 %r2, [%rd1];"},
      {"mov.u32 %f2, %f1;", "mov.f32 %f2, %f1;"},
      {"st.global.u32 [%rd1], %f1;", "st.global.f32 [%rd1], %f1;"},
      {"ld.shared.v2.f32 {%f1, %f2, %f3, %f1}, [tile];", "ld.shared.v4.f32 {%f1, %f2, %f3, %f1}, [tile];"},
      {"ld.shared.f32 {%f2, %f3}, [tile];", "ld.shared.v2.f32 {%f2, %f3}, [tile];"},
      {"mov.u64 %rd2, %tid.x;", "cvt.u64.u32 %rd2, %tid.x;"},
      // State spaces.
      {"ld.global.u32 %r2, [tile];", "ld.shared.u32 %r2, [tile];"},
      {"ld.u64 %rd2, [q];", "ld.param.u64 %rd2, [q];"},
      // Constants and brackets.
      {"mov.f32 %f2, 1;", "mov.f32 %f2, 1.0;"},
      {"add.f32 %f2, %f1, -3;", "add.f32 %f2, %f1, -3.0;"},
      {"mov.f32 %f2, 0x3f800000;", "mov.f32 %f2, 0f3f800000;"},
      {"mov.f64 %fd2, 2;", "mov.f64 %fd2, 2.0;"},
      {"add.s32 %r2, %r1, 4.0;", "add.s32 %r2, %r1, 4;"},
      {"mov.f32 %f2, 1.5f;", "mov.f32 %f2, 1.5;"},
      {"mov.u32 %r2, 7u;", "mov.u32 %r2, 7;"},
      {"mov.f32 %f2, -0f3f800000;", "mov.f32 %f2, 0fbf800000;"},
      {"ld.global.f32 %f2, %rd1;", "ld.global.f32 %f2, [%rd1];"},
      {"cvta.to.global.u64 %rd2, [%rd1];", "cvta.to.global.u64 %rd2, %rd1;"},
      {"bar.sync;", "bar.sync 0;"},
      {"ex2.f32 %f2, %f1;", "ex2.approx.f32 %f2, %f1;"},
      {"add.s32 %r2, %r1, 1,;", "add.s32 %r2, %r1, 1;"},
      {"LOOP\nadd.s32 %r2, %r1, 1;\n@%p1 bra LOOP;", "LOOP:\nadd.s32 %r2, %r1, 1;\n@%p1 bra LOOP;"},
      {"@p1 bra DONE;", "@%p1 bra DONE;"},
      // Names.
      {"bra DNOE;", "bra DONE;"},
      {"mov.u32 %r2, %tidx.x;", "mov.u32 %r2, %tid.x;"},
      {".reg .f23 %x;\nmov.f32 %x, %f1;\nst.global.f32 [%rd1], %x;",
       ".reg .f32 %x;\nmov.f32 %x, %f1;\nst.global.f32 [%rd1], %x;"},
      {".rge .f32 %x;\nmov.f32 %x, %f1;\nst.global.f32 [%rd1], %x;",
       ".reg .f32 %x;\nmov.f32 %x, %f1;\nst.global.f32 [%rd1], %x;"},
      {".reg .b32 %r<4>;\nmov.u32 %r2, 1;", "mov.u32 %r2, 1;"},
      {".reg .bf16 %x;\ncvt.rn.bf16.f32 %x, %f1;\nst.global.b16 [%rd1], %x;",
       ".reg .b16 %x;\ncvt.rn.bf16.f32 %x, %f1;\nst.global.b16 [%rd1], %x;"},
      {"L:\nL:\nbra L;", "L:\nbra L;"},
  };
  for (const auto& each : cases) {
    std::string wrong = kernel(each.wrong), right = kernel(each.right);
    ASSERT_FALSE(check(wrong, "t.ptx").ok()) << each.wrong;
    ASSERT_TRUE(check(right, "t.ptx").ok()) << each.right << base::render(check(right, "t.ptx").findings, right);
    Mended mended = mend(wrong, "t.ptx");
    if (each.right.empty()) std::erase(mended.text, '\n'), std::erase(right, '\n');
    EXPECT_EQ(mended.text, right) << each.wrong << "\n" << base::render(mended.left, mended.text);
    EXPECT_TRUE(mended.ok());
    EXPECT_EQ(edited(wrong, mended.edits).size() > 0, true);
    // check offers the same mend beside its finding.
    auto offered = check_with_fixes(wrong, "t.ptx").findings;
    EXPECT_TRUE(std::any_of(offered.begin(), offered.end(), [](const auto& f) { return !f.fix.empty(); }))
        << each.wrong;
  }
}

// Two things could be meant: the text stays as it is, with its hint.
TEST(Mend, UncertainOnesStay) {
  for (std::string_view body : {
           "mul.s32 %r2, %r1, %r1;",          // .lo or .hi
           "min.b32 %r2, %r1, 5;",            // .u32 or .s32
           "setp.f32 %p2, %f1, %f1;",         // which comparison
           "setp.lt %p2, %r1, 5;",            // signed or not
           "div.f32 %f2, %f1, %f1;",          // .rn, .full or .approx
           "cvt.s32.f32 %r2, %f1;",           // which rounding
           "add.sat.u32 %r2, %r1, 1;",        // unsaturated, or signed
           "mov.u32 %r2, 1.0;",               // 1, or the bits of 1.0
           "ld.global.f32 %f2, [%r1];",       // widened how
           "add.s64 %rd2, %rd1, %r1;",        // widened how
           "bra NOWHERE;",                    // no such label, none near
           "add.s32 %r2, %r1, %x;",           // a value from nowhere
           "mov.f32 %f, %f1;",                // which of the bank
           "add.s32 %r2, %r1, %r9;",          // a register that nobody writes
           "ld.global %h1, [%rd1];",          // a byte or two
           "and.b32 %r2, !%r1, 1;",           // not
           "frobnicate.s32 %r2, %r1;",        // nothing is near
           "add.s32 %r2, %r1;",               // which operand
           "@%r1 bra DONE;",                  // compared how
           "mov.f32 %f2, 0f3f80;",            // which digits
           "atom.global.u32 %r2, [%rd1], 1;"  // which operation
       }) {
    std::string text = kernel(body);
    ASSERT_FALSE(check(text, "t.ptx").ok()) << body;
    Mended mended = mend(text, "t.ptx");
    EXPECT_EQ(mended.text, text) << body;
    EXPECT_TRUE(mended.edits.empty() && mended.mended.empty());
    EXPECT_FALSE(mended.ok());
  }
}

TEST(Mend, Headings) {
  std::string body =
      "\n.visible .entry k(.param .u64 q) { .reg .b64 %d; ld.param.u64 %d, [q]; st.global.u32 [%d], 1; ret; }\n";
  std::string barrier = "\n.visible .entry k() { wgmma.fence.sync.aligned; ret; }\n";
  std::string cluster = "\n.visible .entry k() { barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";
  std::string rank = "\n.visible .entry k() { .reg .b32 %r; mov.u32 %r, %cluster_ctarank; ret; }\n";
  std::string explicit_cluster = "\n.visible .entry k() .explicitcluster { ret; }\n";
  std::string wide = "\n.visible .entry k() { .reg .b128 %r; ret; }\n";
  auto head = [](std::string_view version, std::string_view target) {
    return fmt::format(".version {}\n.target {}\n.address_size 64", version, target);
  };
  const std::pair<std::string, std::string> cases[] = {
      {".target sm_90\n.address_size 64" + body, head("8.0", "sm_90") + body},
      {".target sm_100a\n.address_size 64" + body, head("8.6", "sm_100a") + body},
      {".version 7.8\n.address_size 64" + body, head("7.8", "sm_75") + body},
      {".version 8.0;\n.target sm_90;\n.address_size 64;" + body, head("8.0", "sm_90") + body},
      {head("8.0", "sm_90") + "\n.visible .entry k(.param .u64 q,) { ret; }\n",
       head("8.0", "sm_90") + "\n.visible .entry k(.param .u64 q) { ret; }\n"},
      {head("8", "sm_90") + body, head("8.0", "sm_90") + body},
      {head("8.0", "sm90") + body, head("8.0", "sm_90") + body},
      {head("8.0", "SM_90") + body, head("8.0", "sm_90") + body},
      {head("7.0", "sm_90") + body, head("7.8", "sm_90") + body},
      {head("8.0", "sm_90") + barrier, head("8.0", "sm_90a") + barrier},
      {head("7.0", "sm_80") + barrier, head("8.0", "sm_90a") + barrier},
      {head("7.8", "sm_80") + cluster, head("7.8", "sm_90") + cluster},
      {head("7.0", "sm_80") + cluster, head("7.8", "sm_90") + cluster},
      {head("7.0", "sm_80") + rank, head("7.8", "sm_90") + rank},
      {head("7.8", "sm_80") + explicit_cluster, head("7.8", "sm_90") + explicit_cluster},
      {head("8.0", "sm_80") + wide, head("8.3", "sm_80") + wide},
      {head("8.0", "sm_90") + body + "}\n", head("8.0", "sm_90") + body + "\n"},
  };
  for (const auto& [wrong, right] : cases) {
    Mended mended = mend(wrong, "t.ptx");
    EXPECT_EQ(mended.text, right);
    EXPECT_TRUE(mended.ok()) << base::render(mended.left, mended.text);
  }
}

// The skeleton that tutorials print: four faults at once.
TEST(Mend, Skeleton) {
  std::string text = std::string(kHeading) +
                     ".visible .entry k(.param .u64 q, .param .u32 n) {\n"
                     "    .reg .pred %p2;\n"
                     "    .reg .b32 %r<3>;\n"
                     "    .reg .b64 %rd<4>;\n"
                     "    ld.param.u64 %rd1, [q];\n"
                     "    ld.param.u32 %r2, [n];\n"
                     "    mov.u32 %r3, %tid.x;\n"
                     "    setp.ge.u32 %p1, %r3, %r2;\n"
                     "    %p1 bra DONE;\n"
                     "    mul.wide.u32 %rd2, %r3, 4;\n"
                     "    add.s64 %rd3, %rd1, %rd2;\n"
                     "    ld.global.f32 %f1, [%rd3];\n"
                     "    add.f32 %f2, %f1, 1;\n"
                     "    st.global.f32 [%rd3], %f2;\n"
                     "DONE:\n"
                     "    ret;\n"
                     "}\n";
  Mended mended = mend(text, "t.ptx");
  EXPECT_TRUE(mended.ok()) << base::render(mended.left, mended.text);
  for (std::string_view part :
       {"    .reg .f32 %f<3>;\n    .reg .pred %p<2>;\n    .reg .b32 %r<4>;\n", "    @%p1 bra DONE;\n", "%f1, 1.0;"})
    EXPECT_NE(mended.text.find(part), std::string::npos) << mended.text;
  EXPECT_EQ(edited(text, mended.edits), mended.text);
}

TEST(Mend, DeclaresWhereAllOfTheFunctionSeesIt) {
  std::string text = std::string(kHeading) +
                     ".visible .entry k(.param .u64 q) {\n"
                     "{ .reg .b64 %d; ld.param.u64 %d, [q]; ld.global.f32 %f0, [%d]; }\n"
                     "{ .reg .b64 %d; ld.param.u64 %d, [q]; st.global.f32 [%d], %f0; }\n"
                     "ret;\n}\n";
  Mended mended = mend(text, "t.ptx");
  EXPECT_TRUE(mended.ok()) << mended.text << base::render(mended.left, mended.text);
  EXPECT_NE(mended.text.find(".reg .f32 %f<1>;\n{ .reg"), std::string::npos) << mended.text;
}

// A missing bank with far more uses than are ever listed.
TEST(Mend, ManyUsesOfOneMissingBank) {
  std::string body;
  for (int i = 0; i < 500; ++i) body += "add.f64 %x" + std::to_string(i + 1) + ", %x" + std::to_string(i) + ", %fd1;\n";
  std::string text = kernel("mov.f64 %x0, %fd1;\n" + body + "st.global.f64 [%rd1], %x500;");
  Mended mended = mend(text, "t.ptx");
  EXPECT_TRUE(mended.ok()) << base::render(mended.left, mended.text);
  EXPECT_NE(mended.text.find(".reg .f64 %x<501>;"), std::string::npos);
  EXPECT_EQ(mended.mended.size(), 1u);
}

// Any edits in any number of turns: what Patch says of the original is what it did.
TEST(Patch, KeepsTrackOfTheOriginal) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    std::string original;
    for (int i = 0; i < 40; ++i) original += static_cast<char>('a' + i % 26);
    Patch patch(original);
    for (int step = 0; step < 6; ++step) {
      std::vector<base::Edit> edits;
      uint32_t at = 0;
      while (edits.size() < 4) {
        at += static_cast<uint32_t>(random() % 12);
        uint32_t end = at + static_cast<uint32_t>(random() % 4);
        if (end > patch.text().size()) break;
        edits.push_back({{at, end}, std::string(random() % 3, static_cast<char>('0' + step))});
        at = end + 1;
      }
      std::string expected = edited(patch.text(), edits);
      patch.apply(edits);
      ASSERT_EQ(patch.text(), expected);
      auto whole = patch.edits();
      ASSERT_TRUE(apart(whole));
      ASSERT_EQ(edited(original, whole), expected);
      for (uint32_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(expected[i] < 'a' || original[patch.origin(i)] == expected[i]);
    }
  }
}

// Never a crash, never a worse text, whatever stands there.
TEST(Mend, AnyText) {
  std::string text =
      kernel("add.s32 %r2, %r1, 1;\nsetp.lt.s32 %p2, %r2, 5;\n@%p2 bra DONE;\nst.shared.u32 [tile], %r2;");
  std::mt19937 random(11);
  const std::string_view pieces[] = {"",   ";",  ",", "@",  "}",    "{", ".u32", "%r1",
                                     "\"", "/*", "[", "0f", ".reg", ":", "\n",   "ret"};
  for (int i = 0; i < 300; ++i) {
    std::string broken = text;
    for (int n = 0; n < 3; ++n) {
      size_t at = random() % broken.size();
      broken.replace(at, random() % 5, pieces[random() % std::size(pieces)]);
    }
    Mended mended = mend(broken, "t.ptx");
    auto errors = [](const base::Findings& findings) {
      return std::count_if(findings.begin(), findings.end(),
                           [](const auto& f) { return f.severity == base::Severity::error; });
    };
    EXPECT_EQ(mended.edits.empty(), mended.text == broken);
    EXPECT_EQ(edited(broken, mended.edits), mended.text);
    EXPECT_EQ(errors(check(mended.text, "t.ptx").findings), errors(mended.left));
  }
}

}  // namespace
}  // namespace ptxlab::ptx
