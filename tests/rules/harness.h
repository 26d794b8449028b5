// Executes what a rule made beside what it was given, on the engine with its checkers watching, and compares every buffer.
#pragma once
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

namespace ptxlab::rules {

enum class Fill : uint8_t { f32, f64, bf16, f16, byte, index, none };  // index: 0 to 3, 32 bits

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

inline std::string file(const std::string& path) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << path;
  return *text;
}

inline void fill(std::span<uint8_t> bytes, Fill kind, base::Random& random) {
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
    case Fill::f16:
      for (size_t i = 0; i + 2 <= bytes.size(); i += 2) put(i, base::double_to_f16(random.normal()));
      break;
    case Fill::index:
      for (size_t i = 0; i + 4 <= bytes.size(); i += 4) put(i, static_cast<int32_t>(random.below(4)));
      break;
    case Fill::byte:
      for (auto& b : bytes) b = static_cast<uint8_t>(random.next());
      break;
    case Fill::none: std::fill(bytes.begin(), bytes.end(), 0xa5); break;
  }
}

// The buffers' bytes after the launches, or a problem in `why`.
inline std::vector<std::vector<uint8_t>> execute(const std::string& ptx, const std::string& plan_text,
                                                 const Setting& setting, std::string& why) {
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
inline double difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, Fill kind) {
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

inline task::Task task_of(const Setting& setting, double tolerance) {
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
  return task;
}

// A kernel at one size, the answer of its own code known, against which whatever rules make of it is held. `tolerance` 0: to
// the bit.
class Trial {
 public:
  Trial(const std::string& ptx, Setting setting, double tolerance, Fill kind)
      : ptx_(ptx),
        setting_(std::move(setting)),
        tolerance_(tolerance),
        kind_(kind),
        task_(task_of(setting_, tolerance)) {
    std::string why;
    expected_ = execute(ptx_, setting_.plan, setting_, why);
    EXPECT_EQ(why, "") << setting_.plan;
  }

  // How many choices of the rule apply; each of them is executed. `then`: what is made is given to this rule as well.
  size_t apply(std::string_view rule, std::string_view then = "") { return apply_to(ptx_, setting_.plan, rule, then); }
  // Rules that must not apply.
  void refuses(std::string_view rule) { EXPECT_EQ(apply(rule), 0u) << rule << " of " << setting_.plan; }

 private:
  size_t apply_to(const std::string& ptx, const std::string& plan_text, std::string_view rule_name,
                  std::string_view then) {
    auto checked = ptx::check(ptx, "test.ptx");
    auto plan = launch::read_plan(plan_text, "test.plan.toml");
    EXPECT_TRUE(checked.ok() && plan.ok()) << ptx;
    if (!checked.ok() || !plan.ok()) return 0;
    rewrite::Subject subject{&checked.module, &*plan, &task_, *isa::target_named("sm_80"), {}};
    const auto* rule = rewrite::rule_named(rule_name);
    EXPECT_TRUE(rule) << rule_name;
    size_t applied = 0;
    for (const auto& choice : rule->choices(subject)) {
      auto made = rule->apply(subject, choice);
      if (!made.ok()) {
        EXPECT_NE(made.findings().front().code, "RW0099") << base::render(made.findings(), "");
        continue;
      }
      ++applied;
      const auto& new_plan = made->plan.empty() ? plan_text : made->plan;
      check(made->ptx, new_plan, made->name);
      if (::testing::Test::HasFailure()) return applied;
      if (!then.empty()) apply_to(made->ptx, new_plan, then, "");
    }
    return applied;
  }

  void check(const std::string& ptx, const std::string& plan, const std::string& name) {
    std::string why;
    auto actual = execute(ptx, plan, setting_, why);
    ASSERT_EQ(why, "") << name << "\n" << ptx;
    for (size_t i = 0; i < expected_.size(); ++i) {
      bool same = tolerance_ > 0 && setting_.buffers[i].output
                      ? difference(expected_[i], actual[i], kind_) <= tolerance_
                      : expected_[i] == actual[i];
      ASSERT_TRUE(same) << name << ", buffer " << setting_.buffers[i].name << " of " << setting_.plan << "\n" << ptx;
    }
  }

  std::string ptx_;
  Setting setting_;
  double tolerance_;
  Fill kind_;
  task::Task task_;
  std::vector<std::vector<uint8_t>> expected_;
};

// Every choice of the rule that applies; at least one has to.
inline void compare(const std::string& ptx, const Setting& setting, std::string_view rule, double tolerance,
                    Fill kind) {
  Trial trial(ptx, setting, tolerance, kind);
  EXPECT_GT(trial.apply(rule), 0u) << rule << " does nothing to " << setting.plan;
}

inline launch::Binding::Scalar integer(const std::string& type, int64_t value) {
  return {type, static_cast<uint64_t>(value), value};
}
inline launch::Binding::Scalar real(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return {"f32", bits, 0};
}

inline std::string plan_of(const std::string& entry, const std::string& grid, int block, const std::string& arguments) {
  return "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"" + entry + "\"\ngrid = [" + grid + "]\nblock = [\"" +
         std::to_string(block) + "\"]\nargs = [" + arguments + "]\n";
}

}  // namespace ptxlab::rules
