// What the parsed module says of itself, what the printer makes of it, and that offered mends mend.
#include "ptx/module.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/arguments.h"
#include "ptx/difference.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

Module module_of(const std::string& rest) {
  std::string text = std::string(kHead) + rest;
  Parsed parsed = parse(text, "t.ptx");
  EXPECT_TRUE(parsed.ok()) << base::render(parsed.findings, text);
  return std::move(parsed.module);
}

TEST(Module, EntriesByMangledAndPlainName) {
  Module module = module_of(
      ".entry _Z5scalePfi(.param .u64 a, .param .u32 b) { ret; }\n"
      ".entry _ZN2ns4normIfEEvPT_(.param .u64 a) { ret; }\n"
      ".entry _ZN2ns4twinIfEEvPT_(.param .u64 a) { ret; }\n"
      ".entry _ZN2ns4twinIdEEvPT_(.param .u64 a) { ret; }\n"
      ".func helper() { ret; }\n");
  ASSERT_NE(module.entry("scale"), nullptr);
  EXPECT_EQ(module.entry("scale")->name, "_Z5scalePfi");
  EXPECT_EQ(module.entry("_Z5scalePfi")->name, "_Z5scalePfi");
  for (auto name : {"norm", "ns::norm", "ns::norm<float>"}) {
    ASSERT_NE(module.entry(name), nullptr) << name;
    EXPECT_EQ(module.entry(name)->name, "_ZN2ns4normIfEEvPT_");
  }
  EXPECT_EQ(module.entry("twin"), nullptr);  // two
  ASSERT_NE(module.entry("ns::twin<double>"), nullptr);
  EXPECT_EQ(module.entry("helper"), nullptr);
  EXPECT_EQ(module.entry(""), nullptr);
  EXPECT_NE(module.function("helper"), nullptr);
  Module lone = module_of(".entry k() { ret; }\n");
  EXPECT_EQ(lone.entry(""), lone.entry("k"));
}

TEST(Module, CallsReferToTheDefinition) {
  Module module = module_of(
      ".func f(.param .b32 a);\n.entry k() { .param .b32 x; call f, (x); ret; }\n.func f(.param .b32 a) { ret; }\n");
  const auto* call = module.entry("k")->body[1].instruction();
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(module.functions[call->operands[0].symbol.index].has_body);
}

TEST(Module, DirectivesAndSizes) {
  Module module = module_of(
      ".global .align 8 .b8 a[3][5];\n.global .v4 .f32 b[2];\n.global .u16 c[] = {1, 2, 3};\n.extern .shared .b8 d[];\n"
      ".entry k() .maxntid 32, 0x2, 1\n.minnctapersm 3 { ret; }\n");
  EXPECT_EQ(module.variables[0].bytes(), 15u);
  EXPECT_EQ(module.variables[0].alignment(), 8u);
  EXPECT_EQ(module.variables[1].bytes(), 32u);
  EXPECT_EQ(module.variables[1].alignment(), 16u);
  EXPECT_EQ(module.variables[2].bytes(), 6u);
  EXPECT_EQ(module.variables[3].bytes(), 0u);
  const Function& k = *module.entry("k");
  EXPECT_EQ(k.directive(".maxntid"), (std::vector<uint32_t>{32, 2, 1}));
  EXPECT_EQ(k.directive(".minnctapersm"), (std::vector<uint32_t>{3}));
  EXPECT_TRUE(k.directive(".maxntid2").empty());
  EXPECT_TRUE(k.directive(".reqntid").empty());
}

TEST(Module, InitialisersInTheVariablesOwnBits) {
  Module module = module_of(
      ".global .b32 y;\n"
      ".global .b32 a[3][2] = {{1}, {2, -3}};\n"
      ".global .f32 f[2] = {1.5, 0f40000000};\n"
      ".global .f64 d = -1.0;\n"
      ".global .u64 p[3] = {y, generic(y)+8, 0};\n"
      ".global .u8 m[2] = {0xff(y), 0xff00(y)};\n");
  auto bits = [&](size_t variable) {
    std::vector<uint64_t> all;
    for (const auto& element : module.variables[variable].init->elements) all.push_back(element.bits);
    return all;
  };
  EXPECT_EQ(bits(1), (std::vector<uint64_t>{1, 0, 2, static_cast<uint64_t>(-3)}));
  EXPECT_EQ(bits(2), (std::vector<uint64_t>{0x3fc00000, 0x40000000}));
  EXPECT_EQ(bits(3), (std::vector<uint64_t>{0xbff0000000000000}));
  const auto& pointers = module.variables[4].init->elements;
  EXPECT_EQ(pointers[0].symbol, "y");
  EXPECT_TRUE(pointers[1].generic);
  EXPECT_EQ(pointers[1].offset, 8);
  EXPECT_EQ(pointers[2].symbol, "");
  EXPECT_EQ(module.variables[5].init->elements[1].mask, 0xff00u);
}

