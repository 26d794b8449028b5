// What the parser of rows says of slips of the pen. In table.cc the same words stop the compilation.
#include "isa/row_parser.h"

#include <gtest/gtest.h>

#include <memory>

namespace ptxlab::isa {
namespace {

RowError error_of(const RowText& text) {
  auto table = std::make_unique<ParsedTable>();
  RowParser(*table).parse(text);
  return table->error;
}

TEST(RowParser, SaysWhichPieceIsWrong) {
  struct Slip {
    RowText text;
    std::string_view what;
    std::string_view at;
  };
  const Slip slips[] = {
      {{"add.type d, a, b", ".type = { .u32 }", ""}, "the syntax line ends with ';'", "d, a, b"},
      {{"add{.sat.type d;", ".type = { .u32 }", ""}, "'}' is missing", ".type d;"},
      {{"add.type d, a;", ".typ = { .u32 }", ""}, "no modifier of the row uses this set", ".typ = { .u32 }"},
      {{"add.u32 d, a;", ".rnd = { .rn }", ""}, "no modifier of the row uses this set", ".rnd = { .rn }"},
      {{"add.rnd.u32 d, a;", ".rnd = .rn, .rz", ""}, "a set is written '.name = { .a, .b }'", ".rnd = .rn, .rz"},
      {{"add.u32 d, a:.u33;", "", ""}, "neither a type nor a slot with types", ".u33"},
      {{"cvt.f32.u32 d:.f32, b;", "", ""}, "the row has several types: say which this operand has", "b"},
      {{"add.u32 d, a;", "", "loads; lods"}, "unknown note", "lods"},
      {{"add.u32 d, a;", "", "@78:sm_90"}, "a PTX version is written 7.8", "78"},
      {{"add.u32 d, a;", "", "@7.8:sm_91a"},
       "a gate names unknown targets, or mixes those with and without a suffix",
       "add.u32 d, a;"},
      {{"add{.sat}.u32 d, a;", "", "needs(.sat .u32)"}, "': ' is missing", "needs(.sat .u32)"},
      {{"add{.sat}.u32 d, a;", "", "needs(.sat: .s32)"}, "no such token in the row", ".s32"},
      {{"cvt.dtype.atype d, a;", ".dtype = { .u8, .u16 }; .atype = { .u8 }", "needs(.u16: .u8)"},
       "the token is in several slots: write slot=token",
       ".u8"},
      {{"ld.u32 d, [a;", "", ""}, "a bracket is not closed", ""},
      {{"bar.sync a:imm<1..x>;", "", ""}, "not a number", "1..x"},
  };
  for (const Slip& slip : slips) {
    RowError error = error_of(slip.text);
    EXPECT_EQ(error.what, slip.what) << slip.text.syntax;
    EXPECT_EQ(error.at, slip.at) << slip.text.syntax;
    EXPECT_EQ(error.row, slip.text.syntax);
  }
}

TEST(RowParser, ReadsWhatTheNotationOffers) {
  auto table = std::make_unique<ParsedTable>();
  RowParser parser(*table);
  parser.parse({"", "A section", ""});
  parser.parse({"'mma.sp'.row>.col{.sat!}.type d/_+[|p], {!}q, [a]:.shared{, n:imm?sat<4..16*2>}, v:.type*2[4]~;",
                ".type = { .u32 @7.8:sm_90 8.1:sm_89, .b16 @6.0:sm_60 -6.4:sm_70 }",
                "loads; since(.sat .u32 @8.6:sm_100f)"});
  ASSERT_EQ(table->error.what, "") << table->error.at;
  const ParsedRow& row = table->rows.items[0];
  EXPECT_EQ(row.opcode, "mma.sp");
  EXPECT_EQ(row.section, "A section");
  EXPECT_TRUE(row.effects.loads);
  EXPECT_TRUE(table->slots.items[1].behind_previous);
  EXPECT_TRUE(table->slots.items[2].fixed && table->slots.items[2].optional);
  const OperandSpec* operands = table->operands.items.data();
  EXPECT_TRUE(operands[0].destination && operands[0].sink_allowed && operands[0].reads_too && operands[0].pair);
  EXPECT_TRUE(operands[1].optional && operands[1].destination && operands[1].shape == Shape::predicate);
  EXPECT_TRUE(operands[2].negatable && !operands[2].destination);
  EXPECT_EQ(operands[3].space, Space::shared);
  EXPECT_EQ(operands[4].present_with, 2);
  EXPECT_TRUE(operands[4].constants.admits(8) && !operands[4].constants.admits(12) &&
              !operands[4].constants.admits(32));
  EXPECT_EQ(operands[5].lanes, 4);
  EXPECT_TRUE(operands[5].type.relaxed && operands[5].type.kind == TypeRule::Kind::twice_slot);
  const Gate& widened = table->choices.items[3].gate;
  EXPECT_EQ(widened.wider_since, 81);
  EXPECT_EQ(widened.wider_sm, 89);
  EXPECT_EQ(table->choices.items[4].gate.ptx_until, 64);
  EXPECT_EQ(table->constraints.items[0].gate.only_on, admitted_by({100, 'f'}));
}

}  // namespace
}  // namespace ptxlab::isa
