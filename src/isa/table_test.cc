// The table's own consistency, and the small tables beside it: types, targets, gates, special registers.
#include "isa/table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "isa/ptxas_check.h"
#include "isa/special_register.h"
#include "isa/table_json.h"

namespace ptxlab::isa {
namespace {

TEST(Type, NamesAndWidths) {
  EXPECT_EQ(type_named(".bf16x2"), Type::bf16x2);
  EXPECT_EQ(type_named("u32"), Type::u32);
  EXPECT_EQ(type_named(".u33"), std::nullopt);
  EXPECT_EQ(type_named(""), std::nullopt);
  EXPECT_EQ(bits_of(Type::tf32), 32);
  EXPECT_EQ(bytes_of(Type::e2m1x2), 1);
  EXPECT_EQ(info(Type::f16x2).lanes, 2);
  EXPECT_EQ(info(Type::f16x2).element, Type::f16);
  EXPECT_EQ(space_named(".shared::cta"), Space::shared);
  EXPECT_EQ(space_named(".param::entry"), Space::param);
  EXPECT_EQ(name_of(Space::shared_cluster), "shared::cluster");
}

TEST(Target, NamesLimitsAndVersions) {
  ASSERT_TRUE(target_named("sm_90a"));
  EXPECT_EQ(target_named("sm_90a")->name(), "sm_90a");
  EXPECT_FALSE(target_named("sm_90f"));
  EXPECT_FALSE(target_named("sm_91"));
  EXPECT_FALSE(target_named("90"));
  EXPECT_EQ(first_version(*target_named("sm_100f")), 88);
  EXPECT_EQ(limits_of({90, 'a'}).shared_bytes_cta, 227 * 1024);
  EXPECT_EQ(limits_of({86, 0}).max_ctas, 16);
  EXPECT_EQ(limits_of({120, 0}).max_threads, 1536);
}

Gate gate_of(std::string_view opcode, std::vector<std::string_view> words) {
  words.insert(words.begin(), opcode);
  Match made = match(words);
  EXPECT_FALSE(made.forms.empty()) << made.problem;
  return made.forms.empty() ? Gate{} : made.forms[0].gate();
}

TEST(Gate, SaysWhatIsMissing) {
  Gate redux = gate_of("redux", {".sync", ".add", ".s32"});
  EXPECT_EQ(refusal(redux, 70, {80, 0}), "");
  EXPECT_EQ(refusal(redux, 70, {75, 0}), "needs sm_80 or later");
  EXPECT_EQ(refusal(redux, 65, {80, 0}), "needs PTX ISA 7.0 or later");
  Gate bf16 = gate_of("add", {".bf16"});
  EXPECT_EQ(refusal(bf16, 80, {80, 0}), "needs sm_90 or later");
  Gate pool = gate_of("setmaxnreg", {".inc", ".sync", ".aligned", ".u32"});
  EXPECT_EQ(refusal(pool, 80, {90, 0}), "needs sm_90a");
  EXPECT_EQ(refusal(pool, 80, {80, 0}), "needs sm_100f or sm_110f or sm_120f or sm_90a");
  EXPECT_EQ(refusal(pool, 80, {90, 'a'}), "");
  EXPECT_EQ(refusal(pool, 88, {103, 'a'}), "");
  Gate fp4 = gate_of("cvt", {".rn", ".satfinite", ".e2m1x2", ".f32"});
  EXPECT_EQ(refusal(fp4, 88, {120, 0}), "needs sm_120f");
  EXPECT_EQ(refusal(fp4, 87, {120, 0}), "needs sm_120a");
  EXPECT_EQ(refusal(fp4, 88, {120, 'a'}), "");
  EXPECT_EQ(refusal(fp4, 88, {90, 'a'}), "needs sm_100f or sm_110f or sm_120f");
  Gate old = gate_of("shfl", {".up", ".b32"});
  EXPECT_EQ(refusal(old, 64, {70, 0}), "was removed in PTX ISA 6.4 for sm_70 and later");
  EXPECT_EQ(refusal(old, 63, {70, 0}), "");
  EXPECT_EQ(refusal(old, 80, {60, 0}), "");
}

TEST(Gate, MayWidenWithAVersion) {
  Gate fp8 = gate_of("cvt", {".rn", ".satfinite", ".e4m3x2", ".f32"});
  EXPECT_EQ(refusal(fp8, 78, {90, 0}), "");
  EXPECT_EQ(refusal(fp8, 78, {89, 0}), "needs PTX ISA 8.1 or later on sm_89");
  EXPECT_EQ(refusal(fp8, 81, {89, 0}), "");
  EXPECT_EQ(refusal(fp8, 81, {80, 0}), "needs sm_89 or later");
}

TEST(Gate, StrictestIsWhatBothAdmit) {
  Gate a{78, 90}, b{80, 0, admitted_by({100, 'f'})};
  Gate both = strictest(a, b);
  EXPECT_EQ(both.ptx_since, 80);
  EXPECT_EQ(refusal(both, 88, {100, 'a'}), "");
  EXPECT_NE(refusal(both, 88, {100, 0}), "");
  EXPECT_NE(refusal(both, 78, {100, 'a'}), "");
}

TEST(SpecialRegister, FoundByName) {
  auto tid = special_register_named("%tid");
  ASSERT_TRUE(tid);
  EXPECT_EQ(special_registers()[*tid].components, 4);
  EXPECT_FALSE(special_register_named("%r1"));
  EXPECT_FALSE(special_register_named("%tidx"));
  for (size_t i = 0; i < special_registers().size(); ++i) {
    EXPECT_EQ(special_register_named(special_registers()[i].name), i);
  }
}

// Each register is read with its own type in the version and on the target that its gate names, and not before.
TEST(SpecialRegister, AsPtxasKnowsThem) {
  auto ptxas = find_ptxas();
  if (!ptxas) GTEST_SKIP() << "no ptxas: neither PTXLAB_PTXAS nor PATH has one";
  std::vector<std::string> lines;
  for (const SpecialRegister& reg : special_registers()) {
    std::string_view class_letter = reg.type == Type::pred ? "p" : bits_of(reg.type) == 64 ? "d" : "r";
    for (int component = 0; component < (reg.components == 4 ? 4 : 1); ++component) {
      std::string suffix = reg.components == 4 ? fmt::format(".{}", "xyzw"[component]) : "";
      lines.push_back(fmt::format("mov.{} %{}1, {}{};", name_of(reg.type), class_letter, reg.name, suffix));
    }
  }
  std::string trouble;
  auto refused = refused_by_ptxas(*ptxas, lines, {90, {90, 0}}, trouble);
  EXPECT_EQ(trouble, "");
  for (const auto& [index, why] : refused) ADD_FAILURE() << lines[index] << ": " << why;
  for (const SpecialRegister& reg : special_registers()) {
    if (reg.gate.sm_since < 75) continue;
    std::vector<std::string> one = {fmt::format("mov.{} %{}1, {}{};", name_of(reg.type),
                                                reg.type == Type::pred ? "p" : "r", reg.name,
                                                reg.components == 4 ? ".x" : "")};
    uint16_t below = reg.gate.sm_since == 90 ? 89 : 75;
    EXPECT_TRUE(refused_by_ptxas(*ptxas, one, {90, {below, 0}}, trouble).contains(0)) << one[0] << " on sm_" << below;
  }
}

TEST(Table, EveryRowIsWellFormed) {
  for (const Row& row : rows()) {
    EXPECT_FALSE(row.section.empty()) << row.syntax;
    EXPECT_EQ(&rows()[row.id], &row);
    bool found = false;
    for (const Row* other : rows_of(row.opcode)) found |= other == &row;
    EXPECT_TRUE(found) << row.syntax;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      const OperandSpec& spec = row.operands[i];
      if (spec.type.kind != TypeRule::Kind::twice_slot) continue;
      for (size_t c = 0; c < row.slots[spec.type.slot].choices.size(); ++c) {
        Form form{&row, {}};
        form.taken[spec.type.slot] = static_cast<int8_t>(c);
        EXPECT_NE(form.operand_type(static_cast<int>(i)), Type::none) << row.syntax;
      }
    }
  }
  EXPECT_GT(rows().size(), 200u);
  EXPECT_TRUE(rows_of("no such").empty());
}

TEST(Table, ListingsHoldEveryRow) {
  auto json = table_json();
  EXPECT_EQ(json["rows"].size(), rows().size());
  EXPECT_EQ(json["rows"][0]["syntax"], "add{.sat}.type d, a, b;");
  std::string markdown = table_markdown([](const Row&) { return "parsed"; });
  EXPECT_NE(markdown.find("| `setp.cmp{.ftz}.type p[\\|q], a, b;` |  | parsed |"), std::string::npos);
}

TEST(Form, AnswersForAnInstruction) {
  std::vector<std::string_view> words = {"ld", ".global", ".nc", ".v4", ".f32"};
  Form form = match(words).forms.at(0);
  EXPECT_TRUE(form.has(".nc"));
  EXPECT_EQ(form.at("vec"), ".v4");
  EXPECT_EQ(form.type(), Type::f32);
  EXPECT_EQ(form.type(1), Type::none);
  EXPECT_EQ(form.space(), Space::global);
  EXPECT_EQ(form.vector_length(), 4);
  EXPECT_EQ(form.operand_lanes(0), 4);
  EXPECT_EQ(form.operand_space(1), Space::global);
  words = {"ld", ".u32"};
  EXPECT_EQ(match(words).forms.at(0).space(), Space::generic);
  words = {"mul", ".wide", ".s32"};
  EXPECT_EQ(match(words).forms.at(0).operand_type(0), Type::s64);
  words = {"cvt", ".rn", ".f32", ".s32"};
  EXPECT_EQ(match(words).forms.at(0).operand_type(1), Type::s32);
  words = {"add", ".f32"};
  EXPECT_EQ(match(words).forms.at(0).space(), Space::none);
}

}  // namespace
}  // namespace ptxlab::isa
