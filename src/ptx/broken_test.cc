// One golden snippet for each kind of fault: the code, the line, the column. Where ptxas is here it has to agree: what is an
// error here is one there, what is a warning here passes there.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/thread_pool.h"
#include "ptx/report.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

struct Broken {
  std::string_view code;
  // One line, put into a kernel with the registers below; or a whole module, beginning with '.' or a comment, or in between
  // a module's heading and a kernel where it begins with '#'.
  std::string_view text;
  uint32_t line, column;
  bool warning = false;
};

constexpr std::string_view kHeading = ".version 8.7\n.target sm_90\n.address_size 64\n";
constexpr std::string_view kDeclarations =
    ".global .align 16 .u32 gv; .const .align 4 .u32 cv[2]; .func (.param .b32 r) f(.param .b32 a) { ret; } .func g() "
    "{ ret; }\n"
    ".visible .entry k(.param .u64 q) {\n"
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %e<9>; .reg .pred %p<9>; .reg .v2 "
    ".b32 %v;\n"
    ".shared .align 16 .b8 sm[64]; .param .b32 a0; .param .b32 r0; .reg .u32 %u; .reg .s32 %s;\n"
    "ld.param.u64 %d1, [q];\n";
constexpr uint32_t kLine = 9;  // of the one line

std::string module_of(const Broken& broken) {
  std::string text(broken.text);
  if (text.empty() || text[0] == '~') return text.empty() ? text : text.substr(1);
  if (text[0] == '#') return std::string(kHeading) + text.substr(1) + "\n.visible .entry k() { ret; }\n";
  return std::string(kHeading) + std::string(kDeclarations) + text + "\nret;\n}\n";
}

