#include "ptx/parser.h"

#include <gtest/gtest.h>

namespace ptxlab::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

Parsed parse_body(std::string_view body) {
  return parse(
      std::string(kHead) + ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" + std::string(body) + "\n}\n",
      "t.ptx");
}

TEST(Parser, HugeBankCostsNothing) {
  auto parsed = parse_body(".reg .b32 %r<1000000000>;\nmov.u32 %r1, %r999999999;\nret;");
  ASSERT_TRUE(parsed.ok()) << base::render(parsed.findings, "");
  const Function& k = parsed.module.functions.at(0);
  ASSERT_EQ(k.registers.size(), 2u);
  EXPECT_EQ(k.registers[0].name, "%r1");
  EXPECT_EQ(k.registers[1].name, "%r999999999");
}

TEST(Parser, InnerScopesHideOuterRegisters) {
  auto parsed = parse_body(
      ".reg .b32 %r<5>;\nmov.u32 %r1, 1;\n{\n.reg .b64 %r<3>;\nmov.u64 %r1, 2;\nmov.u32 %r4, 3;\n}\nmov.u32 %r1, "
      "4;\nret;");
  ASSERT_TRUE(parsed.ok()) << base::render(parsed.findings, "");
  const Function& k = parsed.module.functions.at(0);
  std::vector<uint32_t> written;
  for (const auto& statement : k.body)
    if (auto* instruction = statement.instruction(); instruction && instruction->words[0] == "mov")
      written.push_back(instruction->operands[0].id);
  ASSERT_EQ(written.size(), 4u);
  EXPECT_EQ(written[0], written[3]);
  EXPECT_NE(written[0], written[1]);
  EXPECT_EQ(k.registers[written[1]].type, isa::Type::b64);
  EXPECT_EQ(k.registers[written[2]].type, isa::Type::b32);
}

TEST(Parser, LabelsBelongToTheirBraces) {
  auto parsed = parse_body("{\nL: bra DONE;\nbra L;\nDONE:\n}\n{\nL: bra DONE;\nDONE:\n}\nbra L;\nL: ret;");
  ASSERT_TRUE(parsed.ok()) << base::render(parsed.findings, "");
  const Function& k = parsed.module.functions.at(0);
  for (const auto& statement : k.body) {
    auto* instruction = statement.instruction();
    if (!instruction || instruction->words[0] != "bra") continue;
    const LabelInfo& label = k.labels.at(instruction->operands[0].id);
    ASSERT_GE(label.statement, 0);
    EXPECT_EQ(std::get<Label>(k.body[label.statement].what).id, instruction->operands[0].id);
  }
  EXPECT_FALSE(parse_body("bra L;\n{\nL:\n}\nret;").ok());
}

}  // namespace
}  // namespace ptxlab::ptx
