#include "launch/expression.h"

#include <gtest/gtest.h>

#include <map>

namespace ptxlab::launch {
namespace {

const std::map<std::string, int64_t, std::less<>> kNames{
    {"m", 3}, {"n", 4099}, {"big", INT64_MAX}, {"least", INT64_MIN}, {"zero", 0}};

std::optional<int64_t> lookup(std::string_view name) {
  auto it = kNames.find(name);
  if (it == kNames.end()) return std::nullopt;
  return it->second;
}

int64_t value(std::string_view text) {
  auto parsed = Expression::parse(text);
  if (!parsed) return ADD_FAILURE() << parsed.findings()[0].message, 0;
  auto result = parsed->evaluate(lookup);
  if (!result) return ADD_FAILURE() << result.findings()[0].message, 0;
  return *result;
}

base::Finding fault(std::string_view text) {
  auto parsed = Expression::parse(text);
  if (!parsed) return parsed.findings()[0];
  auto result = parsed->evaluate(lookup, {"m", "n", "tiles"});
  if (!result) return result.findings()[0];
  ADD_FAILURE() << text << " is " << *result;
  return {};
}

TEST(Expression, ComputesAsC) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("0x10 << 2 | 1"), 65);
  EXPECT_EQ(value("1 << 2 + 1"), 8);
  EXPECT_EQ(value("-8 >> 1"), -4);
  EXPECT_EQ(value("6 & 3 ^ 1"), 3);
  EXPECT_EQ(value("1 < 2 == 1"), 1);
  EXPECT_EQ(value("!0 + ~0"), 0);
  EXPECT_EQ(value("m == 3 && n != 3 || big / zero"), 1);
  EXPECT_EQ(value("zero ? big * 2 : n > 4096 ? 1 : 2"), 1);
  EXPECT_EQ(value("- -3"), 3);
}

TEST(Expression, Functions) {
  EXPECT_EQ(value("ceildiv(n, 256)"), 17);
  EXPECT_EQ(value("ceildiv(4096, 256)"), 16);
  EXPECT_EQ(value("ceildiv(-3, 2)"), -1);
  EXPECT_EQ(value("align_up(n, 8)"), 4104);
  EXPECT_EQ(value("min(m, n) + max(m, n)"), 4102);
  EXPECT_EQ(value("log2(4096)"), 12);
  EXPECT_EQ(value("log2(4097)"), 12);
}

TEST(Expression, ExtremesAreExact) {
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(value("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(value("1 << 62"), int64_t{1} << 62);
  EXPECT_EQ(value("ceildiv(big, 2)"), (INT64_MAX / 2) + 1);
}

TEST(Expression, NeverWraps) {
  for (const char* text : {"big + 1", "least - 1", "big * 2", "-least", "least / -1", "least % -1", "1 << 63",
                           "3 << 62", "align_up(big, 4096)"})
    EXPECT_EQ(fault(text).code, "PLAN0003") << text;
}

TEST(Expression, DomainErrors) {
  for (const char* text :
       {"1 / zero", "1 % 0", "ceildiv(1, 0)", "ceildiv(1, -1)", "log2(0)", "1 << 64", "1 >> -1", "align_up(3, 0)"})
    EXPECT_EQ(fault(text).code, "PLAN0004") << text;
}

TEST(Expression, UnknownNameSuggestsTheNearest) {
  const base::Finding finding = fault("ceildiv(n, tile)");
  EXPECT_EQ(finding.code, "PLAN0002");
  EXPECT_EQ(finding.hint, "did you mean `tiles`?");
  EXPECT_EQ(finding.place.column, 12u);
  EXPECT_EQ(finding.place.length, 4u);
}

TEST(Expression, SyntaxErrorsHaveAPlace) {
  for (const char* text : {"", "  ", "1 +", "(1", "1)", "foo(1)", "min(1)", "log2(1, 2)", "1 ? 2", "0x", "12ab", "1.5",
                           "99999999999999999999", "a b", "$", "min(1,)", "1 = 2", "\xff"})
    EXPECT_EQ(fault(text).code, "PLAN0001") << text;
  EXPECT_EQ(fault("1 + ceildv(n, 2)").hint, "did you mean `ceildiv`?");
  EXPECT_EQ(fault("1 + ceildv(n, 2)").place.column, 5u);
}

TEST(Expression, HostileInputEnds) {
  EXPECT_EQ(fault(std::string(1900, '(')).code, "PLAN0001");
  EXPECT_EQ(fault(std::string(1900, '-')).code, "PLAN0001");
  EXPECT_EQ(fault(std::string(100'000, '1')).code, "PLAN0001");
  std::string sum = "1";
  for (int i = 0; i < 900; ++i) sum += "+1";
  EXPECT_EQ(value(sum), 901);
}

TEST(Expression, PointsIntoItsFile) {
  auto parsed = Expression::parse("m / zero", base::Place{"a.plan.toml", 7, 12, 0});
  ASSERT_TRUE(parsed.ok());
  auto result = parsed->evaluate(lookup);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.findings()[0].place, (base::Place{"a.plan.toml", 7, 14, 1}));
}

TEST(Expression, NamesAndText) {
  auto parsed = Expression::parse("ceildiv(m * n, 4) + m");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->names(), (std::set<std::string>{"m", "n"}));
  EXPECT_EQ(parsed->text(), "ceildiv(m * n, 4) + m");
  EXPECT_EQ(Expression::constant(-5).text(), "-5");
  EXPECT_EQ(*Expression::constant(-5).evaluate(lookup), -5);
  EXPECT_EQ(*Expression().evaluate(lookup), 0);
}

}  // namespace
}  // namespace ptxlab::launch
