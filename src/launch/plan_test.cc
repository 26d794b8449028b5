#include "launch/plan.h"

#include <fmt/format.h>
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

// --- loops, picks, symbols, structs, tensor maps ---

constexpr const char* kLoops = R"toml(schema = "ptxlab.plan/1"
scratch = [{ name = "other", bytes = "4*n" }]
symbol = [{ name = "c_taps", from = "w" }, { name = "c_n", from = "2*n + 1" }, { name = "c_eps", from = "eps" }]
[[launch]]
for = ["t", "steps"]
entry = "step"
grid = ["t + 1"]
block = [32]
args = ["pick(t % 2, x, other)", "pick(t % 2, other, x + 8)", "t"]
[[launch]]
for = ["t", "steps"]
when = "t > 0"
entry = "step"
grid = [7]
block = [32]
args = ["pick(t - 1, w + 4, pick(n == 7, w, x) + 4) + 4", "null", "n"]
[[launch]]
for = [["t", 2], ["j", "t + 1"]]
entry = "step"
grid = [1]
block = [32]
args = ["x + 4*j", "x", "10*t + j"]
)toml";

ptx::Variable variable(std::string name, isa::Type type, std::vector<uint64_t> dims = {}) {
  ptx::Variable made = parameter(std::move(name), type, 0, std::move(dims));
  made.space = isa::Space::constant;
  return made;
}

ptx::Module module_for_loops() {
  using isa::Type;
  ptx::Module module;
  module.functions.push_back(
      entry("step", {parameter("a", Type::u64), parameter("b", Type::u64), parameter("i", Type::u32)}));
  module.functions.push_back(entry("by_value", {parameter("s", Type::b8, 8, {24}), parameter("n", Type::u32)}));
  module.variables = {variable("_ZN3fir6c_tapsE", Type::f32, {9}), variable("c_n", Type::u32),
                      variable("c_eps", Type::f32), variable("c_x", Type::u64), variable("c_s", Type::b8, {24})};
  return module;
}

Binding binding_for_loops() {
  Binding binding;
  binding.parameters = {{"n", 7}, {"steps", 3}};
  binding.scalars["eps"] = {"f32", 0x358637bd, 0};
  binding.buffers = {{"x", 28, ResolvedBuffer::Role::inout, ResolvedBuffer::Init::data},
                     {"w", 20, ResolvedBuffer::Role::in, ResolvedBuffer::Init::data}};
  binding.structs["p"] = {{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, {{8, 1, 4}}};
  return binding;
}

std::string loops_with(std::string_view from, std::string_view to) {
  std::string text = kLoops;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

base::Result<ResolvedPlan> resolved_loops(const std::string& text) {
  auto plan = read_plan(text, "a.plan.toml");
  if (!plan) return plan.findings();
  return resolve(*plan, module_for_loops(), binding_for_loops());
}

base::Finding loop_fault(const std::string& text) {
  auto resolved = resolved_loops(text);
  if (!resolved) return resolved.findings()[0];
  ADD_FAILURE() << "no finding in\n" << text;
  return {};
}

TEST(Plan, NeighboursWithTheSameLoopsAreOneBody) {
  auto resolved = resolved_loops(kLoops);
  ASSERT_TRUE(resolved.ok()) << base::render(resolved.findings(), kLoops);
  std::vector<uint32_t> grids, numbers;
  for (const ResolvedLaunch& launch : resolved->launches) {
    grids.push_back(launch.grid[0]);
    numbers.push_back(launch.parameters[16]);
  }
  // t = 0, 1, 2 of the first body, whose second launch is left out at 0; then the nest.
  EXPECT_EQ(grids, (std::vector<uint32_t>{1, 2, 7, 3, 7, 1, 1, 1}));
  EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 1, 7, 2, 7, 0, 10, 11}));
}

