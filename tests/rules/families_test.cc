// The rules over kernels as people write them (families.cu), a family at a time, at sizes around every edge: alone, and one
// upon what another made.
#include "harness.h"

namespace ptxlab::rules {
namespace {

const auto kFamilies = "tests/rules/families.ptx";
const std::vector<std::string> kExact{"vectorise", "unswitch", "unroll",   "promote", "invariant",
                                      "cse",       "dead",     "readonly", "cache",   "block"};

std::string block_2d(std::string plan, int x, int y) {
  auto at = plan.find("block = [");
  auto end = plan.find(']', at);
  return plan.replace(at, end - at + 1, "block = [\"" + std::to_string(x) + "\", \"" + std::to_string(y) + "\"]");
}

Setting bias_gelu_dropout(int64_t rows, int64_t columns, uint64_t off, bool flat) {
  auto m = static_cast<uint64_t>(rows), n = static_cast<uint64_t>(columns);
  Setting s;
  s.entry = flat ? "bias_gelu_dropout_flat" : "bias_gelu_dropout";
  s.plan = flat ? plan_of(s.entry, "\"max(1, ceildiv(m*n, 128))\"", 128,
                          "\"x\", \"b\", \"y\", \"total\", \"n\", \"seed\", \"keep\"")
                : block_2d(plan_of(s.entry, "\"ceildiv(n, 32)\", \"ceildiv(m, 4)\"", 32,
                                   "\"x\", \"b\", \"y\", \"m\", \"n\", \"seed\", \"keep\""),
                           32, 4);
  s.parameters = {{"m", rows}, {"n", columns}};
  s.scalars = {{"m", integer("s32", rows)},
               {"n", integer("s32", columns)},
               {"total", integer("s32", rows * columns)},
               {"seed", integer("u32", 77)},
               {"keep", real(0.75f)}};
  s.buffers = {{"x", m * n, 2, Fill::bf16, off, false},
               {"b", n, 2, Fill::bf16, 0, false},
               {"y", m * n, 2, Fill::none, off, true}};
  return s;
}

Setting rotary(int64_t tokens, int64_t heads, int64_t dim) {
  auto t = static_cast<uint64_t>(tokens), all = static_cast<uint64_t>(tokens * heads * dim);
  auto half = static_cast<uint64_t>(dim / 2);
  return {"rotary",
          plan_of("rotary", "\"t\"", 64, "\"q\", \"c\", \"s\", \"p\", \"h\", \"d\""),
          {{"t", tokens}},
          {{"h", integer("s32", heads)}, {"d", integer("s32", dim)}},
          {{"q", all, 4, Fill::f32, 0, true},
           {"c", 4 * half, 4, Fill::f32, 0, false},
           {"s", 4 * half, 4, Fill::f32, 0, false},
           {"p", t, 4, Fill::index, 0, false}}};
}

Setting rotary_bf16(int64_t tokens, int64_t heads, int64_t dim, uint64_t off, int block) {
  auto all = static_cast<uint64_t>(tokens * heads * dim), half = static_cast<uint64_t>(dim / 2);
  return {"rotary_bf16",
          plan_of("rotary_bf16", "\"t\", \"h\"", block, "\"q\", \"c\", \"s\", \"h\", \"d\""),
          {{"t", tokens}, {"h", heads}},
          {{"h", integer("s32", heads)}, {"d", integer("s32", dim)}},
          {{"q", all, 2, Fill::bf16, off, true},
           {"c", static_cast<uint64_t>(tokens) * half, 4, Fill::f32, 0, false},
           {"s", static_cast<uint64_t>(tokens) * half, 4, Fill::f32, 0, false}}};
}

Setting dequantise(int64_t n, int64_t group, const std::vector<uint64_t>& off) {
  auto size = static_cast<uint64_t>(n);
  return {"dequantise",
          plan_of("dequantise", "\"max(1, ceildiv(n, 64))\"", 64, "\"w\", \"s\", \"y\", \"n\", \"g\""),
          {{"n", n}},
          {{"n", integer("s64", n)}, {"g", integer("s32", group)}},
          {{"w", size, 1, Fill::byte, off[0], false},
           {"s", size / static_cast<uint64_t>(group) + 1, 4, Fill::f32, 0, false},
           {"y", size, 2, Fill::none, off[1], true}}};
}

Setting dequantise_rows(int64_t rows, int64_t k) {
  auto m = static_cast<uint64_t>(rows), n = static_cast<uint64_t>(k);
  return {"dequantise_rows",
          plan_of("dequantise_rows", "\"ceildiv(k, 64)\", \"m\"", 64, "\"w\", \"s\", \"y\", \"k\", \"g\""),
          {{"m", rows}, {"k", k}},
          {{"k", integer("s32", k)}, {"g", integer("s32", k / 128 + 1)}},
          {{"w", m * n, 1, Fill::byte, 0, false},
           {"s", m * (n / 128 + 1), 2, Fill::f16, 0, false},
           {"y", m * n, 2, Fill::none, 0, true}}};
}

Setting histogram(int64_t n, uint64_t off) {
  return {"histogram",
          plan_of("histogram", "\"3\"", 64, "\"d\", \"b\", \"n\""),
          {{"n", n}},
          {{"n", integer("s32", n)}},
          {{"d", static_cast<uint64_t>(n), 1, Fill::byte, off, false}, {"b", 256, 4, Fill::index, 0, true}}};
}

Setting sgemm(const std::string& entry, int64_t m, int64_t n, int64_t k) {
  auto bytes = [](int64_t a, int64_t b) { return static_cast<uint64_t>(a * b); };
  return {
      entry,
      block_2d(plan_of(entry, "\"ceildiv(n, 16)\", \"ceildiv(m, 16)\"", 16, "\"a\", \"b\", \"c\", \"m\", \"n\", \"k\""),
               16, 16),
      {{"m", m}, {"n", n}, {"k", k}},
      {{"m", integer("s32", m)}, {"n", integer("s32", n)}, {"k", integer("s32", k)}},
      {{"a", bytes(m, k), 4, Fill::f32, 0, false},
       {"b", bytes(k, n), 4, Fill::f32, 0, false},
       {"c", bytes(m, n), 4, Fill::none, 0, true}}};
}

Setting stencil(const std::string& entry, int64_t nx, int64_t ny, int64_t nz) {
  bool naive = entry == "stencil3d_naive";
  auto all = static_cast<uint64_t>(nx * ny * nz);
  auto plan = plan_of(
      entry, naive ? "\"ceildiv(nx, 32)\", \"ceildiv(ny, 8)\", \"nz\"" : "\"ceildiv(nx, 32)\", \"ceildiv(ny, 8)\"", 32,
      std::string("\"in\", \"out\", \"nx\", \"ny\", \"nz\", \"c0\", \"c1\"") +
          (naive ? "" : ", \"c2\", \"c3\", \"c4\""));
  return {entry,
          block_2d(plan, 32, 8),
          {{"nx", nx}, {"ny", ny}, {"nz", nz}},
          {{"nx", integer("s32", nx)},
           {"ny", integer("s32", ny)},
           {"nz", integer("s32", nz)},
           {"c0", real(1.f)},
           {"c1", real(.5f)},
           {"c2", real(.25f)},
           {"c3", real(.125f)},
           {"c4", real(.0625f)}},
          {{"in", all, 4, Fill::f32, 0, false}, {"out", all, 4, Fill::none, 0, true}}};
}

Setting dot_rows(int64_t m, int64_t n) {
  return {"dot_rows",
          plan_of("dot_rows", "\"ceildiv(m, 32)\"", 32, "\"a\", \"x\", \"y\", \"m\", \"n\""),
          {{"m", m}, {"n", n}},
          {{"m", integer("s32", m)}, {"n", integer("s32", n)}},
          {{"a", static_cast<uint64_t>(m * n), 4, Fill::f32, 0, false},
           {"x", static_cast<uint64_t>(n), 4, Fill::f32, 0, false},
           {"y", static_cast<uint64_t>(m), 4, Fill::none, 0, true}}};
}

// Every rule whose results are the same to the bit, alone.
void each_rule(const Setting& setting) {
  static const auto ptx = file(kFamilies);
  Trial trial(ptx, setting, 0, Fill::byte);
  for (const auto& rule : kExact) trial.apply(rule);
}

// One upon another.
void pairs(const Setting& setting, const std::vector<std::string>& rules) {
  static const auto ptx = file(kFamilies);
  Trial trial(ptx, setting, 0, Fill::byte);
  for (const auto& first : rules)
    for (const auto& second : rules)
      if (first != second) trial.apply(first, second);
}

bool applies(const Setting& setting, std::string_view rule) {
  return Trial(file(kFamilies), setting, 0, Fill::byte).apply(rule) > 0;
}

TEST(Families, BiasGeluDropout) {
  for (auto [m, n] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 8}, {5, 33}, {2, 131}})
    for (uint64_t off : {0, 1})
      for (bool flat : {false, true}) each_rule(bias_gelu_dropout(m, n, off, flat));
  for (bool flat : {false, true}) EXPECT_TRUE(applies(bias_gelu_dropout(3, 8, 0, flat), "vectorise"));
}

