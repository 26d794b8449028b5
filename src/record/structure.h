// The structure report: what `ptxlab structure`, tool servers and briefs tell of the kernels in a module, with what ptxas makes of
// them beside it, and what is known of their launch.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/structure_text.h"
#include "base/result.h"
#include "launch/plan.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::record {

struct StructureRequest {
  std::string ptx, file;              // the text, and its name in findings
  std::optional<isa::Target> target;  // absent: the module's own
  std::string entry;                  // mangled or not; empty: every function that has a body
  std::string plan, plan_file;        // the launch plan; empty: none, and the shape of a CTA is not known
  const task::Task* task = nullptr;   // with a plan: values at the task's first timed size
  const toolchain::Tool* ptxas = nullptr;
};

struct DescribedFunction {
  analysis::Structure structure;
  std::optional<analysis::Assembly> assembly;
};

struct StructureReport {
  std::string file, target, version;  // "sm_80", "9.0"
  std::string size;                   // "m=16384 n=4096": the sizes that numbers hold for; empty: none
  std::vector<DescribedFunction> functions;
  base::Findings findings;  // of check; why there is nothing of ptxas; what is wrong with the plan
};

// Errors: check's, PLAN's of a plan that cannot be read, REC0004 no such entry, REC0005 nothing to describe.
base::Result<StructureReport> describe_structure(const StructureRequest& request);

std::string text(const StructureReport& report);
nlohmann::json to_json(const StructureReport& report);  // ptxlab.structure/1

// What a plan says of the launches of an entry. With a task the sizes of its first timed case go in.
analysis::Known known_of(const launch::Plan& plan, const ptx::Module& module, const ptx::Function& entry,
                         const task::Task* task);

// Threads of a CTA where the plan says them without sizes; {0, 0, 0} where it does not.
std::array<uint32_t, 3> block_of(const launch::Plan& plan, const launch::Launch& launch);
// The timed size that counts most; null where there is none.
const task::Task::Timed* main_size(const task::Task& task);

// "8 CTAs of 256 threads fit an SM, 100 % of its warps, limited by threads"; "" where the block is not known.
std::string occupancy_text(const isa::Target& target, const std::array<uint32_t, 3>& block, int registers, int shared);

}  // namespace ptxlab::record