// '~': the whole module as it stands; '#': a line at module level (line 4).
const Broken kBroken[] = {
    // Text.
    {"PTX0001", "mov.u32 %r1, `1;", kLine, 14},
    {"PTX0002", "mov.u32 %r1, 1; /* open", kLine, 17},
    {"PTX0003", ".pragma \"open;", kLine, 9},
    {"PTX0004", "mov.f32 %f1, 0f3f80;", kLine, 14},
    {"PTX0004", "mov.f32 %f1, -0f3f800000;", kLine, 14},
    {"PTX0005", "mov.u64 %d1, 0x1ffffffffffffffff;", kLine, 14, true},
    {"PTX0014", "mov.u32 %r1 %r2;", kLine, 13},
    {"PTX0014", ".reg .b32 %a %b;", kLine, 14},
    {"PTX0014", "st.shared.v2.u32 [sm], {%r1 %r2};", kLine, 29},
    {"PTX0014",
     "#.entry k2(.param .u32 a .param .u32 b) { .reg .b32 %r; ld.param.u32 %r, [a]; ld.param.u32 %r, [b]; ret; }", 4,
     25},
    {"PTX0006", "ld.shared.u32 %r1, [%r2 4];", kLine, 25},
    {"PTX0007", "mov.u32 %r1, 1 mov.u32 %r2, 1;", kLine, 14},
    {"PTX0013", "%p1 mov.u32 %r1, 1;", kLine, 1},
    {"PTX0013", "!%p1 mov.u32 %r1, 1;", kLine, 1},
    {"PTX0006", "ld.shared.u32 %r1, [%r2-4];", kLine, 24},
    {"PTX0006", ";", kLine, 1},
    {"PTX0007", "mov.u32 %r1, 1", kLine, 14},
    {"PTX0008", "~.version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\nret;\n", 4, 8},
    {"PTX0012", "#}", 4, 1},
    // Heading.
    {"PTX0020", "~.target sm_90\n.entry k() { ret; }\n", 1, 1},
    {"PTX0021", "~.version 8.0\n.entry k() { ret; }\n", 2, 1},
    {"PTX0022", "~.version 8.9\n.target sm_90\n.entry k() { ret; }\n", 1, 10},
    {"PTX0022", "~.version 8\n.target sm_90\n.entry k() { ret; }\n", 1, 10},
    {"PTX0023", "~.version 8.0\n.target sm_91\n.entry k() { ret; }\n", 2, 9},
    {"PTX0024", "~.version 8.0\n.target sm_90\n.address_size 32\n.entry k() { ret; }\n", 3, 15},
    {"PTX0601", "~.version 6.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n", 2, 9},
    {"PTX0025", "#.globl .u32 x;", 4, 1},
    {"PTX0025", "#.entry k2() .maxntidd 32 { ret; }", 4, 13},
    {"PTX0026", "#.version 8.0", 4, 1},
    {"PTX0026", "#.reg .b32 %r;", 4, 1},
    {"PTX0027", "#.entry k2() .maxntid 32 .reqntid 32 { ret; }", 4, 25},
    // Declarations and names.
    {"PTX0100", "add.s32 %r1, %r2, %x;", kLine, 19},
    {"PTX0101", "add.s32 %r1, %r2, %r9;", kLine, 19},
    {"PTX0102", "mov.u64 %d1, nothing;", kLine, 14},
    {"PTX0102", "ld.param.u32 %r1, [nothing];", kLine, 20},
    {"PTX0102", "call later;", kLine, 6},
    {"PTX0103", ".reg .f32 %r3;", kLine, 11},
    {"PTX0103", ".reg .f32 %r<3>;", kLine, 11},
    {"PTX0103", ".shared .b32 sm;", kLine, 14},
    {"PTX0103", "#.global .u32 a; .global .u32 a;", 4, 30},
    {"PTX0103", "#.func t() { ret; } .func t() { ret; }", 4, 26},
    {"PTX0104", "bra NOWHERE;", kLine, 5},
    {"PTX0104", "bra INSIDE; { INSIDE: }", kLine, 5},
    {"PTX0105", "TWICE: TWICE:", kLine, 8},
    {"PTX0106", ".shared .align 3 .b32 x;", kLine, 9},
    {"PTX0106", ".shared .b32 x = 1;", kLine, 14},
    {"PTX0106", "#.global .u32 a[2] = {1, 2, 3};", 4, 21},
    {"PTX0106", "#.const .u32 a[];", 4, 13},
    {"PTX0106", "#.global .v4 .f64 a;", 4, 18},
    {"PTX0106", "#.global .pred a;", 4, 15},
    {"PTX0106", "#.global .b99 a;", 4, 9},
    {"PTX0108", "#.func t(.param .b32 a); .func t(.param .b64 a) { ret; }", 4, 31},
    {"PTX0109", ".reg .b32 %laneid;", kLine, 11, true},
    // Instructions.
    {"PTX0106", ".reg .bf16 %x;", kLine, 6},
    {"PTX0106", ".reg .v2 .pred %x;", kLine, 16},
    {"PTX0106", "#.entry k2(.reg .b32 a) { ret; }", 4, 21},
    {"PTX0106", "#.entry k2(.param .v4 .f32 a) { ret; }", 4, 27},
    {"PTX0106", "#.func (.param .b32 a, .param .b32 b) t() { ret; }", 4, 20},
    {"PTX0106", "#.global .b32 a; .global .b32 b = a;", 4, 34},
    {"PTX0106", "#.global .b32 a[2][2] = {1, 2, 3, 4};", 4, 24},
    {"PTX0106", "#.const .b8 a[100000];", 4, 12},
    {"PTX0027", "#.entry k2() .maxntid 1, 2, 3, 4 { ret; }", 4, 13},
    {"PTX0025", "#.entry k2() .maxnctapersm 4 { ret; }", 4, 13},
    {"PTX0600", "~.version 8.0\n.target sm_80\n.address_size 64\n.entry k() .explicitcluster { ret; }\n", 4, 12},
    {"PTX0600",
     "~.version 7.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 %r; mov.u32 %r, %cluster_ctaid.x; ret; "
     "}\n",
     4, 40},
    {"PTX0301", "brx.idx %r1, T; T: .branchtargets L; L:", kLine, 14},
    {"PTX0502", "call %d1, (), T; T: .callprototype _ ();", kLine, 15},
    {"PTX0200", "frob.s32 %r1, %r2;", kLine, 1},
    {"PTX0202", "add.s32.fzt %r1, %r2, %r3;", kLine, 8},
    {"PTX0202", "add.sat.u32 %r1, %r2, %r3;", kLine, 8},
    {"PTX0202", "mov.b8 %h1, %h2;", kLine, 4},
    {"PTX0202", "fma.f32 %f1, %f2, %f3, %f4;", kLine, 4},
    {"PTX0203", "add %r1, %r2, %r3;", kLine, 1},
    {"PTX0300", "add.s32 %r1, %r2;", kLine, 1},
    {"PTX0300", "add.s32 %r1, %r2, %r3, %r4;", kLine, 24},
    {"PTX0300", "ret %r1;", kLine, 5},
    {"PTX0301", "add.s32 1, %r2, %r3;", kLine, 9},
    {"PTX0301", "ld.shared.u32 %r1, %r2;", kLine, 20},
    {"PTX0301", "add.u32 %r1, %tid.x, 1;", kLine, 14},
    {"PTX0301", "add.u64 %d1, %d2, gv;", kLine, 19},
    {"PTX0301", "bra %r1;", kLine, 5},
    {"PTX0301", "lop3.b32 %r1, %r2, %r3, %r4, %r5;", kLine, 30},
    {"PTX0302", "add.s32 %r1, %d2, %r3;", kLine, 14},
    {"PTX0302", "ld.shared.u64 %r1, [sm];", kLine, 15},
    {"PTX0302", "shl.b64 %d1, %d2, %d3;", kLine, 19},
    {"PTX0302", "mul.wide.s32 %r1, %r2, %r3;", kLine, 14},
    {"PTX0303", "add.f32 %f1, %u, %f2;", kLine, 14},
    {"PTX0303", "mov.u32 %r1, %f1;", kLine, 14},
    {"PTX0303", "selp.b32 %r1, %r2, %r3, %r4;", kLine, 25},
    {"PTX0304", "@%r1 mov.u32 %r1, 1;", kLine, 1},
    {"PTX0305", "mov.u64 %d1, %tid.x;", kLine, 14},
    {"PTX0305", "mov.u32 %r1, %clock64;", kLine, 14},
    {"PTX0306", "ld.shared.v2.u32 {%r1, %r2, %r3}, [sm];", kLine, 18},
    {"PTX0306", "st.shared.v2.u32 [sm], %r1;", kLine, 24},
    {"PTX0306", "mov.b32 %r1, %v;", kLine, 14},
    {"PTX0307", "add.u16 %h1, %h1, 70000;", kLine, 19, true},
    {"PTX0307", "mov.u32 %r1, 0x1ffffffff;", kLine, 14, true},
    {"PTX0307", "lop3.b32 %r1, %r2, %r3, %r4, 256;", kLine, 30, true},
    {"PTX0308", "mov.f32 %f1, 1;", kLine, 14},
    {"PTX0308", "mov.u32 %r1, 1.0;", kLine, 14},
    {"PTX0308", "#.global .f32 a = 1;", 4, 18},
    {"PTX0309", "bar.sync 16;", kLine, 10},
    {"PTX0309", "bar.sync 0, 33;", kLine, 13},
    {"PTX0310", "and.b32 %r1, !%r2, %r3;", kLine, 14},
    {"PTX0311", "mov.u32 %r1, %tid.q;", kLine, 18},
    {"PTX0311", "mov.u32 %r1, %laneid.x;", kLine, 14},
    {"PTX0311", "mov.u32 %r1, %tid;", kLine, 14},
    {"PTX0312", "add.s32 _, %r1, %r2;", kLine, 9},
    // Memory.
    {"PTX0400", "ld.shared.u32 %r1, [gv];", kLine, 21},
    {"PTX0400", "ld.global.u32 %r1, [sm];", kLine, 21},
    {"PTX0400", "ld.u32 %r1, [q];", kLine, 14},
    {"PTX0401", "st.param.u64 [q], %d1;", kLine, 15},
    {"PTX0402", "ld.shared.u32 %r1, [sm+64];", kLine, 20, true},
    {"PTX0402", "ld.shared.u32 %r1, [sm+-4];", kLine, 20, true},
    {"PTX0403", "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [sm+4];", kLine, 40, true},
    {"PTX0404", "ld.shared.u32 %r1, [%f1];", kLine, 21},
    {"PTX0404", "ld.global.u32 %r1, [%r1];", kLine, 21},
    {"PTX0404", "ld.global.u32 %r1, [16];", kLine, 21},
    // Calls.
    {"PTX0500", "call (r0), f, (a0, a0);", kLine, 15},
    {"PTX0500", "call g, (a0);", kLine, 9},
    {"PTX0500", "call f;", kLine, 6},
    {"PTX0503", "call (r0), f, (%d1);", kLine, 16},
    {"PTX0503", ".param .b64 wide; call (wide), f, (a0);", kLine, 25},
    {"PTX0301", "call (r0), f, (sm);", kLine, 16},
    {"PTX0301", "call k;", kLine, 6},
    {"PTX0501", "#.extern .func t(); .entry k2() { call t; ret; }", 4, 39},
    {"PTX0501", "#.extern .global .u32 t;", 4, 22, true},
    {"PTX0502", "call %d1;", kLine, 6},
    {"PTX0504", "#.func t();", 4, 7},
    // Gates.
    {"PTX0600", "wgmma.fence.sync.aligned;", kLine, 1},
    {"PTX0600", "setmaxnreg.inc.sync.aligned.u32 240;", kLine, 1},
    {"PTX0600",
     "~.version 7.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b64 %d;\nmov.u64 %d, 1;\ndiscard.global.L2 "
     "[%d], 128; ret; }",
     6, 1},
    {"PTX0600",
     "~.version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b16 %h;\nadd.bf16 %h, %h, %h; ret; }", 5, 1},
    // Legal and suspicious.
    {"PTX0700", "mul.lo.s32 %r1, %r2, %r3; cvt.s64.s32 %d2, %r1; add.s64 %d3, %d1, %d2; ld.global.u8 %h1, [%d3];",
     kLine, 1, true},
    {"PTX0703", "#.entry k2() .maxnreg 256 { ret; }", 4, 13, true},
    {"PTX0027", "#.entry k2() .maxnreg 0 { ret; }", 4, 13},
    {"PTX0701", "#.entry k2(.param .u32 unread) { ret; }", 4, 23, true},
    {"PTX0206", "ld.v2.global.f32 {%f1, %f2}, [%d1];", kLine, 3, true},
    {"PTX0206", "ld.global.f32.v2 {%f1, %f2}, [%d1];", kLine, 14, true},
    {"PTX0206", "st.v2.shared.u32 [sm], {%r1, %r2};", kLine, 3, true},
    {"PTX0704", ".pragma \"no_unroll\";", kLine, 1, true},
    {"PTX0704", ".pragma \"nounroll\", \"unroll 4\";", kLine, 1, true},
    {"PTX0704", "#.pragma \"nounrol\";", 4, 1},
    {"PTX0026", "#.pragma \"enable_smem_spilling\";", 4, 1},
    {"PTX0704", "#.entry k2() .pragma \"NOUNROLL\"; { ret; }", 4, 13, true},
    {"PTX0600",
     "~.version 8.2\n.target sm_80\n.address_size 64\n.entry k() {\n.pragma \"used_bytes_mask 0xff\"; ret; }", 5, 1},
    {"PTX0600",
     "~.version 8.6\n.target sm_80\n.address_size 64\n.entry k() {\n.pragma \"enable_smem_spilling\"; ret; }", 5, 1},
    {"PTX0600", "~.version 8.8\n.target sm_80\n.address_size 64\n.entry k() {\n.pragma \"frequency 9\"; ret; }", 5, 1},
    {"PTX0027", "~.version 8.3\n.target sm_80\n.address_size 64\n.entry k() {\n.pragma \"used_bytes_mask\"; ret; }", 5,
     1},
    {"PTX0702", "ld.global.u32 %r1, [gv]; st.global.u32 [gv], %r1;", 4, 24, true},
};

