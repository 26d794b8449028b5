// A kernel with its launch and sizes, estimated.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "judge/estimate_timed.h"
#include "launch/plan.h"
#include "ptx/verifier.h"
#include "simt/engine.h"
#include "toolchain/toolchain.h"

namespace ptxlab::test {

inline std::string file(const std::string& path) {
  auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : std::string();
}

struct Buffer {
  std::string name;
  uint64_t bytes = 0;
  bool output = false;
};

struct Setting {
  std::map<std::string, int64_t> parameters;
  std::map<std::string, launch::Binding::Scalar> scalars;
  std::vector<Buffer> buffers;
};

inline launch::Binding::Scalar integer(std::string type, int64_t value) {
  launch::Binding::Scalar scalar;
  scalar.type = std::move(type);
  scalar.integer = value;
  scalar.bits = static_cast<uint64_t>(value);
  return scalar;
}

// `fill`: what the inputs hold; none: zeros.
inline record::Estimate estimate(const std::string& ptx, const std::string& plan_text, const Setting& setting,
                                 const isa::Target& target, const judge::FillChunk& fill = {}) {
  auto checked = ptx::check(ptx, "kernel.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, checked.module.source);
  auto plan = launch::read_plan(plan_text, "kernel.plan.toml");
  EXPECT_TRUE(plan.ok());
  if (!checked.ok() || !plan.ok()) return {};
  launch::Binding binding;
  binding.parameters = setting.parameters;
  binding.scalars = setting.scalars;
  for (const auto& buffer : setting.buffers) {
    launch::ResolvedBuffer made;
    made.name = buffer.name;
    made.bytes = buffer.bytes;
    made.role = buffer.output ? launch::ResolvedBuffer::Role::out : launch::ResolvedBuffer::Role::in;
    binding.buffers.push_back(made);
  }
  auto resolved = launch::resolve(*plan, checked.module, binding);
  EXPECT_TRUE(resolved.ok()) << (resolved.ok() ? "" : resolved.findings().front().message);
  if (!resolved.ok()) return {};
  toolchain::AssembleOptions how;
  how.target = target;
  auto assembled = toolchain::assemble(ptx, "kernel.ptx", how);
  EXPECT_TRUE(assembled.ok()) << (assembled.ok() ? "" : assembled.findings().front().message);
  if (!assembled.ok()) return {};
  auto made = judge::estimate_plan(
      {checked.module, *resolved, assembled->entries, target, 1, [] { return simt::make_simt_engine(); }, fill});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.findings().front().message);
  return made.ok() ? *made : record::Estimate{};
}

// What a failing test shows.
inline std::string describe(const record::Estimate& e) {
  std::string out = std::to_string(e.nanoseconds / 1e3) + " us, bound by " + e.bound_by + ", occupancy " +
                    std::to_string(e.occupancy) + "\n  limits:";
  for (const auto& part : e.limits) out += " " + part.name + " " + std::to_string(part.value / 1e3) + " us;";
  out += "\n  waits:";
  for (const auto& part : e.waits) out += " " + part.name + " " + std::to_string(100 * part.value) + " %;";
  return out + "\n";
}

}  // namespace ptxlab::test
