#include "launch/plan.h"

#include <gtest/gtest.h>

namespace ptxlab::launch {
namespace {

constexpr const char* kPlan = R"toml(schema = "ptxlab.plan/1"
let = [["rows", "128"], ["tiles", "ceildiv(m, rows)"]]
scratch = [{ name = "part", bytes = "4*tiles*n", init = "zero" }]
[[launch]]
entry = "partial"
grid = ["tiles"]
block = [256]
shared = "4*256"
args = ["x", "part + 4*n", "m", "n", "eps", "null"]
[[launch]]
when = "n > 5"
entry = "finish"
grid = ["m", 1]
block = ["32", "2"]
args = []
)toml";

// Entries made by hand, so that these tests need no parser.
ptx::Variable parameter(std::string name, isa::Type type, uint32_t align = 0, std::vector<uint64_t> dims = {}) {
  ptx::Variable variable;
  variable.name = std::move(name);
  variable.space = isa::Space::param;
  variable.type = type;
  variable.align = align;
  variable.dims = std::move(dims);
  return variable;
}

ptx::Function entry(std::string name, std::vector<ptx::Variable> parameters) {
  ptx::Function function;
  function.name = std::move(name);
  function.entry = true;
  function.has_body = true;
  function.parameters = std::move(parameters);
  return function;
}

ptx::Module module_for_plan() {
  using isa::Type;
  ptx::Module module;
  module.functions.push_back(
      entry("partial", {parameter("p0", Type::u64), parameter("p1", Type::u64), parameter("p2", Type::u32),
                        parameter("p3", Type::u64), parameter("p4", Type::f32), parameter("p5", Type::u64)}));
  module.functions.push_back(entry("finish", {}));
  return module;
}

Binding binding_for_plan() {
  Binding binding;
  binding.parameters = {{"m", 300}, {"n", 7}};
  binding.scalars["eps"] = {"f32", 0x358637bd, 0};
  binding.scalars["n"] = {"u64", 7, 7};
  binding.buffers = {{"x", 4200, ResolvedBuffer::Role::in, ResolvedBuffer::Init::data}};
  return binding;
}

base::Finding first_fault(std::string_view text) {
  auto plan = read_plan(text, "a.plan.toml");
  if (!plan) return plan.findings()[0];
  auto resolved = resolve(*plan, module_for_plan(), binding_for_plan());
  if (!resolved) return resolved.findings()[0];
  ADD_FAILURE() << "no finding";
  return {};
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = kPlan;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Plan, Reads) {
  auto plan = read_plan(kPlan, "a.plan.toml");
  ASSERT_TRUE(plan.ok()) << base::render(plan.findings(), kPlan);
  EXPECT_EQ(plan->lets.size(), 2u);
  EXPECT_EQ(plan->scratch[0].name, "part");
  EXPECT_TRUE(plan->scratch[0].zero);
  ASSERT_EQ(plan->launches.size(), 2u);
  EXPECT_EQ(plan->launches[0].entry, "partial");
  EXPECT_EQ(plan->launches[0].grid[0].text(), "tiles");
  EXPECT_EQ(plan->launches[0].block[0].text(), "256");
  EXPECT_EQ(plan->launches[0].arguments[1], "part + 4*n");
  EXPECT_EQ(plan->launches[1].when->text(), "n > 5");
  EXPECT_EQ(plan->text, kPlan);
}

TEST(Plan, PrintReadsBackAsItself) {
  auto plan = read_plan(kPlan, "a.plan.toml");
  ASSERT_TRUE(plan.ok());
  const std::string printed = print(*plan);
  auto again = read_plan(printed, "b");
  ASSERT_TRUE(again.ok()) << base::render(again.findings(), printed);
  EXPECT_EQ(print(*again), printed);
  const ptx::Module module = module_for_plan();
  EXPECT_EQ(*resolve(*plan, module, binding_for_plan()), *resolve(*again, module, binding_for_plan()));
}

TEST(Plan, Resolves) {
  auto plan = read_plan(kPlan, "a.plan.toml");
  auto resolved = resolve(*plan, module_for_plan(), binding_for_plan());
  ASSERT_TRUE(resolved.ok()) << base::render(resolved.findings(), kPlan);
  ASSERT_EQ(resolved->buffers.size(), 2u);
  EXPECT_EQ(resolved->buffers[1],
            (ResolvedBuffer{"part", 4 * 3 * 7, ResolvedBuffer::Role::scratch, ResolvedBuffer::Init::zero}));
  ASSERT_EQ(resolved->launches.size(), 2u);
  const ResolvedLaunch& launch = resolved->launches[0];
  EXPECT_EQ(launch.grid, (Dim3{3, 1, 1}));
  EXPECT_EQ(launch.block, (Dim3{256, 1, 1}));
  EXPECT_EQ(launch.shared_bytes, 1024u);
  EXPECT_EQ(launch.parameters.size(), 48u);  // 8 8 4(+4) 8 4(+4) 8
  EXPECT_EQ(launch.pointers, (std::vector<Relocation>{{0, 0, 0}, {8, 1, 28}}));
  EXPECT_EQ(launch.parameters[16], 300 % 256);
  EXPECT_EQ(launch.parameters[17], 1);
  EXPECT_EQ(launch.parameters[24], 7);
  EXPECT_EQ(launch.parameters[32], 0xbd);
  EXPECT_EQ(launch.parameters[35], 0x35);
  EXPECT_EQ(resolved->launches[1].block, (Dim3{32, 2, 1}));
  EXPECT_EQ(thread_count(*resolved), 3u * 256 + 300 * 64);
}

TEST(Plan, WhenLeavesALaunchOut) {
  auto plan = read_plan(with("n > 5", "n > 7"), "a.plan.toml");
  auto resolved = resolve(*plan, module_for_plan(), binding_for_plan());
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->launches.size(), 1u);
}

