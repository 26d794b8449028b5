// For tests: a kernel as a string, arguments as buffers and scalars, one launch.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::simt::test {

// Builds the parameters of an entry: pointers to buffers and plain values, at their alignment.
class Kernel {
 public:
  explicit Kernel(const std::string& body,
                  const std::string& header = ".version 8.3\n.target sm_90\n.address_size 64\n")
      : checked_(ptx::check(header + body, "test.ptx")) {
    EXPECT_TRUE(checked_.ok()) << base::render(checked_.findings, checked_.module.source);
    auto loaded = make_simt_engine()->load(checked_.module);
    if (!loaded.ok()) ADD_FAILURE() << base::render(loaded.findings(), checked_.module.source);
    if (loaded.ok()) program_ = std::move(loaded).value();
    options.switch_every = 3;
  }

  template <class T>
  Kernel& in(const std::vector<T>& values, bool writable = false) {
    size_t bytes = values.size() * sizeof(T);
    size_t index =
        memory.allocate("arg" + std::to_string(arguments_), bytes, launch::ResolvedBuffer::Init::data, writable);
    std::memcpy(memory.allocation(index).data.data(), values.data(), bytes);
    return pointer(index);
  }
  Kernel& out(uint64_t bytes, launch::ResolvedBuffer::Init init = launch::ResolvedBuffer::Init::poison) {
    return pointer(memory.allocate("arg" + std::to_string(arguments_), bytes, init));
  }
  template <class T>
  Kernel& value(T v) {
    while (launch.parameters.size() % sizeof(T)) launch.parameters.push_back(0);
    size_t at = launch.parameters.size();
    launch.parameters.resize(at + sizeof(T));
    std::memcpy(launch.parameters.data() + at, &v, sizeof(T));
    ++arguments_;
    return *this;
  }
  Kernel& shape(launch::Dim3 grid, launch::Dim3 block, uint32_t shared = 0) {
    launch.grid = grid;
    launch.block = block;
    launch.shared_bytes = shared;
    return *this;
  }
  Kernel& entry(const std::string& name) {
    launch.entry = name;
    return *this;
  }

  RunReport run(std::vector<Observer*> observers = {}) {
    std::vector<size_t> buffers(memory.count());
    for (size_t i = 0; i < buffers.size(); ++i) buffers[i] = i;
    return program_->run(launch, buffers, memory, options, observers);
  }
  // Runs, expects no finding at all, and returns the last buffer.
  template <class T>
  std::vector<T> result(std::optional<size_t> buffer = {}) {
    RunReport report = run();
    EXPECT_TRUE(report.findings.empty()) << base::render(report.findings, checked_.module.source);
    EXPECT_TRUE(report.completed);
    return read<T>(buffer.value_or(memory.count() - 1));
  }
  template <class T>
  std::vector<T> read(size_t buffer) const {
    const Allocation& a = memory.allocation(buffer);
    std::vector<T> out(a.bytes / sizeof(T));
    std::memcpy(out.data(), a.data.data(), out.size() * sizeof(T));
    return out;
  }
  // The one finding that a run makes.
  base::Finding finding() {
    RunReport report = run();
    EXPECT_EQ(report.findings.size(), 1u) << base::render(report.findings, checked_.module.source);
    return report.findings.empty() ? base::Finding{} : report.findings[0];
  }
  const ptx::Module& module() const { return checked_.module; }

  Memory memory{1};
  launch::ResolvedLaunch launch;
  RunOptions options;

 private:
  Kernel& pointer(size_t index) {
    value(uint64_t{0});
    launch.pointers.push_back({static_cast<uint32_t>(launch.parameters.size() - 8), static_cast<uint32_t>(index), 0});
    return *this;
  }
  ptx::Checked checked_;
  std::unique_ptr<Program> program_;
  uint32_t arguments_ = 0;
};

}  // namespace ptxlab::simt::test
