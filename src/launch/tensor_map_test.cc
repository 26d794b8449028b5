#include "launch/tensor_map.h"

#include <gtest/gtest.h>

#include <map>

namespace ptxlab::launch {
namespace {

constexpr const char* kPlan = R"toml(schema = "ptxlab.plan/1"
let = [["rows", "n/2"]]
scratch = [{ name = "part", bytes = "1 << 12" }]
symbol = [{ name = "c_map", from = "tm_part" }]
[[tensor_map]]
name = "tm_x"
buffer = "x + 32"
type = "bf16"
dims = ["n", "m"]
strides = ["2*n"]
box = [64, "rows"]
swizzle = "128B"
[[tensor_map]]
name = "tm_part"
buffer = "part"
type = "tf32"
dims = [16, 8, 3]
strides = [64, 512]
box = [4, 2, 1]
element_strides = [1, 2, 1]
l2 = "128B"
oob = "nan"
[[launch]]
entry = "k"
grid = [1]
block = [32]
args = ["m", "tm_x", "x", "tm_part"]
)toml";

ptx::Variable variable(isa::Space space, isa::Type type, uint32_t align = 0, std::vector<uint64_t> dims = {}) {
  ptx::Variable made;
  made.name = "p";
  made.space = space;
  made.type = type;
  made.align = align;
  made.dims = std::move(dims);
  return made;
}

ptx::Module module_of_maps() {
  using isa::Space;
  using isa::Type;
  ptx::Function entry;
  entry.name = "k";
  entry.entry = entry.has_body = true;
  entry.parameters = {variable(Space::param, Type::u32), variable(Space::param, Type::b8, 64, {128}),
                      variable(Space::param, Type::u64), variable(Space::param, Type::b8, 128, {128})};
  ptx::Module module;
  module.functions = {entry};
  module.variables = {variable(Space::constant, Type::b8, 64, {128})};
  module.variables[0].name = "c_map";
  return module;
}

Binding binding_of_maps() {
  Binding binding;
  binding.parameters = {{"m", 40}, {"n", 64}};
  binding.buffers = {{"x", 32 + 2 * 64 * 40, ResolvedBuffer::Role::in, ResolvedBuffer::Init::data}};
  return binding;
}

base::Result<ResolvedPlan> resolved(const std::string& text, const ptx::Module& module = module_of_maps()) {
  auto plan = read_plan(text, "a.plan.toml");
  if (!plan) return plan.findings();
  return resolve(*plan, module, binding_of_maps());
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = kPlan;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

base::Finding fault(const std::string& text) {
  auto plan = resolved(text);
  if (!plan) return plan.findings()[0];
  ADD_FAILURE() << "no finding in\n" << text;
  return {};
}
std::string code(std::string_view from, std::string_view to) { return fault(with(from, to)).code; }

TEST(TensorMap, IsResolvedAsTheDriverIsAskedForIt) {
  auto plan = resolved(kPlan);
  ASSERT_TRUE(plan.ok()) << base::render(plan.findings(), kPlan);
  ASSERT_EQ(plan->tensor_maps.size(), 2u);
  ResolvedTensorMap x;
  x.name = "tm_x";
  x.addend = 32;
  x.type = ResolvedTensorMap::Type::bf16;
  x.dims = {64, 40}, x.strides = {128}, x.box = {64, 32}, x.element_strides = {1, 1};
  x.swizzle = ResolvedTensorMap::Swizzle::bytes128;
  EXPECT_EQ(plan->tensor_maps[0], x);
  ResolvedTensorMap part;
  part.name = "tm_part";
  part.buffer = 1;
  part.type = ResolvedTensorMap::Type::tf32;
  part.dims = {16, 8, 3}, part.strides = {64, 512}, part.box = {4, 2, 1}, part.element_strides = {1, 2, 1};
  part.promotion = ResolvedTensorMap::Promotion::bytes128;
  part.outside = ResolvedTensorMap::Outside::nan;
  EXPECT_EQ(plan->tensor_maps[1], part);
  const ResolvedLaunch& launch = plan->launches[0];
  EXPECT_EQ(launch.tensor_maps, (std::vector<TensorMapUse>{{64, 0}, {256, 1}}));
  EXPECT_EQ(launch.parameters.size(), 384u);
  EXPECT_EQ(launch.pointers, (std::vector<Relocation>{{192, 0, 0}}));
  EXPECT_EQ(plan->symbols[0].tensor_maps, (std::vector<TensorMapUse>{{0, 1}}));
  EXPECT_EQ(plan->symbols[0].value.size(), 128u);
}

TEST(TensorMap, PrintsAsItReads) {
  auto plan = read_plan(kPlan, "a.plan.toml");
  ASSERT_TRUE(plan.ok());
  auto printed = resolved(print(*plan));
  ASSERT_TRUE(printed.ok()) << base::render(printed.findings(), print(*plan));
  EXPECT_EQ(*printed, *resolved(kPlan));
}

TEST(TensorMap, TypesHaveTheDriversNumbers) {
  // CUtensorMapDataType of cuda.h.
  const std::map<std::string_view, int> numbers{{"u8", 0},       {"u16", 1},   {"u32", 2},      {"s32", 3}, {"u64", 4},
                                                {"s64", 5},      {"f16", 6},   {"f32", 7},      {"f64", 8}, {"bf16", 9},
                                                {"f32_ftz", 10}, {"tf32", 11}, {"tf32_ftz", 12}};
  for (std::string_view type : kTensorMapTypes) {
    std::string text = with("type = \"bf16\"", "type = \"" + std::string(type) + "\"");
    text.replace(text.find("\"n\", \"m\""), 8, "16, 16");
    text.replace(text.find("64, \"rows\""), 10, "16, 1");
    auto plan = resolved(text);
    ASSERT_TRUE(plan.ok()) << base::render(plan.findings(), text);
    EXPECT_EQ(static_cast<int>(plan->tensor_maps[0].type), numbers.at(type)) << type;
  }
}

TEST(TensorMap, ReadingFaults) {
  EXPECT_EQ(fault(with("\"128B\"\n[[ten", "\"128b\"\n[[ten")).hint, "did you mean \"128B\"?");
  EXPECT_EQ(code("[\"2*n\"]", "[\"2*n\", 8]"), "PLAN0012");
  EXPECT_EQ(code("strides = [\"2*n\"]\n", ""), "PLAN0012");
  EXPECT_EQ(code("[64, \"rows\"]", "[64]"), "PLAN0012");
  EXPECT_EQ(code("[1, 2, 1]", "[1, 2]"), "PLAN0012");
  EXPECT_EQ(code("[\"n\", \"m\"]", "[1, 1, 1, 1, 1, 1]"), "PLAN0012");
  EXPECT_EQ(code("[\"n\", \"m\"]", "[]"), "PLAN0012");
  EXPECT_EQ(code("swizzle", "swizle"), "PLAN0011");
  EXPECT_EQ(code("type = \"bf16\"\n", ""), "PLAN0012");
  EXPECT_EQ(code("buffer = \"part\"\n", ""), "PLAN0012");
  EXPECT_EQ(code("\"x + 32\"", "\"x + \""), "PLAN0001");
}

TEST(TensorMap, TheDriversRules) {
  EXPECT_EQ(code("x + 32", "x + 8"), "PLAN0033");
  EXPECT_EQ(code("[\"n\", \"m\"]", "[\"n\", 0]"), "PLAN0033");
  EXPECT_EQ(code("[\"n\", \"m\"]", "[\"n\", \"(1 << 32) + 1\"]"), "PLAN0033");
  EXPECT_EQ(code("[\"2*n\"]", "[\"2*n + 8\"]"), "PLAN0033");
  EXPECT_EQ(code("[\"2*n\"]", "[\"1 << 40\"]"), "PLAN0033");
  EXPECT_EQ(code("[\"2*n\"]", "[0]"), "PLAN0033");
  EXPECT_EQ(code("[64, \"rows\"]", "[64, 257]"), "PLAN0033");
  EXPECT_EQ(code("[64, \"rows\"]", "[64, 0]"), "PLAN0033");
  EXPECT_EQ(code("[64, \"rows\"]", "[12, 1]"), "PLAN0033");                // 24 bytes
  EXPECT_EQ(code("[64, \"rows\"]", "[72, 1]"), "PLAN0033");                // 144 bytes with a swizzle of 128
  EXPECT_EQ(code("\"128B\"\n[[ten", "\"64B\"\n[[ten"), "PLAN0033");        // 128 bytes with one of 64
  EXPECT_TRUE(resolved(with("\"128B\"\n[[ten", "\"none\"\n[[ten")).ok());  // without one nothing is too wide
  EXPECT_EQ(code("[1, 2, 1]", "[1, 9, 1]"), "PLAN0033");
  EXPECT_EQ(code("[1, 2, 1]", "[1, 0, 1]"), "PLAN0033");
  EXPECT_EQ(code("swizzle = \"128B\"", "interleave = \"16B\""), "PLAN0033");  // 2 dims
  EXPECT_EQ(code("swizzle = \"128B\"", "oob = \"nan\"\ninterleave = \"32B\""), "PLAN0033");
  EXPECT_EQ(code("oob = \"nan\"", "interleave = \"32B\""), "PLAN0033");  // without its swizzle
  EXPECT_TRUE(resolved(with("oob = \"nan\"", "interleave = \"32B\"\nswizzle = \"32B\"")).ok());
  EXPECT_EQ(code("type = \"tf32\"", "type = \"u32\""), "PLAN0033");  // NaN among integers
  EXPECT_EQ(code("\"x + 32\"", "\"pick(0, null, x)\""), "PLAN0033");
}

TEST(TensorMap, LiesWithinItsBuffer) {
  const base::Finding finding = fault(with("x + 32", "x + 48"));
  EXPECT_EQ(finding.code, "PLAN0034");
  EXPECT_EQ(finding.message, "tensor map `tm_x`: it ends at byte 5168 of `x`, which has 5152");
  EXPECT_EQ(finding.place.line, 7u);
  EXPECT_EQ(code("dims = [16, 8, 3]", "dims = [16, 8, 9]"), "PLAN0034");  // 8 * 512 + 7 * 64 + 64
  EXPECT_TRUE(resolved(with("dims = [16, 8, 3]", "dims = [16, 8, 8]")).ok());
  EXPECT_EQ(code("x + 32", "x + 5153"), "PLAN0028");
  // Sums of what is as large as it may be.
  std::string text = with("dims = [16, 8, 3]", "dims = [\"1 << 32\", \"1 << 32\", \"1 << 32\"]");
  text.replace(text.find("[64, 512]"), 9, "[\"(1 << 40) - 16\", \"(1 << 40) - 16\"]");
  EXPECT_EQ(fault(text).code, "PLAN0034");
}

TEST(TensorMap, ItsPlaceAmongNames) {
  EXPECT_EQ(code("name = \"tm_x\"", "name = \"x\""), "PLAN0027");
  EXPECT_EQ(code("name = \"tm_x\"", "name = \"n\""), "PLAN0027");
  EXPECT_EQ(code("name = \"tm_x\"", "name = \"rows\""), "PLAN0027");
  EXPECT_EQ(code("name = \"tm_part\"", "name = \"tm_x\""), "PLAN0027");
  EXPECT_EQ(code("buffer = \"part\"", "buffer = \"prat\""), "PLAN0022");
  EXPECT_EQ(fault(with("[\"m\", \"tm_x\"", "[\"m\", \"tm_y\"")).hint, "did you mean `tm_x`?");
  EXPECT_EQ(code("[\"m\", \"tm_x\"", "[\"m\", \"tm_x + 16\""), "PLAN0022");
  EXPECT_EQ(code("entry = \"k\"\n", "entry = \"k\"\nfor = [\"tm_x\", 2]\n"), "PLAN0027");
}

TEST(TensorMap, ItsParameterIsAlignedAndHas128Bytes) {
  EXPECT_EQ(code("[\"m\", \"tm_x\", \"x\"", "[\"m\", \"tm_part\", \"tm_x\""), "PLAN0023");  // for a u64
  ptx::Module module = module_of_maps();
  module.functions[0].parameters[1].align = 16;
  auto plan = resolved(kPlan, module);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.findings()[0].code, "PLAN0023");
  EXPECT_EQ(plan.findings()[0].hint, "a tensor map lies at a multiple of 64: .align 64 .b8 NAME[128]");
  module = module_of_maps();
  module.variables[0].dims = {64};
  EXPECT_EQ(resolved(kPlan, module).findings()[0].code, "PLAN0030");
}

}  // namespace
}  // namespace ptxlab::launch