TEST(Families, RotaryInPlace) {
  for (auto [tokens, heads, dim] : std::vector<std::array<int64_t, 3>>{{1, 1, 2}, {2, 3, 10}, {1, 2, 66}}) {
    each_rule(rotary(tokens, heads, dim));
    for (uint64_t off : {0, 1})
      for (int block : {32, 3}) each_rule(rotary_bf16(tokens, heads, dim, off, block));
  }
  EXPECT_TRUE(applies(rotary(2, 3, 16), "unroll"));
  EXPECT_TRUE(applies(rotary_bf16(2, 3, 64, 0, 32), "vectorise"));
}

TEST(Families, Dequantise) {
  for (auto [n, group] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {15, 4}, {16, 128}, {129, 32}, {513, 128}})
    for (const auto& off : std::vector<std::vector<uint64_t>>{{0, 0}, {1, 0}, {4, 2}, {8, 8}})
      each_rule(dequantise(n, group, off));
  for (auto [m, k] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 64}, {2, 136}, {3, 201}})
    each_rule(dequantise_rows(m, k));
  EXPECT_TRUE(applies(dequantise(513, 128, {0, 0}), "vectorise"));
  EXPECT_TRUE(applies(dequantise_rows(2, 136), "vectorise"));
}

TEST(Families, Histogram) {
  for (int64_t n : {0, 1, 193, 1000})
    for (uint64_t off : {0, 1}) each_rule(histogram(n, off));
  EXPECT_TRUE(applies(histogram(1000, 0), "unroll"));
}

