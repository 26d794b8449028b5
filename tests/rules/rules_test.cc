// Every rule's result beside the original on the same inputs: sizes around the vector width and the CTA, aligned buffers and
// buffers that begin off any vector's alignment, rows of odd length. Maps must agree to the bit; sums within rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/narrow_float.h"
#include "base/random.h"
#include "checkers/registry.h"
#include "launch/plan.h"
#include "ptx/verifier.h"
#include "rewrite/rule.h"
#include "simt/engine.h"

namespace ptxlab {
namespace {

enum class Fill : uint8_t { f32, f64, bf16, byte, none };

struct Buffer {
  std::string name;
  uint64_t elements;
  int bytes;  // of one
  Fill fill;
  uint64_t offset;  // elements that the pointer lies behind the aligned beginning
  bool output;
};

struct Setting {
  std::string entry, plan;
  std::map<std::string, int64_t> parameters;
  std::map<std::string, launch::Binding::Scalar> scalars;
  std::vector<Buffer> buffers;
  uint64_t seed = 1;
};

std::string file(const std::string& path) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << path;
  return *text;
}

void fill(std::span<uint8_t> bytes, Fill kind, base::Random& random) {
  auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  switch (kind) {
    case Fill::f32:
      for (size_t i = 0; i + 4 <= bytes.size(); i += 4) put(i, static_cast<float>(random.normal()));
      break;
    case Fill::f64:
      for (size_t i = 0; i + 8 <= bytes.size(); i += 8) put(i, i % 56 == 0 ? NAN : random.normal());
      break;
    case Fill::bf16:
      for (size_t i = 0; i + 2 <= bytes.size(); i += 2) put(i, base::double_to_bf16(random.normal()));
      break;
    case Fill::byte:
      for (auto& b : bytes) b = static_cast<uint8_t>(random.next());
      break;
    case Fill::none: std::fill(bytes.begin(), bytes.end(), 0xa5); break;
  }
}

// The buffers' bytes after the launches, or a problem in `why`.
std::vector<std::vector<uint8_t>> execute(const std::string& ptx, const std::string& plan_text, const Setting& setting,
                                          std::string& why) {
  auto checked = ptx::check(ptx, "test.ptx");
  auto plan = launch::read_plan(plan_text, "test.plan.toml");
  if (!checked.ok() || !plan.ok()) {
    why = "does not read";
    return {};
  }
  launch::Binding binding;
  binding.parameters = setting.parameters;
  binding.scalars = setting.scalars;
  simt::Memory memory(setting.seed);
  base::Random random(setting.seed);
  std::vector<size_t> places;
  for (const auto& buffer : setting.buffers) {
    uint64_t bytes = (buffer.elements + buffer.offset) * buffer.bytes;
    binding.buffers.push_back(
        {buffer.name, bytes, launch::ResolvedBuffer::Role::inout, launch::ResolvedBuffer::Init::data});
    places.push_back(memory.allocate(buffer.name, bytes, launch::ResolvedBuffer::Init::zero));
    fill(memory.allocation(places.back()).data, buffer.fill, random);
  }
  auto resolved = launch::resolve(*plan, checked.module, binding);
  if (!resolved.ok()) {
    why = base::render(resolved.findings(), "");
    return {};
  }
  auto engine = simt::make_simt_engine();
  auto program = engine->load(checked.module);
  if (!program.ok()) {
    why = base::render(program.findings(), ptx);
    return {};
  }
  for (auto& launch : resolved->launches) {
    for (auto& pointer : launch.pointers)
      pointer.addend += setting.buffers[pointer.buffer].offset * setting.buffers[pointer.buffer].bytes;
    std::vector<std::unique_ptr<simt::Observer>> checkers;
    std::vector<simt::Observer*> observers;
    for (const auto& checker : checkers::all_checkers()) {
      // What the original leaves unwritten (unused threads, n = 0) is no fault of a rewriting.
      if (checker.name == "unwritten") continue;
      checkers.push_back(checker.make());
      observers.push_back(checkers.back().get());
    }
    simt::RunOptions options;
    options.seed = setting.seed;
    auto report = (*program)->run(launch, places, memory, options, observers);
    for (const auto& checker : checkers) {
      auto found = checker->findings();
      report.findings.insert(report.findings.end(), found.begin(), found.end());
    }
    if (base::has_error(report.findings) || !report.completed)
      why += base::render(report.findings, ptx) + "not completed";
  }
  std::vector<std::vector<uint8_t>> result;
  for (size_t place : places) {
    const auto& data = memory.allocation(place).data;
    result.emplace_back(data.begin(), data.end());
  }
  return result;
}

// 0: to the bit.
double difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, Fill kind) {
  double worst = 0;
  auto look = [&](double x, double y) {
    if (std::isnan(x) && std::isnan(y)) return;
    worst = std::max(worst, std::isnan(x - y) ? (x == y ? 0 : 1e300) : std::fabs(x - y) / std::max(1e-3, std::fabs(x)));
  };
  for (size_t i = 0; i < a.size();) {
    if (kind == Fill::f32) {
      float x, y;
      std::memcpy(&x, &a[i], 4), std::memcpy(&y, &b[i], 4);
      look(x, y), i += 4;
    } else {
      uint16_t x, y;
      std::memcpy(&x, &a[i], 2), std::memcpy(&y, &b[i], 2);
      look(base::bf16_to_double(x), base::bf16_to_double(y)), i += 2;
    }
  }
  return worst;
}

