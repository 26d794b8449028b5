// For tests: an engine that does not read the kernel but behaves as the entry's name says, on a task "y = x + 1" of
// 32-bit integers with the parameters x, y, n.
#pragma once
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "simt/engine.h"

namespace ptxlab::judge {

class FakeProgram : public simt::Program {
 public:
  explicit FakeProgram(const ptx::Module& module) : module_(module) {}

  base::Findings set_variable(std::string_view, std::span<const uint8_t>) override { return {}; }

  simt::RunReport run(const launch::ResolvedLaunch& launch, std::span<const size_t> buffers, simt::Memory& memory,
                      const simt::RunOptions& options, std::span<simt::Observer* const>) override {
    simt::RunReport report;
    report.completed = true;
    report.thread_instructions = 1000;
    auto& x = memory.allocation(buffers[0]);
    auto& y = memory.allocation(buffers[1]);
    std::string_view how = launch.entry;
    if (how == "throws") throw std::runtime_error("out of luck");
    size_t count = x.bytes / 4;
    for (size_t i = 0; i < count; ++i) {
      if (how == "unwritten_tail" && i + 1 == count) continue;
      int32_t value;
      std::memcpy(&value, x.data.data() + 4 * i, 4);
      if (how.substr(0, 2) == "f_") {
        store_float(x, y, i, how);
        continue;
      }
      value += how == "off_by_two" ? 2 : 1;
      if (how == "order" && options.seed % 2 == 1) value += 1;
      if (how == "big_only" && count > 100) value += 1;
      std::memcpy(y.data.data() + 4 * i, &value, 4);
      if (!y.defined.empty()) std::memset(y.defined.data() + 4 * i, 0xff, 4);
    }
    if (how == "touches_input") x.data[0] ^= 1;
    if (how == "faults") {
      report.completed = false;
      report.findings.push_back(finding("RUN0002", "a store of 4 bytes at 0x10, 3 bytes past the end of 'y'"));
    }
    if (how == "races") report.findings.push_back(finding("CHK0001", "a race"));
    if (how == "endless") {
      report.completed = false;
      report.findings.push_back(finding("RUN0007", "spent its budget"));
    }
    if (how == "lacks") {
      report.completed = report.supported = false;
      report.findings.push_back(finding("RUN0001", "no handler for wgmma"));
    }
    const ptx::Function* function = module_.function(launch.entry);
    analysis::FunctionProfile profile{launch.entry, {}};
    profile.statements.resize(function->body.size());
    for (size_t i = 0; i + 1 < profile.statements.size(); ++i) profile.statements[i].warps = 1;
    report.profile.functions.push_back(std::move(profile));
    return report;
  }

 private:
  // y = x + 1 in f32: "f_rough" with a relative error of 2^-16, "f_nan" with a NaN where x is infinite.
  static void store_float(const simt::Allocation& x, simt::Allocation& y, size_t i, std::string_view how) {
    float value;
    std::memcpy(&value, x.data.data() + 4 * i, 4);
    value += 1;
    if (how == "f_rough") value *= 1 + 0x1p-16f;
    if (how == "f_nan" && value - value != 0) value = __builtin_nanf("");
    std::memcpy(y.data.data() + 4 * i, &value, 4);
    if (!y.defined.empty()) std::memset(y.defined.data() + 4 * i, 0xff, 4);
  }
  static base::Finding finding(const char* code, const char* message) {
    base::Finding made;
    made.code = code;
    made.message = message;
    return made;
  }
  const ptx::Module& module_;
};

class FakeEngine : public simt::Engine {
 public:
  std::string_view name() const override { return "fake"; }
  base::Result<std::unique_ptr<simt::Program>> load(const ptx::Module& module, std::span<const std::string>) override {
    return std::unique_ptr<simt::Program>(std::make_unique<FakeProgram>(module));
  }
};

}  // namespace ptxlab::judge