TEST(Families, Sgemm) {
  for (auto [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 0}, {17, 3, 1}, {5, 33, 7}, {16, 16, 16}, {33, 18, 21}})
    for (const auto* entry : {"sgemm", "sgemm_naive"}) each_rule(sgemm(entry, m, n, k));
  EXPECT_TRUE(applies(sgemm("sgemm_naive", 5, 33, 7), "unroll"));
}

TEST(Families, Stencil) {
  for (auto [nx, ny, nz] : std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {9, 9, 9}, {35, 10, 9}, {33, 9, 4}})
    for (const auto* entry : {"stencil3d", "stencil3d_naive"}) each_rule(stencil(entry, nx, ny, nz));
}

TEST(Families, LongSums) {
  for (auto [m, n] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {3, 1}, {33, 2}, {8, 3}, {31, 4}, {5, 9}, {64, 17}})
    each_rule(dot_rows(m, n));
  EXPECT_TRUE(applies(dot_rows(33, 9), "unroll"));
}

Setting no_restrict(const std::string& entry, int64_t n) {
  auto size = static_cast<uint64_t>(n);
  bool two = entry == "sum_and_difference", first = entry == "scale_by_first";
  Setting s{entry,
            plan_of(entry, "\"max(1, ceildiv(n, 64))\"", 64,
                    two     ? "\"x\", \"z\", \"y\", \"w\", \"n\""
                    : first ? "\"z\", \"x\", \"y\", \"n\""
                            : "\"x\", \"y\", \"n\""),
            {{"n", n}},
            {{"n", integer("s32", n)}},
            {{"x", size, 4, Fill::f32, 0, false},
             {"y", size, 4, Fill::none, 0, true},
             {"z", std::max<uint64_t>(2, size), 4, Fill::f32, 0, false},
             {"w", size, 4, Fill::none, 0, true}}};
  return s;
}