// Applies the rule with every choice and compares. `tolerance` 0: to the bit.
void compare(const std::string& ptx, const Setting& setting, std::string_view rule_name, double tolerance, Fill kind) {
  auto checked = ptx::check(ptx, "test.ptx");
  ASSERT_TRUE(checked.ok());
  auto plan = launch::read_plan(setting.plan, "test.plan.toml");
  ASSERT_TRUE(plan.ok()) << base::render(plan.findings(), setting.plan);
  task::Task task;
  for (const auto& buffer : setting.buffers)
    if (buffer.output) {
      task::Argument argument;
      argument.name = buffer.name;
      argument.kind = task::Argument::Kind::out;
      task.arguments.push_back(argument);
      task.tolerances[buffer.name].kind =
          tolerance > 0 ? task::Tolerance::Kind::floating : task::Tolerance::Kind::exact;
    }
  rewrite::Subject subject{&checked.module, &*plan, &task, *isa::target_named("sm_80"), {}};
  const auto* rule = rewrite::rule_named(rule_name);
  std::string why;
  auto expected = execute(ptx, setting.plan, setting, why);
  ASSERT_EQ(why, "") << setting.entry;
  for (const auto& choice : rule->choices(subject)) {
    auto made = rule->apply(subject, choice);
    ASSERT_TRUE(made.ok()) << setting.entry << ": " << base::render(made.findings(), "");
    auto actual = execute(made->ptx, made->plan.empty() ? setting.plan : made->plan, setting, why);
    ASSERT_EQ(why, "") << made->name << "\n" << made->ptx;
    for (size_t i = 0; i < expected.size(); ++i) {
      bool same = tolerance > 0 && setting.buffers[i].output ? difference(expected[i], actual[i], kind) <= tolerance
                                                             : expected[i] == actual[i];
      ASSERT_TRUE(same) << setting.entry << ": " << made->name << ", buffer " << setting.buffers[i].name << "\n"
                        << made->ptx;
    }
  }
}

launch::Binding::Scalar integer(const std::string& type, int64_t value) {
  return {type, static_cast<uint64_t>(value), value};
}
launch::Binding::Scalar real(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return {"f32", bits, 0};
}

std::string plan_of(const std::string& entry, const std::string& grid, int block, const std::string& arguments) {
  return "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"" + entry + "\"\ngrid = [" + grid + "]\nblock = [\"" +
         std::to_string(block) + "\"]\nargs = [" + arguments + "]\n";
}

const std::vector<uint64_t> kSizes{0, 1, 3, 4, 5, 7, 8, 9, 33, 127, 256, 1031};
// Offsets of buffers, in elements: all aligned, one off, all off alike, each off differently.
const std::vector<std::vector<uint64_t>> kOffsets{{0, 0, 0}, {0, 1, 0}, {1, 1, 1}, {2, 3, 1}};

const auto kKernels = "src/analysis/testdata/kernels.ptx";