TEST(Plan, PicksChooseAPlace) {
  std::string text =
      loops_with("pick(t - 1, w + 4, pick(n == 7, w, x) + 4) + 4", "pick(t - 1, pick(n == 7, x, w) + 4, null)");
  auto resolved = resolved_loops(text);
  ASSERT_TRUE(resolved.ok()) << base::render(resolved.findings(), text);
  using Pointers = std::vector<Relocation>;
  // Buffers: x, w, other.
  EXPECT_EQ(resolved->launches[0].pointers, (Pointers{{0, 0, 0}, {8, 2, 0}}));
  EXPECT_EQ(resolved->launches[1].pointers, (Pointers{{0, 2, 0}, {8, 0, 8}}));
  EXPECT_EQ(resolved->launches[2].pointers, (Pointers{{0, 1, 4}}));
  EXPECT_EQ(resolved->launches[4].pointers, (Pointers{}));  // null: the bytes are 0
  EXPECT_EQ(resolved->launches[4].parameters[0], 0);
}

TEST(Plan, SymbolsTakeBuffersAndValues) {
  auto resolved = resolved_loops(kLoops);
  ASSERT_TRUE(resolved.ok());
  ASSERT_EQ(resolved->symbols.size(), 3u);
  EXPECT_EQ(resolved->symbols[0], (ResolvedSymbol{"_ZN3fir6c_tapsE", 1, 0, 20, {}, {}}));
  EXPECT_EQ(resolved->symbols[1].value, (std::vector<uint8_t>{15, 0, 0, 0}));
  EXPECT_EQ(resolved->symbols[2].value, (std::vector<uint8_t>{0xbd, 0x37, 0x86, 0x35}));
  // A variable of 8 bytes takes a buffer's address, a struct its bytes with the addresses in them.
  resolved = resolved_loops(loops_with("{ name = \"c_n\", from = \"2*n + 1\" }",
                                       "{ name = \"c_x\", from = \"x + 4\" }, { name = \"c_s\", from = \"p\" }"));
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->symbols[1].pointers, (std::vector<Relocation>{{0, 0, 4}}));
  EXPECT_EQ(resolved->symbols[2].pointers, (std::vector<Relocation>{{8, 1, 4}}));
  EXPECT_EQ(resolved->symbols[2].value[16], 9);
}

TEST(Plan, StructsGoByValue) {
  auto resolved = resolved_loops(
      "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"by_value\"\ngrid = [1]\nblock = [1]\nargs = [\"p\", 3]\n");
  ASSERT_TRUE(resolved.ok());
  const ResolvedLaunch& launch = resolved->launches[0];
  EXPECT_EQ(launch.parameters.size(), 28u);
  EXPECT_EQ(launch.parameters[3], 4);
  EXPECT_EQ(launch.parameters[16], 9);
  EXPECT_EQ(launch.parameters[24], 3);
  EXPECT_EQ(launch.pointers, (std::vector<Relocation>{{8, 1, 4}}));
}

TEST(Plan, LoopsPicksAndSymbolsPrintAndReadBack) {
  auto plan = read_plan(kLoops, "a.plan.toml");
  ASSERT_TRUE(plan.ok());
  const std::string printed = print(*plan);
  auto again = read_plan(printed, "b");
  ASSERT_TRUE(again.ok()) << base::render(again.findings(), printed);
  EXPECT_EQ(print(*again), printed);
  EXPECT_EQ(*resolve(*plan, module_for_loops(), binding_for_loops()),
            *resolve(*again, module_for_loops(), binding_for_loops()));
}

TEST(Plan, LoopFaults) {
  EXPECT_EQ(loop_fault(loops_with("[\"t\", \"steps\"]", "[\"t\"]")).code, "PLAN0012");
  EXPECT_EQ(loop_fault(loops_with("[\"t\", \"steps\"]", "[]")).code, "PLAN0012");
  EXPECT_EQ(loop_fault(loops_with("[[\"t\", 2], [\"j\"", "[[\"t\", 2], [\"t\"")).code, "PLAN0012");
  EXPECT_EQ(loop_fault(loops_with("[[\"t\", 2], [\"j\"", "[[\"x\", 2], [\"j\"")).code, "PLAN0027");
  EXPECT_EQ(loop_fault(loops_with("[\"t\", \"steps\"]", "[\"t\", \"stesp\"]")).hint, "did you mean `steps`?");
  EXPECT_EQ(loop_fault(loops_with("[\"t\", \"steps\"]", "[\"t\", \"0 - steps\"]")).code, "PLAN0031");
  EXPECT_EQ(loop_fault(loops_with("[\"t\", \"steps\"]", "[\"t\", 1000000]")).code, "PLAN0031");
  EXPECT_EQ(loop_fault(loops_with("[[\"t\", 2], [\"j\", \"t + 1\"]]", "[[\"t\", 200], [\"j\", 200]]\nwhen = 1")).code,
            "PLAN0028");  // x + 4*j
  EXPECT_EQ(loop_fault(loops_with("[[\"t\", 2], [\"j\", \"t + 1\"]]", "[[\"k\", 20000], [\"j\", 2], [\"t\", 1]]")).code,
            "PLAN0031");
  // A name of a loop is known inside it alone.
  EXPECT_EQ(loop_fault(loops_with("\"10*t + j\"", "\"steps + i\"")).code, "PLAN0002");
}