TEST(Module, OperandsOfEveryKind) {
  std::string text = std::string(kHead) +
                     ".global .b32 table[8];\n.entry k(.param .u64 p) {\n"
                     ".reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<3>; .reg .f32 %f<5>; .reg .v2 .b32 %v;\n"
                     "ld.param.u64 %d1, [p+0];\n"
                     "ld.global.v4.f32 {%f1, %f2, _, %f3}, [%d1+-16];\n"
                     "setp.lt.and.s32 %p1|%p2, %r1, -5, !%p1;\n"
                     "mov.u32 %r1, %tid.y;\n"
                     "mov.u64 %d2, table+4;\n"
                     "mov.b32 %r2, %v.y;\n"
                     "mov.f32 %f1, 0f3F800000;\n"
                     "mov.u32 %r3, (1 + 2) * 4;\n"
                     "ret; }\n";
  Checked checked = check(text, "t.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, text);
  const Function& k = *checked.module.entry("k");
  std::vector<const Instruction*> code;
  for (const auto& statement : k.body)
    if (statement.instruction()) code.push_back(statement.instruction());
  EXPECT_TRUE(code[0]->operands[1].adds_zero);
  EXPECT_EQ(code[1]->operands[1].offset, -16);
  EXPECT_EQ(code[1]->operands[0].elements[2].kind, Operand::Kind::sink);
  EXPECT_EQ(static_cast<int64_t>(code[2]->operands[1].kind == Operand::Kind::reg), 1);
  EXPECT_EQ(static_cast<int64_t>(code[2]->operands[2].bits), -5);
  EXPECT_TRUE(code[2]->operands[3].negated);
  EXPECT_EQ(code[3]->operands[1].component, 1);
  EXPECT_EQ(code[4]->operands[1].offset, 4);
  EXPECT_EQ(code[4]->operands[1].symbol.where, SymbolRef::Where::module_variable);
  EXPECT_EQ(code[5]->operands[1].component, 1);
  EXPECT_EQ(code[6]->operands[1].bits, 0x3ff0000000000000u);
  EXPECT_TRUE(code[6]->operands[1].single_precision);
  EXPECT_EQ(code[7]->operands[1].bits, 12u);
  // The halves of a written pair are arguments of their own.
  Arguments arguments = arguments_of(*code[2]);
  ASSERT_TRUE(arguments.fits);
  EXPECT_EQ(arguments.at[0], &code[2]->operands[0].elements[0]);
  EXPECT_EQ(arguments.at[1], &code[2]->operands[0].elements[1]);
  EXPECT_EQ(arguments.at[2], &code[2]->operands[1]);
  EXPECT_EQ(arguments.position[2], 1);
}

TEST(Verifier, AcceptsWhatPtxasAccepts) {
  for (std::string_view line :
       {"isspacep.shared %p, %r1;", "isspacep.shared %p, %d1;", "mov.u32 %r1, !1;", "mov.u32 %r1, %tid .x;",
        "bra %L; %L:", ".reg .align 4 .b32 %a;", "ld.shared.u32 %r1, [%d1];", "setp.lt.s32 _|%p, %r1, 2;",
        "cvt.u16.u32 %h, %tid.x;", "shl.b32 %r1, 1, 40;", "mov.b64 %d1, {1.0, %f};"}) {
    std::string text = std::string(kHead) +
                       ".entry k() {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p; .reg .b16 %h; .reg .f32 %f;\n" +
                       std::string(line) + "\nret;\n}\n";
    Checked checked = check(text, "t.ptx");
    EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
  }
}

TEST(Printer, KeepsCommentsAndBlankLines) {
  const std::string text =
      "// a file\n"
      "/* with two\n   lines */\n"
      "\n"
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      "\n"
      "// a variable\n"
      ".global .align 4 .b8 x[4] = {1, 2,\n  3 /* three */, 4}; // its end\n"
      "\n"
      ".visible .entry k(\n\t.param .u64 p\n)\n.maxntid 32, 1, 1\n"
      "// before the brace\n"
      "{ // behind it\n"
      "\t.reg .b32 %r<3>;\n"
      "\n"
      "\t// whole line\n"
      "\tmov.u32 %r1, %tid.x; // behind\n"
      "LOOP:\n"
      "\t{ // inner\n"
      "\t.reg .pred %p;\n"
      "\tsetp.eq.u32 %p, %r1, 0;\n"
      "\t@!%p bra LOOP;\n"
      "\t}\n"
      "\n"
      "\t// last words\n"
      "} // the end\n"
      "// after all\n";
  Parsed parsed = parse(text, "t.ptx");
  ASSERT_TRUE(parsed.ok()) << base::render(parsed.findings, text);
  EXPECT_EQ(print(parsed.module), text);
}

TEST(Hints, NearestNames) {
  auto hint = [](std::string_view line) {
    std::string text =
        std::string(kHead) + ".entry k() {\n.reg .b32 %total, %r<10>;\n" + std::string(line) + "\nEXIT: ret;\n}\n";
    Checked checked = check(text, "t.ptx");
    for (const auto& finding : checked.findings)
      if (finding.severity == base::Severity::error) return finding.message + " / " + finding.hint;
    return std::string("accepted");
  };
  EXPECT_EQ(hint("mov.u32 %r1, %totla;"), "register '%totla' is not declared / did you mean %total?");
  EXPECT_EQ(hint("mov.u32 %r12, 1;"), "bank '%r' has only 10 registers, '%r12' is beyond / declare %r<13>");
  EXPECT_EQ(hint(".reg .pred %p2; mov.f32 %f2, 0f00000000;"), "register '%f2' is not declared / declare it with .reg");
  EXPECT_EQ(hint("bra EXTI;"), "label 'EXTI' is not defined here / did you mean EXIT?");
  EXPECT_EQ(hint("mvo.u32 %r1, 1;"), "unknown instruction 'mvo' / did you mean mov?");
  EXPECT_EQ(hint("mov.u32 %r1, %tidx;"), "register '%tidx' is not declared / did you mean %tid?");
}

}  // namespace
}  // namespace ptxlab::ptx