std::string ptxas() {
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/local/bin/ptxas", "/usr/bin/ptxas"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

TEST(Broken, EachFaultAtItsPlace) {
  for (const auto& broken : kBroken) {
    std::string text = module_of(broken);
    auto checked = check(text, "t.ptx");
    EXPECT_EQ(checked.ok(), broken.warning) << text << base::render(checked.findings, text);
    bool found = false;
    for (const auto& finding : checked.findings) {
      if (finding.code != broken.code) continue;
      found |= finding.place.line == broken.line && finding.place.column == broken.column &&
               (finding.severity == base::Severity::warning) == broken.warning;
    }
    EXPECT_TRUE(found) << broken.code << " at " << broken.line << ":" << broken.column << " in " << broken.text << "\n"
                       << base::render(checked.findings, text);
    // One fault, one finding: nothing follows from it.
    if (broken.code < "PTX0007" || broken.warning) continue;
    size_t errors = 0;
    for (const auto& finding : checked.findings) errors += finding.severity == base::Severity::error;
    EXPECT_EQ(errors, 1u) << broken.text << "\n" << base::render(checked.findings, text);
  }
}

TEST(Broken, PtxasAgrees) {
  std::string tool = ptxas();
  if (tool.empty()) GTEST_SKIP() << "no ptxas on this machine";
  base::TemporaryFolder folder("ptx-test");
  base::parallel_for(std::size(kBroken), 0, [&](size_t i) {
    auto input = folder.path() / (std::to_string(i) + ".ptx");
    EXPECT_TRUE(base::write_file(input, module_of(kBroken[i])).empty());
    auto outcome = base::run({{tool, "-arch=sm_90", input.string(), "-o", "/dev/null"}, "", {}, {}, {}});
    EXPECT_EQ(outcome.ok(), kBroken[i].warning) << kBroken[i].code << " " << kBroken[i].text << "\n"
                                                << outcome.output << outcome.errors;
  });
}

// The table's closed list of what ptxas takes too much of.
TEST(Broken, LaxFormsAreToldApart) {
  std::string text = module_of({"PTX0204", "rcp.rn.ftz.f64 %e1, %e2;", kLine, 1});
  auto checked = check(text, "t.ptx");
  ASSERT_FALSE(checked.ok());
  EXPECT_TRUE(ptxas_is_laxer(checked.findings[0].code));
  EXPECT_EQ(checked.findings[0].code, spelling(Code::lax_form)) << base::render(checked.findings, text);
  EXPECT_EQ(checked.findings[0].place.line, kLine);
}

TEST(Broken, WhatPtxasTakesAndThisDoesNot) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"PTX0205", "ld.shared.u32 %r1, sm[%r2];"},       {"PTX0205", "mov.u32 %r1, sm[%r2+1];"},
      {"PTX0205", "st.shared.u32 sm[%r2], %r1;"},       {"PTX0204", ".reg .f16x2 %x; and.pred %p1, %x, %p2;"},
      {"PTX0204", ".reg .f16x2 %x; not.pred %x, %p1;"}, {"PTX0204", "#.global .b16 h = 1.5;"},
      {"PTX0204", "#.global .b8 h[2] = {1, 1.5};"},
  };
  std::string tool = ptxas();
  for (const auto& [code, line] : cases) {
    std::string text = module_of({code, line, 0, 0});
    auto checked = check(text, "t.ptx");
    ASSERT_EQ(checked.findings.size(), 1u) << line << base::render(checked.findings, text);
    EXPECT_EQ(checked.findings[0].code, code) << base::render(checked.findings, text);
    EXPECT_TRUE(ptxas_is_laxer(code));
    if (tool.empty()) continue;
    base::TemporaryFolder folder("ptx-test");
    EXPECT_TRUE(base::write_file(folder.path() / "a.ptx", text).empty());
    EXPECT_TRUE(
        base::run({{tool, "-arch=sm_90", (folder.path() / "a.ptx").string(), "-o", "/dev/null"}, "", {}, {}, {}}).ok())
        << line;
  }
}

// Which findings no snippet above raises: each with the reason.
TEST(Broken, EveryCodeHasASnippet) {
  std::set<std::string> seen;
  for (const auto& broken : kBroken) seen.emplace(broken.code);
  const std::set<Code> elsewhere = {
      Code::too_deep,
      Code::too_large,
      Code::too_many_findings,  // recovery_test.cc
      Code::lax_form,           // above: ptxas takes it
      Code::register_index,
      Code::opcode_not_in_table,  // goes away as the table grows
  };
  for (const auto& code : kCodes) {
    EXPECT_TRUE(seen.contains(spelling(code.code)) || elsewhere.contains(code.code)) << code.name;
    EXPECT_FALSE(code.meaning.empty());
  }
}

}  // namespace
}  // namespace ptxlab::ptx
