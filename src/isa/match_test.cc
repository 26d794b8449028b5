// What match() says to right, misspelt and incomplete instructions.
#include <gtest/gtest.h>

#include <chrono>

#include "isa/table.h"

namespace ptxlab::isa {
namespace {

// "add.f32" to {"add", ".f32"}; the views point into `text`.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = std::min(text.find('.', 1), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

Match match_text(std::string_view text) { return match(words_of(text)); }

struct Accepted {
  std::string_view text;
  std::string_view opcode;
  std::string_view spelling;
};

class MatchAccepts : public testing::TestWithParam<Accepted> {};

TEST_P(MatchAccepts, TheForm) {
  const auto& [text, opcode, spelt] = GetParam();
  Match made = match_text(text);
  ASSERT_FALSE(made.forms.empty()) << text << ": " << made.problem;
  EXPECT_EQ(made.forms[0].row->opcode, opcode);
  EXPECT_EQ(spelling(made.forms[0]), spelt);
}

constexpr Accepted kAccepted[] = {
    {"add.s32", "add", ".s32"},
    {"add.f32.ftz", "add", ".ftz.f32"},
    {"add.rn.ftz.sat.f32", "add", ".rn.ftz.sat.f32"},
    {"mul.wide.u32", "mul", ".wide.u32"},
    {"fma.rn.f32", "fma", ".rn.f32"},
    {"ld.param.u64", "ld", ".param.u64"},
    {"ld.global.nc.v4.f32", "ld", ".global.nc.v4.f32"},
    {"ld.f32.shared", "ld", ".shared.f32"},
    {"st.shared::cta.v2.b64", "st", ".shared::cta.v2.b64"},
    {"cvta.to.global.u64", "cvta", ".to.global.u64"},
    {"cvt.rn.f32.s32", "cvt", ".rn.f32.s32"},
    {"cvt.f32.rn.s32", "cvt", ".rn.f32.s32"},
    {"cvt.u64.u32", "cvt", ".u64.u32"},
    {"setp.ge.s32", "setp", ".ge.s32"},
    {"setp.lt.and.f32", "setp", ".lt.and.f32"},
    {"bar.sync", "bar", ".sync"},
    {"bar.warp.sync", "bar.warp.sync", ""},
    {"shfl.sync.bfly.b32", "shfl", ".sync.bfly.b32"},
    {"lop3.b32", "lop3", ".b32"},
    {"exit", "exit", ""},
    {"bra.uni", "bra", ".uni"},
    {"mov.b64", "mov", ".b64"},
    // Modifiers behind the types, as other front ends write them.
    {"ld.f64.global", "ld", ".global.f64"},
    {"cvt.f32.f64.rz", "cvt", ".rz.f32.f64"},
    {"max.f32.NaN", "max", ".NaN.f32"},
    {"setp.f32.lt", "setp", ".lt.f32"},
    // An array of neighbours of refused forms below.
    {"mov.b16", "mov", ".b16"},
    {"atom.global.or.b32", "atom", ".global.or.b32"},
    {"atom.relaxed.gpu.global.add.u64", "atom", ".relaxed.gpu.global.add.u64"},
    {"atom.global.cas.b64", "atom", ".global.cas.b64"},
    {"red.global.add.f32", "red", ".global.add.f32"},
};
INSTANTIATE_TEST_SUITE_P(Table, MatchAccepts, testing::ValuesIn(kAccepted));

struct Refused {
  std::string_view text;
  int word;
  std::string_view problem;
  std::string_view suggestion;
};

class MatchRefuses : public testing::TestWithParam<Refused> {};

TEST_P(MatchRefuses, AndSaysWhy) {
  const auto& [text, word, problem, suggestion] = GetParam();
  Match made = match_text(text);
  EXPECT_TRUE(made.forms.empty());
  EXPECT_EQ(made.word, word) << made.problem;
  EXPECT_NE(made.problem.find(problem), std::string::npos) << made.problem;
  EXPECT_EQ(made.suggestion, suggestion) << made.problem;
}

constexpr Refused kRefused[] = {
    {"muul.f32", 0, "unknown instruction 'muul'", "mul"},
    {"fam.rn.f32", 0, "unknown instruction 'fam'", "fma"},
    {"add.fzt.f32", 1, "unknown modifier '.fzt'", ".ftz"},
    {"add", 0, "a type is missing", ""},
    {"mul.u32", 1, "one of .hi, .lo", ""},
    {"add.sat.u32", 2, "'.sat' needs '.s32'", ""},
    {"mov.b8", 1, "'.b8'", ""},
    {"setp.lo.f32", 2, "'.lo' does not go with '.f32'", ""},
    {"cvt.u32.f32", 2, "", ""},
    {"ld.global.b32.b32", 3, "'.b32' stands here twice", ""},
    {"mul.s32.lo", 2, "wrong order", ""},
    {"mov.u8", 1, "'.u8' does not go with 'mov'", ""},
    {"mov.s8", 1, "'.s8' does not go with 'mov'", ""},
    {"atom.relaxed.gpu.global.or.u32", 5, "'.u32' does not go with 'atom.relaxed.gpu.global.or'", ".b32"},
    {"atom.global.or.u16", 3, "'.u16' does not go with 'atom.global.or', which needs one of .b32, .b64", ""},
    {"atom.global.and.s64", 3, "'.s64' does not go with", ".b64"},
    {"atom.global.xor.f32", 3, "'.f32' does not go with", ".b32"},
    {"atom.global.cas.u32", 3, "'.u32' does not go with", ".b32"},
    {"atom.global.add.s64", 3, "'.s64' does not go with", ".u64"},
    {"red.global.or.u32", 3, "'.u32' does not go with", ".b32"},
    {"and.u32", 1, "'.u32' does not go with 'and'", ".b32"},
    {"shl.u32", 1, "'.u32' does not go with 'shl'", ".b32"},
    {"bar.warp.sink", 2, "it goes on with .sync", ".sync"},
};
INSTANTIATE_TEST_SUITE_P(Table, MatchRefuses, testing::ValuesIn(kRefused));

TEST(Match, IsFastEnoughForEveryInstruction) {
  const auto load = words_of("ld.global.nc.v4.f32"), convert = words_of("cvt.rn.f32.s32"), add = words_of("add.f32");
  (void)match(add);
  auto start = std::chrono::steady_clock::now();
  constexpr int kRounds = 20000;
  size_t forms = 0;
  for (int i = 0; i < kRounds; ++i)
    forms += match(load).forms.size() + match(convert).forms.size() + match(add).forms.size();
  auto each =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / (3 * kRounds);
  EXPECT_EQ(forms, size_t{3 * kRounds});
  RecordProperty("nanoseconds", static_cast<int>(each));
  printf("match: %.0f ns\n", each);
  EXPECT_LT(each, 20000) << "ten times what is sane even on a busy machine";
}

}  // namespace
}  // namespace ptxlab::isa
