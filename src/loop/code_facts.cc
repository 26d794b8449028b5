// What a baseline's code is like, as words: the grouping of figures by what makes PTX hard to write.
#include <algorithm>

#include "analysis/structure.h"
#include "loop/lock.h"

namespace ptxlab::loop {
namespace {

// From here on a kernel has control flow worth the name: a guard or two is in every kernel.
constexpr size_t kBranches = 4;
// 32-bit registers that are live at the head of a loop: they have to be kept over all of it.
constexpr uint32_t kHeld = 16;

bool is_fragment(const ptx::Instruction& instruction) {
  if (instruction.words.empty()) return false;
  const auto& opcode = instruction.words[0];
  return opcode == "mma" || opcode == "wmma" || opcode == "ldmatrix" || opcode == "stmatrix" || opcode == "wgmma" ||
         opcode == "tcgen05";
}

}  // namespace

std::vector<std::string> code_facts(const judge::Baseline& baseline) {
  bool loops = false, control = false, held = false, fragments = false, shared = false, barriers = false,
       atomics = false, irregular = false;
  for (const auto& function : baseline.module.functions) {
    if (!function.has_body) continue;
    const auto structure = analysis::structure_of(function);
    loops |= !structure.loops.empty();
    size_t branches = 0;
    for (const auto& block : structure.blocks) branches += block.successors.size() >= 2;
    control |= branches >= kBranches;
    for (const auto& loop : structure.loops) held |= structure.blocks[loop.header].live_at_start >= kHeld;
    for (const auto& access : structure.accesses) {
      shared |= access.space == isa::Space::shared;
      atomics |= access.atomic;
      irregular |= access.space == isa::Space::global && access.lanes.stride == analysis::StrideClass::irregular;
    }
    for (const auto& statement : function.body) {
      const auto* instruction = statement.instruction();
      if (!instruction || instruction->words.empty()) continue;
      fragments |= is_fragment(*instruction);
      const auto& opcode = instruction->words[0];
      barriers |= opcode == "bar" || opcode == "barrier" || opcode == "mbarrier";
    }
  }
  std::vector<std::string> facts;
  const auto put = [&](bool holds, const char* fact) {
    if (holds) facts.emplace_back(fact);
  };
  put(loops, "loops");
  put(control, "control flow");
  put(held, "long live ranges");
  put(fragments, "fragments");
  put(shared, "shared memory");
  put(barriers, "barriers");
  put(atomics, "atomics");
  put(irregular, "irregular accesses");
  put(baseline.plan.launches.size() > 1, "several launches");
  return facts;
}

}  // namespace ptxlab::loop