Setting accumulate(int64_t m, int64_t n) {
  return {"accumulate",
          plan_of("accumulate", "\"ceildiv(m, 32)\"", 32, "\"a\", \"x\", \"y\", \"m\", \"n\""),
          {{"m", m}, {"n", n}},
          {{"m", integer("s32", m)}, {"n", integer("s32", n)}},
          {{"a", static_cast<uint64_t>(m * n), 4, Fill::f32, 0, false},
           {"x", static_cast<uint64_t>(n), 4, Fill::f32, 0, false},
           {"y", static_cast<uint64_t>(m), 4, Fill::f32, 0, true}}};
}

TEST(Families, PointersThatACompilerCannotTellApart) {
  for (const auto* entry : {"scale_by_first", "sum_and_difference", "two_steps"})
    for (int64_t n : {1, 65, 130}) each_rule(no_restrict(entry, n));
  for (auto [m, n] : std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {3, 1}, {33, 4}, {5, 9}})
    each_rule(accumulate(m, n));
  EXPECT_TRUE(applies(no_restrict("scale_by_first", 65), "invariant"));
  EXPECT_TRUE(applies(no_restrict("sum_and_difference", 65), "cse"));
  EXPECT_TRUE(applies(accumulate(33, 4), "dead"));
  EXPECT_TRUE(applies(accumulate(33, 4), "promote"));
  pairs(accumulate(33, 9), {"dead", "promote", "unroll"});
}

// The same kernels where the plan passes one buffer twice: nothing may be taken for apart.
TEST(Families, OneBufferTwice) {
  auto alias = [](Setting setting, const std::string& from, const std::string& to) {
    auto& plan = setting.plan;
    auto at = plan.find("\"" + from + "\"", plan.find("args"));
    plan.replace(at, from.size() + 2, "\"" + to + "\"");
    return setting;
  };
  auto first = alias(no_restrict("scale_by_first", 130), "z", "y");
  auto sums = alias(no_restrict("sum_and_difference", 65), "x", "y");
  static const auto ptx = file(kFamilies);
  EXPECT_GT(Trial(ptx, sums, 0, Fill::byte).apply("cse"), 0u);  // of z alone
  Trial(ptx, alias(accumulate(1, 1), "x", "y"), 0, Fill::byte).refuses("dead");
  auto checked = ptx::check(ptx, "families.ptx");
  auto plan = launch::read_plan(first.plan, "plan.toml");
  auto task = task_of(first, 0);
  rewrite::Subject subject{&checked.module, &*plan, &task, *isa::target_named("sm_80"), {}};
  for (const auto* rule : {"invariant", "vectorise", "readonly"})
    for (const auto& choice : rewrite::rule_named(rule)->choices(subject)) {
      auto made = rewrite::rule_named(rule)->apply(subject, choice);
      EXPECT_TRUE(!made.ok() || made->idea.find(" y ") == std::string::npos) << rule << ": " << made->idea;
      EXPECT_TRUE(!made.ok() || std::string_view(rule) == "readonly") << rule;
    }
}

