// The Engine interface: executes a verified module's launches on the CPU.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "base/result.h"
#include "launch/resolved.h"
#include "ptx/module.h"
#include "simt/memory.h"
#include "simt/observer.h"

namespace ptxlab::simt {

// What the engine itself watches. Anything finer is an Observer.
enum class CheckLevel : uint8_t {
  none,     // out-of-bounds still faults (the host must survive), nothing else is looked at
  bounds,   // address, alignment, space
  defined,  // and definedness of registers and memory
};

struct RunOptions {
  CheckLevel check = CheckLevel::defined;
  uint64_t seed = 1;                // warp order, CTA order, poison, addresses
  uint64_t budget = 2'000'000'000;  // thread instructions of one launch, 32 a warp's; beyond: RUN0007
  uint64_t memory_budget = uint64_t{4} << 30;
  std::vector<uint32_t> ctas;  // linear CTA ids to run; empty: all
  size_t max_findings = 50;
  uint64_t switch_every = 64;  // mean warp instructions between random warp switches; 0: only at waits
  // Lanes of a warp run apart now and then, as independent thread scheduling lets them: what relies on their running in
  // step shows. Targets before sm_70 know no such thing.
  bool run_apart = false;
  // Every inexact float operation goes up or down at random, by `seed` (random_rounding.h).
  bool random_rounding = false;
  bool count_sectors = false;  // fill the profile's requests, sectors and wavefronts: costs a few percent
};

struct RunReport {
  base::Findings findings;    // of the engine: faults, alignment, undefined values, deadlock, budget
  analysis::Profile profile;  // warp and thread instructions by statement
  uint64_t warp_instructions = 0;
  uint64_t thread_instructions = 0;
  bool completed = false;  // every thread of every CTA ended without a fault
  bool inexact = false;    // with random_rounding: something was rounded
  bool supported = true;   // false: an instruction the engine has no handler for, named in the findings
};

class Program {
 public:
  virtual ~Program() = default;
  // Writes a variable of the module from its first byte on, as `symbol` of a plan does before the launches. Error:
  // RUN0029, the module has no such variable in global or constant memory, or it is smaller.
  virtual base::Findings set_variable(std::string_view name, std::span<const uint8_t> bytes) = 0;
  // Runs one launch over `memory`. The launch's pointers are resolved against `buffers`: ResolvedPlan buffer index to
  // Memory allocation index. Module variables live in the program and keep their values between launches.
  virtual RunReport run(const launch::ResolvedLaunch& launch, std::span<const size_t> buffers, Memory& memory,
                        const RunOptions& options, std::span<Observer* const> observers) = 0;
};

// Fills the variables that the plan's symbols name, from the buffers as they lie in memory.
base::Findings set_symbols(Program& program, const launch::ResolvedPlan& plan, std::span<const size_t> buffers,
                           const Memory& memory);

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  // The module must have passed ptx::check and must outlive the program. `entries` are those that will be launched; none
  // named: all of them. Errors: RUN0001, a form without a handler in one of them or in what it calls.
  virtual base::Result<std::unique_ptr<Program>> load(const ptx::Module& module,
                                                      std::span<const std::string> entries = {}) = 0;
};

std::unique_ptr<Engine> make_simt_engine();

// Rows (by id) that have a handler: for `doctor --isa`.
std::vector<bool> executed_rows();

}  // namespace ptxlab::simt