TEST(Rules, VectorAdd) {
  auto ptx = file("tasks/elementwise/vector_add_f32/baseline.ptx");
  for (auto n : kSizes)
    for (const auto& off : kOffsets) {
      auto size = static_cast<int64_t>(n);
      Setting s{"vector_add",
                plan_of("vector_add", "\"max(1, ceildiv(n, 64))\"", 64, "\"a\", \"b\", \"c\", \"n\""),
                {{"n", size}},
                {{"n", integer("s32", size)}},
                {{"a", n, 4, Fill::f32, off[0], false},
                 {"b", n, 4, Fill::f32, off[1], false},
                 {"c", n, 4, Fill::none, off[2], true}}};
      compare(ptx, s, "vectorise", 0, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, RmsnormRows) {
  auto ptx = file("tasks/norm/rmsnorm_bf16/baseline.ptx");
  for (int64_t n : {1, 7, 8, 9, 33, 512, 777})
    for (const auto& off : kOffsets) {
      auto m = uint64_t{3}, size = static_cast<uint64_t>(n);
      Setting s{"rmsnorm",
                plan_of("rmsnorm", "\"m\"", 64, "\"x\", \"w\", \"y\", \"n\", \"eps\""),
                {{"m", 3}, {"n", n}},
                {{"n", integer("u32", n)}, {"eps", real(1e-6f)}},
                {{"x", m * size, 2, Fill::bf16, off[0], false},
                 {"w", size, 2, Fill::bf16, off[1], false},
                 {"y", m * size, 2, Fill::none, off[2], true}}};
      compare(ptx, s, "vectorise", 1.0 / 128, Fill::bf16);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, SoftmaxRows) {
  auto ptx = file("tasks/softmax/softmax_f32/baseline.ptx");
  for (int64_t n : {1, 4, 5, 33, 130, 515})
    for (const auto& off : kOffsets) {
      auto m = uint64_t{2}, size = static_cast<uint64_t>(n);
      Setting s{"softmax",
                plan_of("softmax", "\"m\"", 96, "\"x\", \"y\", \"n\""),
                {{"m", 2}, {"n", n}},
                {{"n", integer("s32", n)}},
                {{"x", m * size, 4, Fill::f32, off[0], false}, {"y", m * size, 4, Fill::none, off[1], true}}};
      compare(ptx, s, "vectorise", 1e-5, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, GridStrideWithEveryGrid) {
  auto ptx = file(kKernels);
  for (const std::string grid : {"\"max(1, ceildiv(n, 64))\"", "\"min(3, max(1, n))\"", "\"2\""})
    for (uint64_t n : {0, 1, 7, 8, 65, 513})
      for (const auto& off : {kOffsets[0], kOffsets[1]}) {
        auto size = static_cast<int64_t>(n);
        Setting s{"add_grid_stride",
                  plan_of("add_grid_stride", grid, 64, "\"a\", \"b\", \"c\", \"n\""),
                  {{"n", size}},
                  {{"n", integer("s32", size)}},
                  {{"a", n, 4, Fill::f32, off[0], false},
                   {"b", n, 4, Fill::f32, off[1], false},
                   {"c", n, 4, Fill::none, off[2], true}}};
        compare(ptx, s, "vectorise", 0, Fill::f32);
        Setting wide{"scale_grid_stride_64",
                     plan_of("scale_grid_stride_64", grid, 32, "\"x\", \"y\", \"n\", \"s\""),
                     {{"n", size}},
                     {{"n", integer("u64", size)}, {"s", real(1.5f)}},
                     {{"x", n, 4, Fill::f32, off[0], false}, {"y", n, 4, Fill::none, off[1], true}}};
        compare(ptx, wide, "vectorise", 0, Fill::f32);
        if (HasFatalFailure()) return;
      }
}

TEST(Rules, FewerThreadsThanNeighbours) {
  auto ptx = file(kKernels);
  for (int block : {1, 2, 3, 5, 33}) {
    Setting s{"threshold_bytes",
              plan_of("threshold_bytes", "\"1\"", block, "\"x\", \"y\", \"n\", \"limit\""),
              {{"n", 999}},
              {{"n", integer("u32", 999)}, {"limit", integer("u32", 100)}},
              {{"x", 999, 1, Fill::byte, 0, false}, {"y", 999, 1, Fill::none, 0, true}}};
    compare(ptx, s, "vectorise", 0, Fill::byte);
  }
}

TEST(Rules, GuardedBodiesWithBranchesAndGathers) {
  auto ptx = file(kKernels);
  for (auto n : kSizes)
    for (const auto& off : kOffsets) {
      auto size = static_cast<int64_t>(n);
      Setting gelu{"bias_gelu",
                   plan_of("bias_gelu", "\"max(1, ceildiv(n, 96))\"", 96, "\"x\", \"b\", \"y\", \"n\", \"c\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}, {"c", integer("s32", 13)}},
                   {{"x", n, 2, Fill::bf16, off[0], false},
                    {"b", 13, 2, Fill::bf16, off[1], false},
                    {"y", n, 2, Fill::none, off[2], true}}};
      compare(ptx, gelu, "vectorise", 0, Fill::bf16);
      Setting clip{"clip_in_place",
                   plan_of("clip_in_place", "\"max(1, ceildiv(n, 256))\"", 256, "\"x\", \"n\", \"l\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}, {"l", {"f64", 0x3fe0000000000000, 0}}},
                   {{"x", n, 8, Fill::f64, off[0], true}}};
      compare(ptx, clip, "vectorise", 0, Fill::f64);
      Setting relu{"relu_rows",
                   plan_of("relu_rows", "\"max(1, ceildiv(n, 64))\", \"3\"", 64, "\"x\", \"y\", \"n\""),
                   {{"n", size}},
                   {{"n", integer("s32", size)}},
                   {{"x", 3 * n, 4, Fill::f32, off[0], false}, {"y", 3 * n, 4, Fill::none, off[1], true}}};
      compare(ptx, relu, "vectorise", 0, Fill::f32);
      if (HasFatalFailure()) return;
    }
}

TEST(Rules, PointersThatMoveByAConstantRolledAndUnrolled) {
  auto ptx = file(kKernels);
  for (int block : {256, 128})  // the kernel has 256 built in; with another it must keep to its own loop
    for (int64_t n : {1, 7, 257, 1030, 2049}) {
      auto size = static_cast<uint64_t>(n);
      for (const auto& off : kOffsets) {
        Setting s{"scale_rows_rolled",
                  plan_of("scale_rows_rolled", "\"2\"", block, "\"x\", \"y\", \"n\", \"s\""),
                  {{"n", n}},
                  {{"n", integer("s32", n)}, {"s", real(3.f)}},
                  {{"x", 2 * size, 4, Fill::f32, off[0], false}, {"y", 2 * size, 4, Fill::none, off[1], true}}};
        compare(ptx, s, "vectorise", 0, Fill::f32);
        // The same loop unrolled by four.
        s.entry = "scale_rows";
        s.plan = plan_of("scale_rows", "\"2\"", block, "\"x\", \"y\", \"n\", \"s\"");
        compare(ptx, s, "vectorise", 0, Fill::f32);
        Setting sum{"sum_of_squares",
                    plan_of("sum_of_squares", "\"2\"", block, "\"x\", \"y\", \"n\""),
                    {{"n", n}},
                    {{"n", integer("s32", n)}},
                    {{"x", 2 * size, 4, Fill::f32, off[0], false}, {"y", 1, 4, Fill::f32, 0, true}}};
        compare(ptx, sum, "vectorise", 1e-5, Fill::f32);
        if (HasFatalFailure()) return;
      }
    }
}

TEST(Rules, ReadOnlyLoadsAndOtherBlocks) {
  for (int64_t n : {1, 100, 1031}) {
    auto size = static_cast<uint64_t>(n);
    Setting add{"vector_add",
                plan_of("vector_add", "\"ceildiv(n, 128)\"", 128, "\"a\", \"b\", \"c\", \"n\""),
                {{"n", n}},
                {{"n", integer("s32", n)}},
                {{"a", size, 4, Fill::f32, 0, false},
                 {"b", size, 4, Fill::f32, 0, false},
                 {"c", size, 4, Fill::none, 0, true}}};
    Setting norm{"rmsnorm",
                 plan_of("rmsnorm", "\"m\"", 128, "\"x\", \"w\", \"y\", \"n\", \"eps\""),
                 {{"m", 2}, {"n", n}},
                 {{"n", integer("u32", n)}, {"eps", real(1e-6f)}},
                 {{"x", 2 * size, 2, Fill::bf16, 0, false},
                  {"w", size, 2, Fill::bf16, 0, false},
                  {"y", 2 * size, 2, Fill::none, 0, true}}};
    for (auto rule : {"readonly", "block"}) {
      compare(file("tasks/elementwise/vector_add_f32/baseline.ptx"), add, rule, 0, Fill::f32);
      compare(file("tasks/norm/rmsnorm_bf16/baseline.ptx"), norm, rule, 1.0 / 128, Fill::bf16);
    }
  }
}

TEST(Rules, ContractionStaysWithinRounding) {
  const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u32 n) {
.reg .pred %p<2>;
.reg .b32 %r<6>;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [%rd5];
  mul.rn.f32 %f3, %f1, 0f40490FDB;
  add.rn.f32 %f4, %f3, %f2;
  mul.rn.f32 %f5, %f4, %f4;
  sub.rn.f32 %f6, %f1, %f5;
  mul.rn.f32 %f7, %f6, %f2;
  sub.rn.f32 %f8, %f7, %f1;
  st.global.f32 [%rd5], %f8;
DONE:
  ret;
}
)";
  Setting s{"axpy",
            plan_of("axpy", "\"1\"", 128, "\"x\", \"y\", \"n\""),
            {{"n", 100}},
            {{"n", integer("u32", 100)}},
            {{"x", 100, 4, Fill::f32, 0, false}, {"y", 100, 4, Fill::f32, 0, true}}};
  compare(ptx, s, "contract", 1e-4, Fill::f32);
}

}  // namespace
}  // namespace ptxlab