TEST(Families, BarriersExchangesAndWatchedMemoryStay) {
  static const auto ptx = file(kFamilies);
  Setting barriers{"barriers",
                   plan_of("barriers", "\"2\"", 64, "\"x\", \"y\", \"n\", \"r\""),
                   {},
                   {{"n", integer("s32", 100)}, {"r", integer("s32", 5)}},
                   {{"x", 100, 4, Fill::f32, 0, false}, {"y", 128, 4, Fill::none, 0, true}}};
  Setting exchanges{"exchanges",
                    plan_of("exchanges", "\"1\"", 32, "\"x\", \"y\", \"n\""),
                    {},
                    {{"n", integer("s32", 128)}},
                    {{"x", 128, 4, Fill::f32, 0, false}, {"y", 128, 4, Fill::none, 0, true}}};
  Setting watched = exchanges;
  watched.plan = plan_of("watched", "\"1\"", 32, "\"x\", \"y\", \"n\"");
  for (const auto& setting : {barriers, exchanges, watched}) {
    Trial trial(ptx, setting, 0, Fill::byte);
    for (const auto* rule : {"vectorise", "unswitch", "unroll", "promote", "invariant", "cse", "dead"})
      trial.refuses(rule);
  }
  Trial(ptx, watched, 0, Fill::byte).refuses("readonly");
}

TEST(Families, FewerRegisters) {
  static const auto ptx = file(kFamilies);
  for (const auto& setting : {stencil("stencil3d", 35, 10, 9), sgemm("sgemm", 17, 3, 5)})
    Trial(ptx, setting, 0, Fill::byte).apply("registers");
}

// The tasks' own kernels, which are better than the plain ones above.
Setting task_gelu(int64_t m, int64_t n, int block) {
  auto all = static_cast<uint64_t>(m * n);
  return {"bias_gelu_dropout",
          plan_of("bias_gelu_dropout", "\"m\"", block,
                  "\"x\", \"b\", \"y\", \"n\", \"seed\", \"offset\", \"drop\", \"scale\""),
          {{"m", m}},
          {{"n", integer("u32", n)},
           {"seed", integer("u64", 0x123456789)},
           {"offset", integer("u64", 7)},
           {"drop", integer("u32", 0x20000000)},
           {"scale", real(1.1f)}},
          {{"x", all, 2, Fill::bf16, 0, false},
           {"b", static_cast<uint64_t>(n), 2, Fill::bf16, 0, false},
           {"y", all, 2, Fill::none, 0, true}}};
}

Setting task_dequantise(int64_t rows, int64_t k, int64_t group) {
  auto all = static_cast<uint64_t>(rows * k);
  return {"dequantise",
          plan_of("dequantise", "\"m\"", 32, "\"q\", \"s\", \"y\", \"k\", \"g\""),
          {{"m", rows}},
          {{"k", integer("u32", k)}, {"g", integer("u32", group)}},
          {{"q", all, 1, Fill::byte, 0, false},
           {"s", static_cast<uint64_t>(rows * ((k + group - 1) / group)), 2, Fill::f16, 0, false},
           {"y", all, 2, Fill::none, 0, true}}};
}

Setting task_rope(int64_t tokens, int64_t hq, int64_t hk, int64_t half) {
  return {"rope",
          plan_of("rope", "\"t\"", 64, "\"q\", \"k\", \"table\", \"p\", \"hq\", \"hk\", \"half\""),
          {{"t", tokens}},
          {{"hq", integer("s32", hq)}, {"hk", integer("s32", hk)}, {"half", integer("s32", half)}},
          {{"q", static_cast<uint64_t>(tokens * hq * 2 * half), 2, Fill::bf16, 0, true},
           {"k", static_cast<uint64_t>(tokens * hk * 2 * half), 2, Fill::bf16, 0, true},
           {"table", static_cast<uint64_t>(4 * 2 * half), 4, Fill::f32, 0, false},
           {"p", static_cast<uint64_t>(tokens), 4, Fill::index, 0, false}}};
}

