// What is left of the rules after ptxas -O3: for each a kernel whose machine code it changes, and kernels where ptxas comes to the
// same by itself. docs/rules.md says so in words.
#include "harness.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rules {
namespace {

std::string code_of(const std::string& ptx, const std::string& entry) {
  toolchain::AssembleOptions options;
  options.target = *isa::target_named("sm_90a");
  auto assembled = toolchain::assemble(ptx, "test.ptx", options);
  if (!assembled.ok()) return base::render(assembled.findings(), ptx);
  auto checked = ptx::check(ptx, "test.ptx");
  auto digest = toolchain::code_digest(assembled->cubin, checked.module.entry(entry)->name);
  return digest.ok() ? *digest : "no digest";
}

enum class Code : uint8_t { differs, same, refused };

// The first choice of the rule that applies.
Code effect(const std::string& ptx, const std::string& entry, const std::string& arguments,
            std::string_view rule_name) {
  auto checked = ptx::check(ptx, "test.ptx");
  auto plan = launch::read_plan(plan_of(entry, "\"ceildiv(n, 256)\"", 256, arguments), "test.plan.toml");
  EXPECT_TRUE(checked.ok() && plan.ok());
  task::Task task;
  task::Argument output;
  output.name = "out";
  output.kind = task::Argument::Kind::out;
  task.arguments.push_back(output);
  task.tolerances["out"].kind = task::Tolerance::Kind::floating;
  rewrite::Subject subject{&checked.module, &*plan, &task, *isa::target_named("sm_90a"), {}};
  const auto* rule = rewrite::rule_named(rule_name);
  for (const auto& choice : rule->choices(subject)) {
    auto made = rule->apply(subject, choice);
    if (!made.ok()) continue;
    bool other_plan = !made->plan.empty();
    return code_of(ptx, entry) != code_of(made->ptx, entry) || other_plan ? Code::differs : Code::same;
  }
  return Code::refused;
}

std::string by_hand(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 n) {\n"
         ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<40>;\n"
         "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u64 %rd3, [n];\nmov.u32 %r1, %tid.x;\n" +
         body + "ret;\n}\n";
}

class AfterPtxas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!toolchain::installed().ptxas) GTEST_SKIP() << "ptxas is not here";
  }
  std::string families = file("tests/rules/families.ptx");
};

TEST_F(AfterPtxas, EachRuleChangesTheCodeOfSomeRealKernel) {
  struct Row {
    const char *entry, *arguments, *rule;
  };
  for (const Row& row :
       {Row{"bias_gelu_dropout", "\"x\", \"b\", \"y\", \"m\", \"n\", \"s\", \"k\"", "vectorise"},
        Row{"rotary_bf16", "\"q\", \"c\", \"s\", \"h\", \"d\"", "vectorise"},
        Row{"dequantise_rows", "\"w\", \"s\", \"y\", \"k\", \"g\"", "vectorise"},
        Row{"scale_pairs", "\"x\", \"y\", \"n\", \"s\"", "vectorise"},
        Row{"rotary", "\"q\", \"c\", \"s\", \"p\", \"h\", \"d\"", "unroll"},
        Row{"histogram", "\"d\", \"b\", \"n\"", "unroll"},
        Row{"sgemm_naive", "\"a\", \"b\", \"c\", \"m\", \"n\", \"k\"", "unroll"},
        Row{"sgemm", "\"a\", \"b\", \"c\", \"m\", \"n\", \"k\"", "cache"},
        Row{"stencil3d", "\"a\", \"b\", \"x\", \"y\", \"z\", \"c\", \"d\", \"e\", \"f\", \"g\"", "registers"},
        Row{"stencil3d", "\"a\", \"b\", \"x\", \"y\", \"z\", \"c\", \"d\", \"e\", \"f\", \"g\"", "narrow"},
        Row{"accumulate", "\"a\", \"x\", \"y\", \"m\", \"n\"", "promote"},
        Row{"accumulate", "\"a\", \"x\", \"y\", \"m\", \"n\"", "dead"},
        Row{"accumulate", "\"a\", \"x\", \"y\", \"m\", \"n\"", "readonly"},
        Row{"scale_by_first", "\"s\", \"x\", \"y\", \"n\"", "invariant"},
        Row{"sum_and_difference", "\"a\", \"b\", \"s\", \"d\", \"n\"", "cse"}})
    EXPECT_EQ(effect(families, row.entry, row.arguments, row.rule), Code::differs) << row.entry << " " << row.rule;
  EXPECT_EQ(effect(file("tasks/activation/bias_gelu_dropout_bf16/baseline.ptx"), "bias_gelu_dropout",
                   "\"x\", \"b\", \"y\", \"n\", \"seed\", \"offset\", \"drop\", \"scale\"", "unswitch"),
            Code::differs);
}

TEST_F(AfterPtxas, WhatPtxasDoesByItselfComesOutTheSame) {
  // Common subexpressions, unused instructions and 64-bit address sums.
  auto ptx = by_hand(R"(mul.wide.u32 %rd4, %r1, 4;
mul.wide.u32 %rd5, %r1, 4;
add.s64 %rd6, %rd1, %rd4;
add.s64 %rd7, %rd1, %rd5;
add.s64 %rd8, %rd7, 16;
ld.global.nc.f32 %f1, [%rd6];
ld.global.nc.f32 %f2, [%rd8];
mul.f32 %f4, %f1, %f1;
add.f32 %f3, %f1, %f2;
add.s64 %rd9, %rd2, %rd4;
st.global.f32 [%rd9], %f3;
)");
  for (const auto* rule : {"cse", "dead", "address"})
    EXPECT_EQ(effect(ptx, "k", "\"x\", \"y\", \"n\"", rule), Code::same) << rule;
  EXPECT_EQ(effect(file("tests/rules/families.ptx"), "rotary", "\"q\", \"c\", \"s\", \"p\", \"h\", \"d\"", "contract"),
            Code::same);
}

TEST_F(AfterPtxas, IndicesThatCannotWrapAndDivisionsByHand) {
  auto ptx = by_hand(R"(shl.b32 %r2, %r1, 2;
add.u32 %r3, %r2, 1;
add.u32 %r4, %r2, 3;
mul.wide.u32 %rd4, %r2, 4;
mul.wide.u32 %rd5, %r3, 4;
mul.wide.u32 %rd6, %r4, 4;
add.s64 %rd7, %rd1, %rd4;
add.s64 %rd8, %rd1, %rd5;
add.s64 %rd9, %rd1, %rd6;
ld.global.nc.f32 %f1, [%rd7];
ld.global.nc.f32 %f2, [%rd8];
ld.global.nc.f32 %f3, [%rd9];
add.f32 %f4, %f1, %f2;
add.f32 %f5, %f3, %f4;
cvt.u64.u32 %rd10, %r1;
add.s64 %rd11, %rd10, %rd3;
rem.u64 %rd12, %rd11, %rd3;
shl.b64 %rd13, %rd12, 2;
add.s64 %rd14, %rd2, %rd13;
st.global.f32 [%rd14], %f5;
)");
  for (const auto* rule : {"address", "narrow"})
    EXPECT_EQ(effect(ptx, "k", "\"x\", \"y\", \"n\"", rule), Code::differs) << rule;
}

}  // namespace
}  // namespace ptxlab::rules
