// The scalar twin: a slow, obvious interpreter of PTX, one thread at a time, that tests and benchmarks hold the engine
// against. Of the engine it shares the module, the words for types and the memory of buffers; it decodes instructions
// by their words each time it meets them, keeps registers as plain 64-bit numbers, and rounds with its own arithmetic.
// What it does not know ends the run with a problem.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "launch/resolved.h"
#include "ptx/module.h"
#include "simt/memory.h"

namespace ptxlab::twin {

struct Options {
  uint64_t budget = 500'000'000;  // thread instructions of a launch
  uint32_t slice = 64;            // instructions of a thread before the next has its turn
};

struct Outcome {
  std::string problem;  // empty: every thread ended
  uint32_t line = 0;    // of the instruction at which it stopped
  uint64_t thread_instructions = 0;
  bool ok() const { return problem.empty(); }
};

class Machine {
 public:
  // The module must outlive the machine. Module variables keep their values between launches.
  explicit Machine(const ptx::Module& module);
  ~Machine();
  // As simt::Program::run: `buffers` maps the plan's buffer numbers to allocations of `memory`.
  Outcome run(const launch::ResolvedLaunch& launch, std::span<const size_t> buffers, simt::Memory& memory,
              const Options& options = {});

 private:
  const ptx::Module& module_;
  simt::Memory variables_;
  std::vector<size_t> variable_allocation_;  // by index into Module::variables; npos where it lives elsewhere
};

}  // namespace ptxlab::twin
