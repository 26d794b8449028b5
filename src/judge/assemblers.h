// Which ptxas assembles what. One is preferred; a module in a newer PTX than it takes goes to another of the machine; and a
// second one may be held as a witness: what it says is told, and decides nothing.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "isa/target.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {

struct Assemblers {
  std::optional<toolchain::Tool> preferred;  // none: the gate is skipped
  std::function<const std::vector<toolchain::Tool>&()>
      every;  // asked only where the preferred one is too old; may be empty
  std::optional<toolchain::Tool> witness;

  // For a module of this PTX version: the preferred one, or where it is too old the first that takes it. Null: there is no
  // ptxas at all, or none that takes it (then why_none() says so).
  const toolchain::Tool* taking(isa::PtxVersion version) const;
  std::string why_none(isa::PtxVersion version) const;
};

// What a module is assembled for on a GPU of this compute capability (90: sm_90): its own target, suffix included, where it was
// written for just this one, else the GPU's. The suffix matters: code for sm_90a runs on sm_90 hardware only.
// What was judged so far is what runs: a judged target of this GPU's goes before (and its machine code is in the cache).
isa::Target target_on_gpu(const isa::Target& of_module, uint32_t sm, const std::optional<isa::Target>& judged = {});

// What this machine has; no witness.
Assemblers installed_assemblers();

}  // namespace ptxlab::judge