Setting task_histogram(int64_t n) {
  return {"histogram",
          plan_of("histogram", "\"3\"", 256, "\"x\", \"bins\", \"n\""),
          {},
          {{"n", integer("u32", n)}},
          {{"x", static_cast<uint64_t>(n), 1, Fill::byte, 0, false}, {"bins", 256, 4, Fill::index, 0, true}}};
}

// Chains of three different rules, each by its first choice that applies.
void three_deep(const std::string& path, const Setting& setting) {
  struct Node {
    std::string ptx, plan, name;
  };
  auto ptx = file(path);
  std::string why;
  auto expected = execute(ptx, setting.plan, setting, why);
  ASSERT_EQ(why, "");
  auto task = task_of(setting, 0);
  std::vector<Node> level{{ptx, setting.plan, ""}};
  for (int depth = 0; depth < 3; ++depth) {
    std::vector<Node> next;
    for (const auto& node : level) {
      auto checked = ptx::check(node.ptx, "test.ptx");
      auto plan = launch::read_plan(node.plan, "test.plan.toml");
      rewrite::Subject subject{&checked.module, &*plan, &task, *isa::target_named("sm_80"), {}};
      for (const auto* name : {"vectorise", "unswitch", "unroll", "cse", "dead", "readonly", "block"}) {
        if (node.name.find(name) != std::string::npos) continue;
        const auto* rule = rewrite::rule_named(name);
        for (const auto& choice : rule->choices(subject)) {
          auto made = rule->apply(subject, choice);
          if (!made.ok()) continue;
          Node child{made->ptx, made->plan.empty() ? node.plan : made->plan, node.name + "+" + made->name};
          auto actual = execute(child.ptx, child.plan, setting, why);
          ASSERT_EQ(why, "") << child.name << "\n" << child.ptx;
          ASSERT_EQ(actual, expected) << child.name << "\n" << child.ptx;
          next.push_back(std::move(child));
          break;
        }
      }
    }
    level = std::move(next);
  }
}

TEST(Families, TasksOwnKernels) {
  const std::vector<std::string> all{"vectorise", "unswitch", "unroll", "cse", "block"};
  auto everything = [&](const std::string& folder, const Setting& setting) {
    Trial trial(file("tasks/" + folder + "/baseline.ptx"), setting, 0, Fill::byte);
    for (const auto& first : all)
      for (const auto& second : all)
        if (first != second) trial.apply(first, second);
  };
  for (int64_t n : {30, 520}) everything("activation/bias_gelu_dropout_bf16", task_gelu(2, n, 32));
  for (int64_t k : {131, 520}) everything("quant/dequant_int8_f16", task_dequantise(2, k, 32));
  three_deep("tasks/activation/bias_gelu_dropout_bf16/baseline.ptx", task_gelu(1, 520, 32));
  three_deep("tasks/quant/dequant_int8_f16/baseline.ptx", task_dequantise(1, 520, 32));
  everything("attention/rope_bf16", task_rope(2, 3, 1, 10));
  everything("histogram/histogram_u8", task_histogram(9001));
}

TEST(Families, OneRuleUponAnother) {
  pairs(bias_gelu_dropout(3, 70, 0, true), {"vectorise", "unroll", "cache", "block"});
  pairs(dequantise(300, 32, {0, 0}), {"vectorise", "unroll", "cache", "block"});
  pairs(dot_rows(33, 9), {"vectorise", "unroll", "cache", "block"});
  pairs(rotary_bf16(2, 2, 26, 0, 32), {"vectorise", "unroll", "cache", "block"});
}

}  // namespace
}  // namespace ptxlab::rules