TEST(Plan, LayoutIsNatural) {
  using isa::Type;
  const ParameterLayout layout =
      layout_of(entry("e", {parameter("a", Type::u8), parameter("b", Type::b8, 2, {2}), parameter("c", Type::f64),
                            parameter("d", Type::b8, 16, {20}), parameter("e", Type::u16)}));
  EXPECT_EQ(layout.offsets, (std::vector<uint32_t>{0, 2, 8, 16, 36}));
  EXPECT_EQ(layout.bytes, 38u);
}

TEST(Plan, UnknownKeySuggestsTheNearest) {
  const base::Finding finding = first_fault(with("entry = \"finish\"", "entr = \"finish\"\nentry = \"finish\""));
  EXPECT_EQ(finding.code, "PLAN0011");
  EXPECT_EQ(finding.hint, "did you mean `entry`?");
  EXPECT_EQ(finding.place.line, 12u);
  EXPECT_EQ(finding.place.column, 1u);
  EXPECT_EQ(finding.place.length, 4u);
  EXPECT_EQ(finding.place.file, "a.plan.toml");
}

TEST(Plan, FormsThatWait) {
  EXPECT_EQ(first_fault(with("[[launch]]", "[[tensor_map]]\nname = \"t\"\n[[launch]]")).code, "PLAN0013");
  EXPECT_EQ(first_fault(with("let =", "symbol = []\nlet =")).code, "PLAN0013");
  EXPECT_EQ(first_fault(with("when = \"n > 5\"", "for = [\"t\", \"n\"]")).code, "PLAN0013");
  EXPECT_EQ(first_fault(with("\"x\"", "\"pick(n, x, x)\"")).code, "PLAN0013");
}

TEST(Plan, ReadingFaults) {
  EXPECT_EQ(first_fault("schema = ").code, "PLAN0010");
  EXPECT_EQ(first_fault(std::string("\x7f\x45LF\0\0\xff\xfe", 8)).code, "PLAN0010");
  EXPECT_EQ(first_fault("").code, "PLAN0012");
  EXPECT_EQ(first_fault(with("ptxlab.plan/1", "ptxlab.plan/9")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("entry = \"finish\"", "")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "\"tiles\"")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "[1, 2, 3, 4]")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "[1.5]")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("init = \"zero\"", "init = \"zeros\"")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("\"rows\", \"128\"", "\"1rows\", \"128\"")).code, "PLAN0012");
  EXPECT_EQ(first_fault(with("4*tiles*n", "4*tiles*")).code, "PLAN0001");
}