TEST(Plan, PickFaults) {
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t + 5, x, other)")).code, "PLAN0032");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x, oter)")).hint, "did you mean `other`?");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x")).code, "PLAN0001");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2)")).code, "PLAN0001");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x, 5)")).code, "PLAN0001");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x, other) * 2")).code, "PLAN0001");
  EXPECT_EQ(loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x, other + 29)")).code, "PLAN0028");
  EXPECT_EQ(loop_fault(loops_with("\"t\"]\n", "\"pick(t, x, w, other)\"]\n")).code, "PLAN0023");
  const base::Finding finding = loop_fault(loops_with("pick(t % 2, x, other)", "pick(t % 2, x, otherwise)"));
  EXPECT_EQ(finding.code, "PLAN0022");
  EXPECT_EQ(finding.place.line, 9u);
  EXPECT_EQ(finding.place.column, 24u);
}

TEST(Plan, SymbolFaults) {
  EXPECT_EQ(loop_fault(loops_with("c_taps", "c_tabs")).code, "PLAN0030");
  EXPECT_EQ(loop_fault(loops_with("name = \"c_n\"", "name = \"c_m\"")).hint, "did you mean `c_n`?");
  EXPECT_EQ(loop_fault(loops_with("from = \"w\"", "from = \"v\"")).code, "PLAN0022");
  EXPECT_EQ(loop_fault(loops_with("from = \"w\"", "form = \"w\"")).hint, "did you mean `from`?");
  EXPECT_EQ(loop_fault(loops_with("\"c_n\", from = \"2*n + 1\"", "\"c_n\", from = \"x\"")).code, "PLAN0030");
  EXPECT_EQ(loop_fault(loops_with("\"c_eps\", from = \"eps\"", "\"c_eps\", from = \"n\"")).code, "PLAN0030");
  EXPECT_EQ(loop_fault(loops_with("\"c_eps\"", "\"fir::c_taps\"")).code, "PLAN0027");
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

TEST(Plan, TheEntrysClusterDirectivesHold) {
  ptx::Module module = module_for_loops();
  auto launched = [&](const char* directive, const char* grid, const char* cluster) {
    auto plan =
        read_plan("schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"step\"\nblock = [32]\nargs = [\"x\", \"x\", 1]\n" +
                      fmt::format("grid = [{}]\n{}\n", grid, cluster),
                  "a.plan.toml");
    module.functions[0].directives = {directive};
    return resolve(*plan, module, binding_for_loops());
  };
  auto silent = launched(".reqnctapercluster 2, 1, 1", "8", "");
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->launches[0].cluster, (Dim3{2, 1, 1}));
  EXPECT_TRUE(launched(".reqnctapercluster 2", "8", "cluster = [2]").ok());
  EXPECT_EQ(launched(".reqnctapercluster 2", "7", "").findings()[0].code, "PLAN0024");
  auto other = launched(".reqnctapercluster 2", "8", "cluster = [\"4\"]");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.findings()[0].code, "PLAN0029");
  EXPECT_EQ(other.findings()[0].place.line, 7u);
  EXPECT_TRUE(launched(".maxclusterrank 8", "32", "cluster = [8]").ok());
  EXPECT_EQ(launched(".maxclusterrank 8", "32", "cluster = [16]").findings()[0].code, "PLAN0029");
  EXPECT_EQ(launched("", "34", "cluster = [17]").findings()[0].code, "PLAN0024");
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
