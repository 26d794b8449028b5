// What a candidate may not do even where it is legal PTX: reach around the measurement (clocks, device-side launches,
// state kept between launches, baked-in answers) or do less exactly what the task asks for (approximate instructions).
// Each rule names what in the task's `allow` lifts it. The brief's constraints are judged here too.
//
//   POL0001 device-side launch          POL0005 a module variable that is written     POL0010 registers
//   POL0002 clock or timer              POL0006 too much initialised data             POL0011 shared memory
//   POL0003 griddepcontrol              POL0007 the device heap                       POL0012 threads a block
//   POL0004 approximate instruction     POL0008 .target above the judged one          POL0013 width of an access
//                                                                                     POL0014 does not fit on an SM
//                                                                                     POL0015 too much scratch
#pragma once
#include <cstdint>
#include <vector>

#include "base/finding.h"
#include "isa/target.h"
#include "launch/resolved.h"
#include "ptx/module.h"
#include "record/record.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {

// Bytes of variables with initial values.
uint64_t initialised_bytes(const ptx::Module& module);
// Bytes of the different numbers that stand in its instructions; those of up to 16 bits count nothing.
uint64_t constant_bytes(const ptx::Module& module);
inline constexpr uint64_t kMaxInitialisedBytes = uint64_t{64} << 10;

// Names of module variables that some store may reach: stored to or updated by name, or whose address flows into a
// store's address, into memory, or into a call other than the runtime's printf and assert. Errs on the side of "may".
std::vector<std::string> written_variables(const ptx::Module& module);

// Rules that the module alone decides. `baseline_bytes`: what the baseline itself has of initialised data.
base::Findings check_policy(const ptx::Module& module, const task::Task& task, const isa::Target& target,
                            uint64_t baseline_bytes);

// The brief's constraints that module and launches decide: POL0011 (dynamic shared memory), POL0012, POL0013.
base::Findings check_constraints(const ptx::Module& module, const std::vector<launch::ResolvedPlan>& plans,
                                 const record::Constraints& constraints);

// Scratch of one case: at most `least` bytes, or sixteen times the task's own buffers where that is more.
base::Findings check_scratch(const launch::ResolvedPlan& plan, uint64_t least);
inline constexpr uint64_t kScratchOfCase = uint64_t{256} << 20, kScratchOfTimedSize = uint64_t{2} << 30;

// Those that only ptxas's report decides: POL0010, POL0011 (static and dynamic together), POL0014.
base::Findings check_resources(const std::vector<toolchain::Resources>& resources,
                               const std::vector<launch::ResolvedPlan>& plans, const isa::Target& target,
                               const record::Constraints& constraints);

}  // namespace ptxlab::judge