TEST(Plan, ExpressionFaultsPointIntoTheFile) {
  const base::Finding finding = first_fault(with("grid = [\"tiles\"]", "grid = [\"tiels\"]"));
  EXPECT_EQ(finding.code, "PLAN0002");
  EXPECT_EQ(finding.hint, "did you mean `tiles`?");
  EXPECT_EQ(finding.place, (base::Place{"a.plan.toml", 6, 10, 5}));
  EXPECT_NE(finding.message.find("launch 1 (`partial`), grid x"), std::string::npos) << finding.message;
}

TEST(Plan, ResolvingFaults) {
  EXPECT_EQ(first_fault(with("\"partial\"", "\"partail\"")).code, "PLAN0020");
  EXPECT_EQ(first_fault(with("\"partial\"", "\"partail\"")).hint, "did you mean `partial`?");
  EXPECT_EQ(first_fault(with(", \"null\"]", "]")).code, "PLAN0021");
  EXPECT_EQ(first_fault(with("\"eps\"", "\"epz\"")).code, "PLAN0022");
  EXPECT_EQ(first_fault(with("\"x\"", "\"2 * x\"")).code, "PLAN0002");
  EXPECT_EQ(first_fault(with("\"x\"", "\"x - 4\"")).code, "PLAN0022");
  EXPECT_EQ(first_fault(with("\"m\", \"n\", \"eps\"", "\"x\", \"n\", \"eps\"")).code, "PLAN0023");
  EXPECT_EQ(first_fault(with("\"eps\"", "\"m\"")).code, "PLAN0023");
  EXPECT_EQ(first_fault(with("\"m\", \"n\"", "\"m << 30\", \"n\"")).code, "PLAN0023");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "[0]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "[\"1 << 31\"]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("[\"tiles\"]", "[1, 65536]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("[256]", "[1025]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("[256]", "[256, 8]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("[256]", "[256]\ncluster = [2]")).code, "PLAN0024");
  EXPECT_EQ(first_fault(with("4*tiles*n", "0*n")).code, "PLAN0025");
  EXPECT_EQ(first_fault(with("4*tiles*n", "1 << 41")).code, "PLAN0025");
  EXPECT_EQ(first_fault(with("4*tiles*n", "n << 62")).code, "PLAN0003");
  EXPECT_EQ(first_fault(with("\"4*256\"", "1000000")).code, "PLAN0026");
  EXPECT_EQ(first_fault(with("\"4*256\"", "-4")).code, "PLAN0026");
  EXPECT_EQ(first_fault(with("name = \"part\"", "name = \"x\"")).code, "PLAN0027");
  EXPECT_EQ(first_fault(with("\"rows\", \"128\"", "\"m\", \"128\"")).code, "PLAN0027");
  EXPECT_EQ(first_fault(with("part + 4*n", "part + 85")).code, "PLAN0028");
  EXPECT_EQ(first_fault(with("part + 4*n", "part + 0 - 1")).code, "PLAN0028");
}

TEST(Plan, TheEntrysBlockDirectivesHold) {
  ptx::Module module = module_for_plan();
  auto plan = read_plan(kPlan, "a.plan.toml");
  module.functions[0].directives = {".maxntid 128, 1, 1"};
  auto resolved = resolve(*plan, module, binding_for_plan());
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.findings()[0].code, "PLAN0029");
  module.functions[0].directives = {".maxntid 256, 1, 1"};
  EXPECT_TRUE(resolve(*plan, module, binding_for_plan()).ok());
  module.functions[0].directives = {".reqntid 512, 1, 1"};
  EXPECT_FALSE(resolve(*plan, module, binding_for_plan()).ok());
}

TEST(Plan, ManyThreadsSaturate) {
  ResolvedPlan plan;
  plan.launches.resize(1);
  plan.launches[0].grid = {2147483647, 65535, 65535};
  plan.launches[0].block = {1024, 1, 1};
  EXPECT_EQ(thread_count(plan), UINT64_MAX);
}

}  // namespace
}  // namespace ptxlab::launch
