// Planted faults: what a task's cases must catch, or the task judges nothing. On outputs: faults in what a kernel
// wrote. In PTX: faults in the baseline, run on the engine. `tasks lint` runs them all.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isa/type.h"
#include "ptx/module.h"

namespace ptxlab::task {

struct OutputMutant {
  std::string name;
  std::string description;
  // Plants the fault in a right output. False: such an output cannot have it (one row cannot be permuted).
  std::function<bool(std::span<uint8_t> bytes, isa::Type type, const std::vector<int64_t>& shape)> apply;
};
const std::vector<OutputMutant>& output_mutants();

// The module's text with one fault planted.
struct Planted {
  std::string text;
  std::string what;   // "line 93: `bar.sync 0;` removed"
  uint32_t line = 0;  // in the PTX
};

struct PtxMutant {
  std::string name;
  std::string description;
  // One text for each place where the module can have the fault; empty: nowhere. A place may be harmless (a barrier
  // that protects nothing, a bound that no size reaches), so a task has to catch one of them at least.
  std::function<std::vector<Planted>(const ptx::Module& module)> apply;
};
const std::vector<PtxMutant>& ptx_mutants();

}  // namespace ptxlab::task
